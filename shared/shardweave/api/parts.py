"""The parts from which the operations of a service are built."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..access.authorization import Authorization
from ..keys.shard_key import ExternalKeys
from ..query.runner import QueryRunner
from ..reshard.leased_maps import LeasedMaps
from ..schema.schema import Schema
from ..store import Store
from ..table import Table


@dataclass(frozen=True)
class Parts:
    """The parts of operations. `external_keys` are given if an entity has an origin; `maps` are the shard maps in
    force, if records may be re-sharded."""

    schema: Schema
    table: Table
    store: Store
    queries: QueryRunner
    external_keys: ExternalKeys | None = None
    maps: LeasedMaps | None = None

    @cached_property
    def access(self) -> Authorization:
        """The access checks, which a service's own operations use too."""
        return Authorization(self.schema.entities)
