"""Adding to numbers and sets of one record.

    POST  /v1/{collection}/add    adds amounts, by property; returns the record as it is stored then

Concurrent additions are all carried out, each once (see `store.writing.additions`). With `upsert` a missing record is
created from its key and the amounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from pydantic import BaseModel, Field

from ...access.authorization import Authorization
from ...access.grant import Grant
from ...errors import Conflict, FieldFault, NotFound, PreconditionFailed, RecordTooLarge, ValidationFailed
from ...schema.property import Property
from ...store import Add, Store
from ...store.operations import Upsert, Written, can_be_added_to
from ...values.codecs import IntegerCodec
from ...values.derived_models import derived_model
from ...values.json_types import JSON_CONFIG, json_type, left_out
from ...values.json_validation import read_model
from ...wire.record_models import RecordModels
from ..http import Response
from ..idempotency import ONCE, ONCE_ERRORS, carried_out
from ..operation import Answer, Body, Call, Operation
from ..preconditions import CONDITIONS_OF_CHANGING, entity_tag, required

TAG = {"ETag": "The record's revision."}


class Additions:
    """The route for additions to one entity."""

    def __init__(self, models: RecordModels, store: Store, access: Authorization) -> None:
        self._access = access
        self._models = models
        self._store = store

    def add(self, call: Call) -> Response:
        entity, condition = self._models.entity, required(call.headers)
        grant = self._access.grant(entity, "update", call.caller)
        key, amounts, makes = self._read(call.document, grant)
        upsert: Upsert = False
        if makes and not condition.exists:
            upsert = self._access.grant(entity, "create", call.caller).started(entity.identify(key), {})
        addition = Add(entity.model, key, grant.changed(amounts), condition.rev, upsert=upsert, **grant.asker)

        def answer(made: Sequence[Written]) -> Response:
            (written,) = made
            assert written.record is not None, "an addition leaves a record"
            place = {"location": self._models.keys.path(written.record)} if written.created else {}
            body = self._models.json(written.record)
            return Response.json(201 if place else 200, body, **place, **entity_tag(written.record.rev))

        with condition.or_refuse():
            return carried_out(self._store, call, [addition], answer)

    def _read(self, document: Mapping[str, Any], grant: Grant) -> tuple[Any, dict[str, Any], bool]:
        """The key, the amounts by stored name, and whether a missing record is created. Raises ValidationFailed,
        InputError."""
        if "key" not in document:
            raise ValidationFailed([FieldFault(("key",), "Field required", "missing")], where="body")
        try:
            read: Any = read_model(self._body, {**document, "key": None})
        except ValidationFailed as failed:
            failed.where = "body"
            raise
        key = self._models.keys.of_json(document["key"], ("key",), grant.said)
        return key, self.amounts_of(read.amounts), bool(read.upsert)

    def amounts_in(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The amounts in a JSON object, by stored name. Raises ValidationFailed."""
        return self.amounts_of(read_model(self.amounts, document))

    @staticmethod
    def amounts_of(read: BaseModel) -> dict[str, Any]:
        """The given amounts, by stored name."""
        fields = type(read).model_fields
        return {fields[name].alias or name: getattr(read, name) for name in read.model_fields_set}

    # -- description

    def operations(self, path: str) -> tuple[Operation, ...]:
        """The operation, below the path of the collection; none if the entity has nothing to add to."""
        name, entity = self._models.name, self._models.entity
        if not self._addable:
            return ()
        stored: dict[str, Any] = {"model": lambda: self._models.read}
        return (
            Operation(
                "POST",
                f"{path}/add",
                f"addTo{name}",
                f"Add to numbers and sets of one {entity.token}",
                self.add,
                Answer(200, "The record as it is stored.", headers=TAG, **stored),
                also=(
                    Answer(
                        201,
                        "The new record as it is stored.",
                        headers={"Location": "The record's path.", **TAG},
                        **stored,
                    ),
                ),
                description="Whoever adds at the same time, every addition is carried out, once. A negative amount "
                "takes away. `upsert` makes the record where there is none.",
                tag=entity.collection,
                header_parameters=(*CONDITIONS_OF_CHANGING, ONCE),
                body=Body(lambda: self._described),
                errors=(NotFound, Conflict, PreconditionFailed, RecordTooLarge, *ONCE_ERRORS),
            ),
        )

    @cached_property
    def _addable(self) -> list[Property]:
        entity = self._models.entity
        return [each for each in entity.properties.values() if can_be_added_to(entity, each)]

    @cached_property
    def amounts(self) -> type[BaseModel]:
        """The form of the amounts."""
        fields: dict[str, Any] = {
            each.name: (_amount_type(each), Field(default_factory=lambda: None, alias=each.stored))
            for each in self._addable
        }
        return derived_model(f"{self._models.name}Amounts", JSON_CONFIG, fields, "What is added, by property.")

    @cached_property
    def _body(self) -> type[BaseModel]:
        return self._made(Any)

    @cached_property
    def _described(self) -> type[BaseModel]:
        return self._made(self._models.keys.json_type)

    def _made(self, key: Any) -> type[BaseModel]:
        fields: dict[str, Any] = {
            "key": (key, ...),
            "amounts": (self.amounts, ...),
            "upsert": (bool, left_out("True to make the record where there is none.")),
        }
        return derived_model(f"{self._models.name}Add", JSON_CONFIG, fields, "What is added to one record.")


def _amount_type(each: Property) -> Any:
    """The JSON type of amounts for a property."""
    if each.is_set:
        member: Any = Any if each.members is None else json_type(each.members.annotation)
        return list[member]
    if isinstance(each.codec, IntegerCodec):
        return json_type(int)
    return json_type(Decimal) if each.holds_decimals else json_type(float)
