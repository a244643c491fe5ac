"""Schedules: call a function at fixed times, with an event.

A call that can't be delivered to the function is repeated twice within an hour, and then sent to the queue of failures.
If the function itself fails, its alias' settings apply.
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
    """A schedule that calls a function."""
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
