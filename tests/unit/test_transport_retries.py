"""What the direct transport sends again, against the standard mode of the installed botocore."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ConnectionError as BotocoreConnectionError
from botocore.retries import standard
from botocore.retries.quota import RetryQuota as BotocoreQuota
from botocore.session import Session

from shardweave.errors import TableUnavailable, Throttled
from shardweave.table.dynamodb.transport import retries
from shardweave.table.dynamodb.transport.calls import OPERATIONS
from shardweave.table.dynamodb.transport.quota import RetryQuota
from shardweave.table.dynamodb.transport.retries import Failed, Kind, StandardRetries, kind_of, pause_of

MODEL = Session().get_service_model("dynamodb")
ERROR = TableUnavailable("no")
OTHER_CODES = ("", "500", "ValidationException", "AccessDeniedException", "ExpiredTokenException", "SomethingNew")
CODES = sorted(
    {code for codes in retries.KNOWN_CODES.values() for code in codes}
    | retries.THROTTLED_CODES
    | retries.TRANSIENT_CODES
    | set(OTHER_CODES)
    | {shape for shape in MODEL.shape_names if shape.endswith(("Exception", "Exceeded", "Error"))}
)
STATUSES = (400, 403, 404, 413, 429, 500, 501, 502, 503, 504, 505, 302)

ADAPTER = standard.RetryEventAdapter()
CONDITIONS = standard.StandardRetryConditions(max_attempts=99)
DETECTOR = standard.ThrottlingErrorDetector(ADAPTER)


def context(method: str, code: str, status: int, number: int = 1, **headers: str) -> standard.RetryContext:
    return standard.RetryContext(
        number,
        MODEL.operation_model(OPERATIONS[method]),
        {"Error": {"Code": code}},
        SimpleNamespace(status_code=status, headers=headers, content=b""),
    )


@pytest.mark.parametrize("method", OPERATIONS)
def test_what_is_repeated_and_what_counts_as_throttling(method: str) -> None:
    """A31."""
    for code, status in itertools.product(CODES, STATUSES):
        given, kind = context(method, code, status), kind_of(method, code, status)
        assert (kind is not None) is CONDITIONS.is_retryable(given), (code, status)
        if kind is not None:
            throttled = DETECTOR.is_throttling_error_from_context(given)
            assert (kind is Kind.THROTTLED) is throttled, (code, status)


@pytest.mark.parametrize("method", OPERATIONS)
def test_the_errors_of_each_method_are_those_of_the_services_description(method: str) -> None:
    """A31."""
    shapes = MODEL.operation_model(OPERATIONS[method]).error_shapes
    assert {shape.name for shape in shapes} == retries.KNOWN_CODES[method]
    repeated = {shape.name for shape in shapes if shape.metadata.get("retryable") is not None}
    assert repeated <= retries.REPEATED_BY_DESCRIPTION


def test_the_errors_of_a_secret_are_those_of_its_services_description() -> None:
    """A31, A43."""
    shapes = Session().get_service_model("secretsmanager").operation_model("GetSecretValue").error_shapes
    assert {shape.name for shape in shapes} == retries.KNOWN_CODES["get_secret_value"]
    assert all(shape.metadata.get("retryable") is None for shape in shapes)


def test_a_lost_connection_is_repeated() -> None:
    lost = standard.RetryContext(
        1, MODEL.operation_model("GetItem"), caught_exception=BotocoreConnectionError(error="")
    )
    assert CONDITIONS.is_retryable(lost)


@pytest.mark.parametrize("asked_for", [None, "0", "1500", "60000"])
@pytest.mark.parametrize("drawn", [0.0, 0.37, 1.0])
@pytest.mark.parametrize(("code", "kind"), [("ThrottlingException", Kind.THROTTLED), ("", Kind.TRANSIENT)])
def test_the_pauses(code: str, kind: Kind, drawn: float, asked_for: str | None) -> None:
    """A31."""
    backoff = standard.ExponentialBackoff(random=lambda: drawn, service_name="dynamodb", throttling_detector=DETECTOR)
    for number in range(1, 40):
        headers = {} if asked_for is None else {"x-amz-retry-after": asked_for}
        expected = backoff.delay_amount(context("get_item", code, 500, number, **headers))
        seconds = None if asked_for is None else int(asked_for) / 1000
        assert pause_of(Failed(ERROR, kind, number, seconds), drawn) == pytest.approx(expected, rel=1e-12)


def test_the_quota() -> None:
    """A31, A32: random histories of calls cost the same as with botocore."""
    draw = random.Random(18)
    ours, theirs = RetryQuota(), BotocoreQuota()
    checker = standard.RetryQuotaChecker(theirs, DETECTOR)
    seen: set[bool] = set()
    for _ in range(3000):
        policy = StandardRetries(ours, 3, lambda: 0.0)
        request: dict[str, Any] = {}
        for number in itertools.count(1):
            if draw.random() < 0.3:
                policy.succeeded()
                checker.release_retry_quota(request, SimpleNamespace(status_code=200))
                break
            throttled = draw.random() < 0.3
            given = context("get_item", "ThrottlingException" if throttled else "", 500, number)
            given.request_context = request
            kind = Kind.THROTTLED if throttled else Kind.TRANSIENT
            repeated = policy.repeat(Failed(ERROR, kind, number)) is not None
            assert repeated is (number < 3 and checker.acquire_retry_quota(given))
            assert ours.available == theirs.available_capacity
            seen.add(repeated)
            if not repeated:
                break
    assert seen == {True, False}


def test_a_failure_without_a_kind_is_not_repeated() -> None:
    quota = RetryQuota()
    assert StandardRetries(quota, 3, lambda: 0.0).repeat(Failed(Throttled(), None, 1)) is None
    assert quota.available == retries.QUOTA
