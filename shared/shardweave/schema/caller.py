"""The caller of a request, as verified by an authorizer.

`scope` is a text that identifies the caller wherever something belongs to a caller: idempotency keys, and the cursors
of pages. Callers with different scopes have no access to each other's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

ANONYMOUS = "anonymous"


@dataclass(frozen=True)
class Caller:
    """A principal, and the tenant that it acts for (empty where there are none).

    `subject` is the principal as records name it: a token's subject, or the ARN of who signed. `claims` are the token's
    that are texts; `groups` those that the principal is in. `unread` names claims that may be lists and could not be
    parsed, and are therefore ignored.
    """

    principal: str = ANONYMOUS
    tenant: str = ""
    subject: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    @property
    def is_known(self) -> bool:
        """Whether an authorizer has verified the caller."""
        return self.principal != ANONYMOUS

    @property
    def scope(self) -> str:
        return json.dumps([self.tenant, self.principal]) if self.is_known or self.tenant else ""

    def acting_for(self, claims: Iterable[str]) -> Caller:
        """The same caller, with the tenant in these claims."""
        names = sorted(claims)
        return replace(self, tenant=json.dumps([self.claims.get(name, "") for name in names])) if names else self


def is_member(caller: Caller, groups: tuple[str, ...]) -> bool:
    """Whether a caller is in one of some groups; True if no groups are given."""
    return not groups or any(group in caller.groups for group in groups)
