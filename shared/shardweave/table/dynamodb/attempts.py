"""The attempts of one call, and what is known of what they did.

Guarantees: an attempt at a write counts as perhaps carried out from the moment at which its guard let it through until
DynamoDB refuses it in a reply that can be trusted, or until it is known that no connection came about. What was perhaps
carried out is sent again only if that can't carry it out twice (see `may_be_repeated`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import Guard
from ..operations import WRITES, Operation, may_be_repeated


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
