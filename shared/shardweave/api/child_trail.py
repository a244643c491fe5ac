"""The effects of a deletion on children, for the audit trail, which names records by their paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..keys.shard_key import ExternalKeys
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..store.outcomes import Fate, Follow
from ..wire.record_keys import RecordKeys
from .operation import Beside, Call


@dataclass(frozen=True)
class ChildTrail:
    """Children of any entity. `external` names those with an origin."""

    external: ExternalKeys | None = None

    def of(self, call: Call) -> Follow:
        """A callback that records the effect on each child in a call."""

        def follow(entity: EntityType[Any], record: Entity, fate: Fate) -> None:
            place = RecordKeys(entity, self.external).path(record)
            call.beside.append(Beside(entity.collection, place, fate))

        return follow
