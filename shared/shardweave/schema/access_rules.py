"""Rules: who may do which operation on an entity's records.

    class Report(Entity, access=[
        Allow("get", "list", groups=("reader",)),
        Allow("*", groups=("admin",)),
        Allow("update", owner="user_id"),
    ])

Once any entity of a schema has a rule, an operation that no rule allows is refused, for every entity. A rule applies to
callers in one of its `groups` (every caller, where it names none), and to records whose property `owner` is the
caller's subject (every record, where it names none). Rules add up: what any of them allows is allowed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .caller import Caller, is_member

EVERY = "*"
GROUP_NAME = re.compile(r"[^\s,\[\]{}\"']+")
"""What a group can be called: where a list is flattened, other names can't be told from several."""
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
"""`list` is GET of a collection, lookups included; `get` is also what `expand` needs of the entity that it leads to."""


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
        """Whether it allows the caller this operation, on some records."""
        named = EVERY in self.operations or operation in self.operations
        return named and is_member(caller, self.groups)


def _as_tuple(groups: Any) -> Any:
    """What is no list of groups stays what it is, and the schema says so."""
    return tuple(groups) if isinstance(groups, (list, tuple, set, frozenset)) else groups
