"""Operators: the principals and groups that may start re-shards and send events."""

from __future__ import annotations

from dataclasses import dataclass

from ..access.authorization import refusal
from ..errors import RouteNotFound
from .authorizer_claims import Caller

EVERYBODY = "*"
GROUP = "group:"


@dataclass(frozen=True)
class Operators:
    """The operators' principals and groups; `*` means every caller, for a server that is reachable only from this
    machine."""

    principals: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    @classmethod
    def of_text(cls, text: str) -> Operators:
        """Parse a comma-separated list of ARNs, issuer and subject of a token separated by a space, or `group:NAME`."""
        listed = {each.strip() for each in text.split(",") if each.strip()}
        groups = {each for each in listed if each.startswith(GROUP)}
        return cls(frozenset(listed - groups), frozenset(each.removeprefix(GROUP) for each in groups))

    def __bool__(self) -> bool:
        return bool(self.principals or self.groups)

    def include(self, caller: Caller) -> bool:
        if EVERYBODY in self.principals:
            return True
        return caller.is_known and (caller.principal in self.principals or bool(caller.groups & self.groups))

    def check(self, caller: Caller, message: str) -> None:
        """Refuse a caller who is no operator: the path does not exist for known callers, others are asked who they
        are. Raises RouteNotFound, Unauthenticated."""
        if self.include(caller):
            return
        if not caller.is_known:
            raise refusal(caller, message, "operators")
        raise RouteNotFound("there is no such path", where="path", fix="see /openapi.json")


NO_OPERATORS = Operators()
ALL_OPERATORS = Operators(frozenset({EVERYBODY}))
