"""Events over HTTP: one route for each read model of the schema.

    POST  /v1/_events/{read_model}    an event; 200 if it has been applied, now or before

An event is one JSON object with its `type`, `eventId` and `position`, validated completely. Its values are read by the
rules of `json_types`, like those of records. A queue that delivers it until it gets a 200 or a 400 loses none: after
any other answer (409, 503, 504), delivering it again is safe. An id that was used for another event is a 409 for ever.

The `eventId` identifies it, whoever sends it, so no idempotency key is required or read.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model

from ...access.authorization import ACCESS_ERRORS, refusal
from ...errors import Conflict, FieldFault, ImmutableProperty, RecordTooLarge, TableFull, ValidationFailed
from ...schema.read_models import Event, ReadModel, event_types
from ...store import Store
from ...values.json_types import as_declared, json_bytes, json_form
from ...values.json_validation import read_model
from ..http import Response
from ..operation import Answer, Body, Call, Operation
from ..operators import ALL_OPERATORS, Operators

EVENTS = "/v1/_events"


class AppliedEvent(BaseModel):
    """What became of an event."""

    model_config = ConfigDict(extra="forbid")

    event_id: str = Field(alias="eventId", description="The event's id.")
    repeated: bool = Field(description="True when it had been applied before, and nothing was done.")


class Events:
    """The route of one read model on a store. Events are not subject to access rules of records, so only `senders` may
    send them."""

    def __init__(self, read_model: ReadModel, store: Store, senders: Operators = ALL_OPERATORS) -> None:
        self._senders = senders
        self._read_model = read_model
        self._store = store
        self._kinds = {name: kind for kind in read_model.events for name in event_types(kind)}

    def apply(self, call: Call) -> Response:
        if not self._senders.include(call.caller):
            raise refusal(call.caller, "only operators send events", "operators")
        applied = self._store.apply(self._read_model.name, self._event(call))
        return Response.json(200, json_bytes({"eventId": applied.event_id, "repeated": applied.repeated}))

    def operation(self) -> Operation:
        name = self._read_model.name
        return Operation(
            "POST",
            f"{EVENTS}/{name}",
            f"apply{name[:1].upper()}{name[1:]}Event",
            f"An event for {name}",
            self.apply,
            Answer(200, "It has been applied, now or before.", AppliedEvent),
            description="All that an event means is written in one transaction, once for each `eventId`. Events about "
            "one record count in the order of their `position`, whatever the order in which they arrive.",
            tag="events",
            body=Body(self._body),
            errors=(Conflict, ImmutableProperty, RecordTooLarge, TableFull, *ACCESS_ERRORS),
            counted=False,
        )

    def _event(self, call: Call) -> Event:
        given = call.document.get("type")
        kind = self._kinds.get(given) if isinstance(given, str) else None
        if kind is None:
            fault = FieldFault(("type",), f"must be one of {', '.join(self._kinds)}", "literal_error")
            raise ValidationFailed([fault], where="body")
        try:
            return as_declared(kind, read_model(_form(kind), call.document))
        except ValidationFailed as failed:
            failed.where = "body"
            raise

    def _body(self) -> type[BaseModel]:
        """The form of every event that the read model takes."""
        kinds = self._read_model.events
        if len(kinds) == 1:
            return kinds[0]
        union: Any = Annotated[reduce(or_, kinds), Field(discriminator="type")]
        name = f"{self._read_model.name[:1].upper()}{self._read_model.name[1:]}Event"
        return create_model(name, __base__=RootModel[union], __doc__="An event, of one of several kinds.")


@cache
def _form(kind: type[Event]) -> type[Event]:
    # A form takes milliseconds to make, so each is made for the first event of its kind.
    return json_form(kind)
