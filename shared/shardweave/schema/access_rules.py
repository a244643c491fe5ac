"""Access rules: who may do which operation on an entity's records.

    class Report(Entity, access=[
        Allow("get", "list", groups=("reader",)),
        Allow("*", groups=("admin",)),
        Allow("update", owner="user_id"),
    ])

Once any entity of a schema has a rule, an operation that no rule allows is refused, for every entity. A rule applies to
callers in one of its `groups` (every caller, where it names none), and to records whose property `owner` is the
caller's subject (every record, where it names none). An operation is allowed if any rule allows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .caller import Caller, is_member

EVERY = "*"
GROUP_NAME = re.compile(r"[^\s,\[\]{}\"']+")
"""The form of group names: if a list is flattened to text, other names can't be distinguished from several names."""
OPERATIONS = (
    "create",
    "get",
    "list",
    "query",
    "count",
    "explain",
    "update",
    "put",
    "delete",
    "batchGet",
    "batchWrite",
)
"""`list` is GET of a collection, lookups included; `expand` also requires `get` of its target entity."""


@dataclass(frozen=True, init=False)
class Allow:
    """A rule. `operations` are some of `OPERATIONS`, or `*` for all; `owner` is a property's Python name."""

    operations: tuple[str, ...]
    groups: tuple[str, ...]
    owner: str | None

    def __init__(self, *operations: str, groups: str | tuple[str, ...] = (), owner: str | None = None) -> None:
        object.__setattr__(self, "operations", operations)
        object.__setattr__(self, "groups", (groups,) if isinstance(groups, str) else _as_tuple(groups))
        object.__setattr__(self, "owner", owner)

    def covers(self, operation: str, caller: Caller) -> bool:
        """Whether it allows the caller this operation on some records."""
        named = EVERY in self.operations or operation in self.operations
        return named and is_member(caller, self.groups)


def _as_tuple(groups: Any) -> Any:
    """An invalid value is kept, and reported by the schema's checks."""
    return tuple(groups) if isinstance(groups, (list, tuple, set, frozenset)) else groups
