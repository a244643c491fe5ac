"""Tracking the attempts of a call by botocore's events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError

from .attempts import Attempts
from .trust import is_refusal

_NEVER_SENT = (ConnectTimeoutError, EndpointConnectionError)

_current: ContextVar[Attempts | None] = ContextVar("attempts", default=None)


@contextmanager
def following(attempts: Attempts) -> Iterator[None]:
    """Track the calls of this thread in `attempts`."""
    token = _current.set(attempts)
    try:
        yield
    finally:
        _current.reset(token)


def _before_send(**_: Any) -> None:
    attempts = _current.get()
    if attempts is not None:
        attempts.begin()


def _received(
    response_dict: Mapping[str, Any] | None,
    parsed_response: Mapping[str, Any] | None,
    exception: Exception | None,
    **_: Any,
) -> None:
    attempts = _current.get()
    if attempts is None or not attempts.writes:
        return
    if response_dict is None or parsed_response is None:
        if isinstance(exception, _NEVER_SENT):
            attempts.undone()
    elif is_refusal(response_dict, parsed_response):
        attempts.undone()


def _needs_retry(**_: Any) -> bool | None:
    """False keeps botocore from sending again; None leaves it to decide."""
    attempts = _current.get()
    return False if attempts is not None and attempts.maybe_written and not attempts.repeatable else None


HOOKS: dict[str, Callable[..., Any]] = {
    "before-send": _before_send,
    "response-received": _received,
    "needs-retry": _needs_retry,
}
"""The handlers of botocore's events."""
