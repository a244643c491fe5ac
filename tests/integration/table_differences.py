"""What the emulators do otherwise than DynamoDB: the one list that the contract suite goes by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """On `backend`, `test` (a function of the suite, with its case in brackets) fails because of `what` it does."""

    backend: str
    test: str
    what: str


DIFFERENCES: tuple[Difference, ...] = ()
