"""Schedules: a function that is called at times, with an event.

A call that the function can't be given is tried again twice within an hour, and then ends in the queue of failures; a
function that fails does so by its alias' own settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration, aws_sqs
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

from .function import Function


def schedule(
    scope: Construct,
    construct_id: str,
    *,
    meaning: str,
    when: scheduler.ScheduleExpression,
    function: Function,
    event: Mapping[str, Any],
    failures: aws_sqs.IQueue,
) -> scheduler.Schedule:
    """Call a function at times."""
    return scheduler.Schedule(
        scope,
        construct_id,
        description=meaning,
        schedule=when,
        target=targets.LambdaInvoke(
            function.alias,
            input=scheduler.ScheduleTargetInput.from_object(dict(event)),
            dead_letter_queue=failures,
            retry_attempts=2,
            max_event_age=Duration.hours(1),
        ),
    )
