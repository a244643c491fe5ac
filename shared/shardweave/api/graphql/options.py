"""What a service says about its GraphQL: `graphql = GraphQL()` in its module opens `/graphql`.

Nothing here needs graphql-core, which is imported with the first request to the route.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import ConfigurationError

_PREFIX = re.compile("(?!__)[_A-Za-z][_0-9A-Za-z]*|")
MOST_DEPTH, MOST_FIELDS, MOST_COST = 50, 10_000, 1_000_000


@dataclass(frozen=True)
class GraphQL:
    """The GraphQL of a service. `name_prefix` stands before every name of a field of `Query` and `Mutation` and of
    every type of an entity; `capitalised` names begin with a capital, and lists then have the entity's name
    (`OrderById`, not `ordersById`). `introspection` says whether a deployed API tells its schema; left out, only the
    local server does. A document nests at most `max_depth` fields, asks for at most `max_fields`, and what it would
    read, planned before anything is, is at most `max_cost`: lanes, records by key, and related records. Raises
    ConfigurationError."""

    name_prefix: str = ""
    capitalised: bool = False
    introspection: bool | None = None
    max_depth: int = 12
    max_fields: int = 500
    max_cost: int = 10_000

    def __post_init__(self) -> None:
        if not isinstance(self.name_prefix, str) or not _PREFIX.fullmatch(self.name_prefix):
            raise ConfigurationError(
                "must be letters, digits and underscores that begin a GraphQL name",
                where="GraphQL(name_prefix=...)",
                fix="give one like Shop_",
            )
        for name, others in (("capitalised", ()), ("introspection", (None,))):
            value = getattr(self, name)
            if not isinstance(value, bool) and value not in others:
                raise ConfigurationError(
                    f"must be true or false, got {type(value).__name__}",
                    where=f"GraphQL({name}=...)",
                    fix="give one of them, or leave it out",
                )
        for name, most in (("max_depth", MOST_DEPTH), ("max_fields", MOST_FIELDS), ("max_cost", MOST_COST)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                raise ConfigurationError(
                    f"must be a whole number from 1 to {most:,}", where=f"GraphQL({name}=...)", fix="give one"
                )
