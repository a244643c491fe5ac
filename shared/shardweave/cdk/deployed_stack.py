"""CloudFormation's description of a deployed stack: its outputs, its table, and the facts of its stage's deployment.

Costs: one request each for `described` and `stage_record`; the others read the description. The caller needs the rights
`cloudformation:DescribeStacks` and `cloudformation:GetTemplate`.
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
    """CloudFormation's description of a stack; None if it was never deployed."""
    try:
        (found,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise
    return None if found["StackStatus"] in ("REVIEW_IN_PROGRESS", "DELETE_COMPLETE") else dict(found)


def outputs_of(found: Mapping[str, Any] | None) -> dict[str, str]:
    """The outputs in the description of a stack; empty without one."""
    return {output["OutputKey"]: output["OutputValue"] for output in (found or {}).get("Outputs", ())}


def table_of(found: Mapping[str, Any] | None, stack: str) -> str | None:
    """The name of the table in the description of a stack; None without a stack. Raises ConfigurationError if the
    stack's state allows no update. The rest of a failed creation has no data, and the CDK removes it before it creates
    the stack again."""
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
    """Whether the described stack must be unprotected before it can be deleted."""
    return bool(found.get("EnableTerminationProtection"))


def unlock(stack: str) -> str:
    """The command that removes a stack's protection."""
    return f"aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name {stack}"


def stage_record(cloudformation: Any, stack: str) -> StageRecord | None:
    """The facts of a deployment in the stack's template; None for a template of an earlier version, without them.
    Raises ConfigurationError."""
    body = cloudformation.get_template(StackName=stack, TemplateStage="Original")["TemplateBody"]
    return decode_stage_record(json.loads(body) if isinstance(body, str) else body)
