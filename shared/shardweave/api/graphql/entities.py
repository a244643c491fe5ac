"""The records of one entity, as the other routes read and write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...access.authorization import Authorization
from ...schema.entity import Entity
from ...schema.entity_type import EntityType
from ...store import Store
from ...wire.record_models import RecordModels
from ..operation import Call
from ..pages import Pages
from ..parts import Parts
from ..response_size import Carried
from ..routes.records import Collection
from .names import has_sort


@dataclass(frozen=True)
class EntityRecords:
    """One entity: its JSON forms, its pages, and the operations of its collection."""

    entity: EntityType[Any]
    models: RecordModels
    pages: Pages
    collection: Collection
    store: Store
    access: Authorization

    @classmethod
    def of(cls, entity: EntityType[Any], parts: Parts, max_related: int) -> EntityRecords:
        """Those of a service."""
        models = RecordModels(entity, parts.external_keys)
        pages = Pages(models, parts.queries, parts.access)
        collection = Collection(
            entity, parts.store, parts.queries, parts.external_keys, parts.access, max_related=max_related
        )
        return cls(entity, models, pages, collection, parts.store, parts.access)

    @property
    def is_sorted(self) -> bool:
        """Whether the key has a sort part, so that one record is not named by the partition alone."""
        return has_sort(self.entity) and self.entity.origin is None

    def found(self, path: Mapping[str, str], call: Call) -> Entity | None:
        """The record of a path, None where there is none for the caller. Raises Unauthenticated, Forbidden, and what is
        wrong with the path."""
        grant = self.access.grant(self.entity, "get", call.caller)
        key = self.models.keys.of_path(path)
        found: Entity | None = self.store.get(self.entity.model, key, visibility=grant.visibility)
        return found

    def carried(self, record: Any) -> tuple[Any, Carried]:
        """A record of a page, and its JSON text. Raises RecordUnreadable."""
        return self.pages.carried(record)
