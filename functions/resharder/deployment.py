"""The custom resource of a stack: when the stack is created, the lookups of its new table are decided.

The event is CloudFormation's, which waits for an answer at the event's `ResponseURL`, whatever happened. Only the
creation of the stack itself decides: the API waits for it, so nobody can write a record meanwhile, and a new table is
empty, so nothing may be left undecided. When the resource is added to a stack that exists, its API may be writing
without a lookup that is new: then nothing is decided, and `shardweave backfill` fills the lookup. The rights of a new
role take a while to count everywhere, so a failure is tried again before it is the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.request import Request, urlopen

from shardweave.errors import ShardweaveError
from shardweave.table.retry import RetryClock, RetryPolicy

CREATING = "CREATE_IN_PROGRESS"
"""The status of a stack that did not exist before."""
RIGHTS_TO_COME = RetryPolicy(attempts=1000, base=0.5, longest=5.0, seconds=45.0)
ANSWER_SECONDS = 20


def is_of_cloudformation(event: Mapping[str, Any]) -> bool:
    """Whether an event is that of a custom resource."""
    return "ResponseURL" in event and "RequestType" in event


def decide(
    event: Mapping[str, Any],
    stack_status: Callable[[str], str],
    decide_lookups: Callable[[], tuple[str, ...]],
    waiting: RetryClock,
) -> str:
    """Decide the lookups when the stack is being created. Why they could not be decided, "" when all is well."""
    if event["RequestType"] != "Create":
        return ""
    pauses = waiting.pauses(RIGHTS_TO_COME)
    while True:
        failure = _attempt(event["StackId"], stack_status, decide_lookups)
        if not failure or not pauses.pause():
            return failure


def _attempt(stack: str, stack_status: Callable[[str], str], decide_lookups: Callable[[], tuple[str, ...]]) -> str:
    try:
        unfilled = decide_lookups() if stack_status(stack) == CREATING else ()
    except ShardweaveError as error:
        return f"the lookups of the new table could not be decided: {error.code}"
    except Exception as error:  # noqa: BLE001 - CloudFormation waits for an answer, whatever went wrong
        return f"the lookups of the new table could not be decided: {type(error).__name__}"
    return f"the table is not new: {', '.join(unfilled)} must be filled" if unfilled else ""


def answer(event: Mapping[str, Any], failure: str) -> None:
    """Tell CloudFormation that it is done, or why not."""
    body = {
        "Status": "FAILED" if failure else "SUCCESS",
        "PhysicalResourceId": event.get("PhysicalResourceId", "lookups"),
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        **({"Reason": failure} if failure else {}),
    }
    request = Request(event["ResponseURL"], json.dumps(body).encode(), {"content-type": ""}, method="PUT")  # noqa: S310
    with urlopen(request, timeout=ANSWER_SECONDS):  # noqa: S310 - the address is CloudFormation's
        pass
