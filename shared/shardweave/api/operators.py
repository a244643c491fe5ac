"""Who may move an entity's records: principals, as `caller` names them."""

from __future__ import annotations

from dataclasses import dataclass

from .caller import Caller

EVERYBODY = "*"


@dataclass(frozen=True)
class Operators:
    """The principals that may move records; `*` is everybody, for a server that only this machine reaches."""

    principals: frozenset[str] = frozenset()

    @classmethod
    def of_text(cls, text: str) -> Operators:
        """From principals separated by commas: ARNs, or a token's issuer and subject with a space between."""
        return cls(frozenset(each.strip() for each in text.split(",") if each.strip()))

    def __bool__(self) -> bool:
        return bool(self.principals)

    def include(self, caller: Caller) -> bool:
        return EVERYBODY in self.principals or caller.principal in self.principals


NO_OPERATORS = Operators()
