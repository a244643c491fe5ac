"""Who sends a request, as an authorizer has verified it.

`scope` is the one text that tells callers apart wherever something belongs to a caller: idempotency keys, and the
cursors of pages. Two callers with different scopes know nothing of each other's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

ANONYMOUS = "anonymous"


@dataclass(frozen=True)
class Caller:
    """A principal, and the tenant that it acts for (empty where there are none).

    `subject` is the principal as records name it: a token's subject, or the ARN of who signed. `claims` are the
    token's that are texts; `groups` those that the principal is in. `unread` names claims that may be lists and could
    not be read, which therefore give no right.
    """

    principal: str = ANONYMOUS
    tenant: str = ""
    subject: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    @property
    def is_known(self) -> bool:
        """Whether an authorizer named the caller."""
        return self.principal != ANONYMOUS

    @property
    def scope(self) -> str:
        return json.dumps([self.tenant, self.principal]) if self.is_known or self.tenant else ""

    def acting_for(self, claims: Iterable[str]) -> Caller:
        """The same caller, whose tenant is what these claims say."""
        names = sorted(claims)
        return replace(self, tenant=json.dumps([self.claims.get(name, "") for name in names])) if names else self


def is_member(caller: Caller, groups: tuple[str, ...]) -> bool:
    """Whether a caller is in one of some groups; where there are none, everybody is."""
    return not groups or any(group in caller.groups for group in groups)
