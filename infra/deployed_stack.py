"""What CloudFormation says of a stack that was deployed: its outputs, its table, what its stage was deployed with.

Costs: one request each. Who asks needs the right to `cloudformation:DescribeStacks` and `cloudformation:GetTemplate`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from infra.stage_record import StageRecord, decode_stage_record
from shardweave.errors import ConfigurationError


def described(cloudformation: Any, stack: str) -> Mapping[str, Any] | None:
    """What CloudFormation says of a stack, None when there is none that was deployed."""
    try:
        (found,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise
    return None if found["StackStatus"] in ("REVIEW_IN_PROGRESS", "DELETE_COMPLETE") else dict(found)


def stack_outputs(cloudformation: Any, stack: str) -> dict[str, str]:
    """The outputs of a deployed stack, none when there is no such stack."""
    found = described(cloudformation, stack) or {}
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}


def deployed_table(cloudformation: Any, stack: str) -> str | None:
    """The name of a deployed stack's table, or None when there is no such stack. Raises ConfigurationError when the
    stack is not in a state that can be updated."""
    found = described(cloudformation, stack)
    if found is None:
        return None
    outputs = stack_outputs(cloudformation, stack)
    if "TableName" not in outputs:
        raise ConfigurationError(
            f"the stack is {found['StackStatus']} and has no table.",
            where=stack,
            fix=f"remove it with `./run cdk destroy {stack}` and deploy again",
        )
    return str(outputs["TableName"])


def stage_record(cloudformation: Any, stack: str) -> StageRecord | None:
    """What a deployed stack's template says of its stage, None when it is from before it said so. Raises
    ConfigurationError."""
    body = cloudformation.get_template(StackName=stack, TemplateStage="Original")["TemplateBody"]
    return decode_stage_record(json.loads(body) if isinstance(body, str) else body)
