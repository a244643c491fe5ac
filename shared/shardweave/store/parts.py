"""The parts of a store, for work beyond single operations, such as maintenance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..schema.entity_type import EntityType
from ..schema.schema import Schema
from ..schema.shard_maps import ShardMaps
from ..table import Table
from ..table.retry import RetryClock
from .attempts import AttemptContext
from .lookups.backfill_state import Readiness
from .reader import Reader
from .relations.parent_deletion import Removing
from .sequences import Numbering
from .writing.sender import Sender
from .writing.write_steps import Context
from .writing.writer import Writer


@dataclass(frozen=True)
class StoreParts:
    """The parts of one store. `moment_of` returns the current time and an entity's shard maps, for each attempt, and
    `maps` knows those maps and former ones that are still kept."""

    schema: Schema
    table: Table
    reader: Reader
    sender: Sender
    writer: Writer
    numbering: Numbering
    readiness: Readiness
    context: Context
    moment_of: Callable[[EntityType[Any]], AttemptContext]
    waiting: RetryClock
    maps: ShardMaps
    removing: Removing
