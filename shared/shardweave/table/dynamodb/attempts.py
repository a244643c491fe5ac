"""The attempts of one call, and whether they may have been carried out.

Guarantees: after its guard has passed, an attempt of a write counts as possibly carried out, until DynamoDB refuses it
in a reliable reply, or until it is certain that no connection was established. A write that was possibly carried out is
sent again only if that can't carry it out twice (see `may_be_repeated`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import Guard
from ..operations import WRITES, Operation, may_be_repeated


@dataclass
class Attempts:
    """The attempts of one call. `maybe_written`: one of them may have been carried out."""

    guard: Guard | None = None
    writes: bool = False
    repeatable: bool = True
    maybe_written: bool = False
    _before: bool = field(default=False, repr=False)

    @classmethod
    def at(cls, operation: Operation[Any], guard: Guard | None) -> Attempts:
        """The attempts of an operation."""
        return cls(guard, isinstance(operation, WRITES), may_be_repeated(operation))

    def begin(self) -> None:
        """Note that an attempt is about to be sent. Raises the guard's exception."""
        if self.guard is not None:
            self.guard()
        self._before, self.maybe_written = self.maybe_written, self.writes

    def undone(self) -> None:
        """Note that the last attempt was not carried out."""
        self.maybe_written = self._before
