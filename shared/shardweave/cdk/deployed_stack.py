"""What CloudFormation says of a stack that was deployed: its outputs, its table, what its stage was deployed with.

Costs: one request each for `described` and `stage_record`; the others read what was described. Who asks needs the right
to `cloudformation:DescribeStacks` and `cloudformation:GetTemplate`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from ..database.project import command_name
from ..errors import ConfigurationError
from .stage_state import StageRecord, decode_stage_record

FAILED_CREATIONS = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")


def described(cloudformation: Any, stack: str) -> Mapping[str, Any] | None:
    """What CloudFormation says of a stack, None when there is none that was deployed."""
    try:
        (found,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise
    return None if found["StackStatus"] in ("REVIEW_IN_PROGRESS", "DELETE_COMPLETE") else dict(found)


def outputs_of(found: Mapping[str, Any] | None) -> dict[str, str]:
    """The outputs of a stack that was described, none when there is no such stack."""
    return {output["OutputKey"]: output["OutputValue"] for output in (found or {}).get("Outputs", ())}


def table_of(found: Mapping[str, Any] | None, stack: str) -> str | None:
    """The name of a described stack's table, or None when there is no such stack. Raises ConfigurationError when the
    stack is not in a state that can be updated. What is left of a creation that failed holds nothing, and the CDK
    removes it before it makes the stack anew."""
    if found is None:
        return None
    outputs = outputs_of(found)
    if "TableName" in outputs:
        return str(outputs["TableName"])
    if found["StackStatus"] not in FAILED_CREATIONS:
        raise ConfigurationError(
            f"the stack is {found['StackStatus']} and has no table.",
            where=stack,
            fix=f"wait until that has ended; or `{command_name('destroy')} {stack}` removes it, and deploy again",
        )
    if is_locked(found):
        raise ConfigurationError(
            "the stack's creation failed, and it is protected from being removed.",
            where=stack,
            fix=f"run `{unlock(stack)}`, and deploy again",
        )
    return None


def is_locked(found: Mapping[str, Any]) -> bool:
    """Whether a described stack can't be deleted before its protection is taken off."""
    return bool(found.get("EnableTerminationProtection"))


def unlock(stack: str) -> str:
    """The command that takes a stack's protection off."""
    return f"aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name {stack}"


def stage_record(cloudformation: Any, stack: str) -> StageRecord | None:
    """What a deployed stack's template says of its stage, None when it is from before it said so. Raises
    ConfigurationError."""
    body = cloudformation.get_template(StackName=stack, TemplateStage="Original")["TemplateBody"]
    return decode_stage_record(json.loads(body) if isinstance(body, str) else body)
