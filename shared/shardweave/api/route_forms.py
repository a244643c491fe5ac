"""The JSON forms of what a route gives: records as they are shown everywhere, views of them, several by their tokens,
and models of a service's own, in which entities are shown as records are."""

from __future__ import annotations

import json
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, create_model
from pydantic.alias_generators import to_pascal
from pydantic_core import SchemaSerializer

from ..errors import ConfigurationError
from ..routing import RecordView, Route
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..values.json_types import JSON_CONFIG
from ..wire.record_models import EXPANDED, RecordModels
from .shown_values import ShownValues

if TYPE_CHECKING:
    from .parts import Parts


def form_of(route: Route[..., Any], given: Any, parts: Parts) -> Form:
    if _is_entity(given):
        return RecordForm(_models(given, parts))
    if typing.get_origin(given) is tuple and all(_is_entity(each) for each in typing.get_args(given)):
        name = to_pascal(route.function.__name__) + "Records"
        return RecordsForm(name, tuple(_models(each, parts) for each in typing.get_args(given)))
    if isinstance(given, type) and issubclass(given, RecordView):
        return ViewForm(given, _models(given.model_fields["record"].annotation, parts), ModelForm(given, parts))
    if isinstance(given, type) and issubclass(given, BaseModel):
        return ModelForm(given, parts)
    fix = "give an entity, a pydantic model, None, Listed[...] or Writes[...]"
    raise ConfigurationError(f"it can't give {given!r:.60}", where=route.place, fix=fix)


def _models(entity: Any, parts: Parts) -> RecordModels:
    return RecordModels(parts.schema[entity], parts.external_keys)


def _is_entity(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, Entity)


def entities_of(form: Form | None) -> tuple[EntityType[Any], ...]:
    """The entities whose records a form is made for."""
    if isinstance(form, RecordsForm):
        return tuple(each.entity for each in form.records)
    return (form.models.entity,) if isinstance(form, (RecordForm, ViewForm)) else ()


@dataclass(frozen=True)
class RecordForm:
    """A record, as it is shown everywhere."""

    models: RecordModels

    def model(self) -> type[BaseModel]:
        return self.models.read

    def text(self, value: Any) -> bytes:
        return self.models.json(value)


@dataclass(frozen=True)
class RecordsForm:
    """Several records, by the tokens of their entities."""

    name: str
    records: tuple[RecordModels, ...]

    def model(self) -> type[BaseModel]:
        fields: dict[str, Any] = {each.entity.token: (each.read, ...) for each in self.records}
        made: type[BaseModel] = create_model(
            self.name, __doc__="The records, by what they are.", __config__=JSON_CONFIG, **fields
        )
        return made

    def text(self, value: Sequence[Entity]) -> bytes:
        shown = zip(self.records, value, strict=True)
        return b"{" + b",".join(_member(each.entity.token, each.json(record)) for each, record in shown) + b"}"


@dataclass(frozen=True)
class ViewForm:
    """A record without some of its properties, and with the members of a view."""

    view: type[RecordView[Any]]
    models: RecordModels
    members: ModelForm

    def model(self) -> type[BaseModel]:
        hidden = {"record", *self.view.hidden, EXPANDED}
        shown = [*self.models.read.model_fields.items(), *self.members.model().model_fields.items()]
        fields: dict[str, Any] = {name: (info.annotation, info) for name, info in shown if name not in hidden}
        made: type[BaseModel] = create_model(
            self.view.__name__, __doc__=self.view.__doc__, __config__=JSON_CONFIG, **fields
        )
        return made

    def text(self, value: RecordView[Any]) -> bytes:
        record, members = self.models.json(value.record, self.view.hidden), self.members.text(value, ("record",))
        return record if members == b"{}" else record[:-1] + b"," + members[1:]


@dataclass(frozen=True)
class ModelForm:
    """A model, in which entities are shown as records are."""

    declared: type[BaseModel]
    parts: Parts

    def model(self) -> type[BaseModel]:
        described: type[BaseModel] = self._values.described(self.declared)
        return described

    def document(self, value: BaseModel) -> dict[str, Any]:
        """The same as a JSON object."""
        found: dict[str, Any] = json.loads(self.text(value))
        return found

    def text(self, value: Any, without: Sequence[str] = ()) -> bytes:
        members = []
        for name, info in self.declared.model_fields.items():
            if name not in without:
                alias = info.serialization_alias or info.alias or name
                members.append(_member(alias, self._text_of(name, getattr(value, name))))
        return b"{" + b",".join(members) + b"}"

    def _text_of(self, name: str, given: Any) -> bytes:
        if isinstance(given, Entity):
            return self._values.records(type(given)).json(given)
        if name not in self._serializers:
            self._serializers[name] = self._values.serializer(self.declared.model_fields[name].annotation)
        return self._serializers[name].to_json(given, by_alias=True)

    @cached_property
    def _values(self) -> ShownValues:
        return ShownValues(self.parts)

    @cached_property
    def _serializers(self) -> dict[str, SchemaSerializer]:
        return {}


def _member(name: str, text: bytes) -> bytes:
    return json.dumps(name).encode() + b":" + text


Form = RecordForm | RecordsForm | ViewForm | ModelForm
