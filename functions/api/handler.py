"""The API as a Lambda function behind an HTTP API.

Environment: TABLE_NAME, SERVICE, KEY_FORMAT, THROTTLE (see `Settings.from_environment`), the cursor keys as CURSOR_KEYS
(their text) or CURSOR_KEYS_SECRET (the id of a secret that holds it), and, for a service whose entities have origins,
the external keys as EXTERNAL_KEYS or EXTERNAL_KEYS_SECRET. The service is put together at the first request, so that
importing this module reaches for nothing; the secret of cursors is read with the first cursor. Where a snapshot is
taken of the process (SnapStart), or it is started ahead (provisioned concurrency), all that only has to be imported
is imported before. The log has routes,
statuses and times, no values; the metrics count answers, and of lists those that are empty or were cut short, and say
what queries cost.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

import shardweave.api.router  # noqa: F401 - while the function starts, not with its first request
from shardweave.api.app import Observation
from shardweave.api.emf_metrics import QueryMetrics
from shardweave.api.problems import is_failure, problem
from shardweave.api.safe_traceback import trace
from shardweave.errors import ConfigurationError, ShardweaveError
from shardweave.keys.shard_key import ExternalKeys
from shardweave.query.cursor import CursorKeys
from shardweave.service.build import (
    Service,
    Settings,
    build,
    decode_cursor_keys,
    decode_external_keys,
    import_ahead,
)

logger = Logger(service=os.environ.get("SERVICE"))
metrics = Metrics(namespace="Shardweave", service=os.environ.get("SERVICE"))
metrics.set_default_dimensions(stage=os.environ.get("STAGE", "dev"))
if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") in ("snap-start", "provisioned-concurrency"):
    # What a request does not need otherwise, or later, costs a process nothing that was started before its requests.
    import_ahead(os.environ.get("SERVICE", Settings.service))
query_metrics = QueryMetrics(print, service=metrics.service or Settings.service, dimensions=metrics.default_dimensions)
gc.freeze()
gc.enable()


@logger.inject_lambda_context(log_event=False)
@metrics.log_metrics(capture_cold_start_metric=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    try:
        return service().api.resolve(event, context)
    except ShardweaveError as error:
        response = problem(error)
        failure = error if response.status == 500 else None
        log(Observation("", "", response.status, 0.0, error.code, failure, failing=is_failure(error)))
        return response.as_lambda_answer()
    finally:
        query_metrics.flush()


@cache
def service() -> Service:
    """The service of this environment."""
    gc.disable()
    try:
        return built()
    finally:
        # What the process has now it keeps, and the collector need not look at it again.
        gc.freeze()
        gc.enable()


def built() -> Service:
    """The service, put together."""
    settings = Settings.from_environment(os.environ, cursor_keys(os.environ), partial(external_keys, os.environ))
    return build(settings, observe=log, observe_query=query_metrics.observe)


def cursor_keys(variables: Mapping[str, str]) -> CursorKeys | Callable[[], CursorKeys]:
    """The cursor keys of this environment, or a function that reads them from a secret: the first cursor needs them, no
    request before. Both raise ConfigurationError."""
    text = _key_ring(variables, "CURSOR_KEYS")
    return decode_cursor_keys(text) if isinstance(text, str) else lambda: decode_cursor_keys(text())


def external_keys(variables: Mapping[str, str]) -> ExternalKeys:
    """The external keys of this environment. Raises ConfigurationError."""
    text = _key_ring(variables, "EXTERNAL_KEYS")
    return decode_external_keys(text if isinstance(text, str) else text())


def _key_ring(variables: Mapping[str, str], name: str) -> str | Callable[[], str]:
    """The text of a key ring, or what reads it from a secret. Raises ConfigurationError where neither is set."""
    text, secret = variables.get(name), variables.get(f"{name}_SECRET")
    if text:
        return text
    if not secret:
        what = name.lower().replace("_", " ")
        fix = "set it to the id of the secret that has them"
        raise ConfigurationError(f"there are no {what}", where=f"{name}_SECRET", fix=fix)
    return partial(_secret, secret)


def _secret(name: str) -> str:
    from shardweave.table.dynamodb import new_session, read_secret

    return read_secret(name, new_session)


def log(seen: Observation) -> None:
    """One line for each request, and what is counted of it."""
    counted = {"Answers": True, "ThrottledAnswers": seen.problem == "throttled", "Failures": seen.failing}
    if seen.page is not None:
        counted |= {"EmptyAnswers": not seen.page.items, "PartialAnswers": seen.page.fell_short}
    for name, applies in counted.items():
        metrics.add_metric(name, MetricUnit.Count, int(applies))
    extra = {
        "method": seen.method,
        "route": seen.route,
        "status": seen.status,
        "milliseconds": seen.milliseconds,
        "requestId": seen.request_id,
    }
    if seen.audit is not None:
        for written in (seen.audit, *seen.beside):
            logger.info("audit", extra=written)
    for each in seen.unreadable:
        logger.warning("record unreadable", extra={**each, "requestId": seen.request_id})
    query_metrics.count_unreadable(seen.uncounted)
    if seen.failure is not None:
        logger.error("request failed", extra={**extra, "problem": seen.problem, "trace": trace(seen.failure)})
    else:
        logger.info("request", extra={**extra, "problem": seen.problem} if seen.problem else extra)
