"""One attempt to read or write: its clock time and shard maps, and the keys that it compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..keys.sharding import ShardMap
from ..schema.shard_maps import Lease

if TYPE_CHECKING:
    from ..schema.old_forms import OldForm

PrimaryKey = tuple[Any, Any]
"""The two attributes of a primary key, as a value to compare."""


@dataclass(frozen=True)
class AttemptContext:
    """The clock time, the shard maps and the old form (see `MapView`) of one attempt to read or write."""

    now_ms: int
    shard_map: ShardMap
    mirror: ShardMap | None = None
    marked: ShardMap | None = None
    lease: Lease | None = field(default=None, compare=False)
    old_form: OldForm | None = field(default=None, compare=False)

    @property
    def seconds(self) -> int:
        return self.now_ms // 1000

    @property
    def counts_children(self) -> bool:
        """Whether parents count the record. Not while the entity evolves, if they count it under its earlier
        declaration (see `old_form_actions`)."""
        return self.old_form is None or not self.old_form.counts

    def has_maps_of(self, other: AttemptContext) -> bool:
        """Whether both contexts have the same shard maps, and repeat writes alike."""
        same_form = self.old_form is other.old_form
        return same_form and (self.shard_map, self.mirror) == (other.shard_map, other.mirror)
