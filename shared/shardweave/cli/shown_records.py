"""Records in the form in which the command line prints them: as the API shows them, or with private properties."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..api.pages import item_json
from ..errors import Unreadable
from ..query.results import Part
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..wire.record_models import RecordModels


@dataclass(frozen=True)
class ShownRecords:
    """The records of one entity as JSON; `private`: private properties are included."""

    entity: EntityType[Any]
    private: bool = False

    @cached_property
    def models(self) -> RecordModels:
        """The record's forms in the API."""
        return RecordModels(self.entity)

    @cached_property
    def _whole(self) -> RecordModels:
        every = {name: replace(each, private=False) for name, each in self.entity.properties.items()}
        return RecordModels(replace(self.entity, properties=every))

    def document(self, record: Any) -> dict[str, Any]:
        """A record, or some properties of one, as a JSON object. Raises RecordUnreadable."""
        text = item_json(self.models, record)
        if self.private and isinstance(record, Entity):
            text = self._whole.part_json(Part(self.entity.readable(self.entity.dump(record))))
        document: dict[str, Any] = json.loads(text)
        return document

    def line(self, record: Any) -> str:
        """The same as a line. Raises RecordUnreadable."""
        return json.dumps(self.document(record), ensure_ascii=False)

    def told(self, found: Iterable[Unreadable]) -> dict[str, Any]:
        """The member that lists unreadable records, if there are any."""
        return self.models.told(found)

    def say_what_is_left_out(self, say: Callable[[str], object]) -> None:
        """Name the private properties that are left out."""
        left_out = [name for name, each in self.entity.properties.items() if each.private]
        if left_out and not self.private:
            say(f"left out: the private properties {', '.join(left_out)} (--private writes them)")
