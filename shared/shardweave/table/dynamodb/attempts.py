"""The attempts of one call, as botocore's events tell of them, and what is known of what they did.

Guarantees: an attempt at a write counts as perhaps carried out from the moment at which its guard let it through until
DynamoDB refuses it in a reply that can be trusted, or until it is known that no connection came about. What was perhaps
carried out is sent again only if that can't carry it out twice (see `may_be_repeated`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError

from .. import Guard
from ..operations import WRITES, Operation, may_be_repeated
from .failures import is_refusal

_NEVER_SENT = (ConnectTimeoutError, EndpointConnectionError)


@dataclass
class Attempts:
    """The attempts of one call. `maybe_written`: one of them may have been carried out, and nothing else is known."""

    guard: Guard | None = None
    writes: bool = False
    repeatable: bool = True
    maybe_written: bool = False
    _before: bool = field(default=False, repr=False)

    @classmethod
    def at(cls, operation: Operation[Any], guard: Guard | None) -> Attempts:
        """Those that carry `operation` out."""
        return cls(guard, isinstance(operation, WRITES), may_be_repeated(operation))

    def begin(self) -> None:
        """One is about to be sent. Raises what the guard raises."""
        if self.guard is not None:
            self.guard()
        self._before, self.maybe_written = self.maybe_written, self.writes

    def undone(self) -> None:
        """The last one has not been carried out."""
        self.maybe_written = self._before


_current: ContextVar[Attempts | None] = ContextVar("attempts", default=None)


@contextmanager
def following(attempts: Attempts) -> Iterator[None]:
    """Let the calls of this thread be followed by `attempts`."""
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
"""What is called on botocore's events."""
