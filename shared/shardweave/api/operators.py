"""Who may move an entity's records and send events: principals, as `caller` names them, and groups."""

from __future__ import annotations

from dataclasses import dataclass

from .authorizer_claims import Caller

EVERYBODY = "*"
GROUP = "group:"


@dataclass(frozen=True)
class Operators:
    """The principals and the groups that have the right; `*` is everybody, for a server that only this machine
    reaches."""

    principals: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    @classmethod
    def of_text(cls, text: str) -> Operators:
        """From a list with commas: ARNs, a token's issuer and subject with a space between, or `group:NAME`."""
        listed = {each.strip() for each in text.split(",") if each.strip()}
        groups = {each for each in listed if each.startswith(GROUP)}
        return cls(frozenset(listed - groups), frozenset(each.removeprefix(GROUP) for each in groups))

    def __bool__(self) -> bool:
        return bool(self.principals or self.groups)

    def include(self, caller: Caller) -> bool:
        if EVERYBODY in self.principals:
            return True
        return caller.is_known and (caller.principal in self.principals or bool(caller.groups & self.groups))


NO_OPERATORS = Operators()
ALL_OPERATORS = Operators(frozenset({EVERYBODY}))
