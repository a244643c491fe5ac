"""What the operations of a service are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..access.authorization import Authorization
from ..query.runner import QueryRunner
from ..reshard.leased_maps import LeasedMaps
from ..schema.schema import Schema
from ..shard_key import ExternalKeys
from ..store import Store
from ..table import Table


@dataclass(frozen=True)
class Parts:
    """What operations are made of. `external_keys` are there where an entity has an origin; `maps` are the shard maps
    in force, where records may move."""

    schema: Schema
    table: Table
    store: Store
    queries: QueryRunner
    external_keys: ExternalKeys | None = None
    maps: LeasedMaps | None = None

    @cached_property
    def access(self) -> Authorization:
        """Who may see and do what. Operations that a service declares itself ask it too."""
        return Authorization(self.schema.entities)
