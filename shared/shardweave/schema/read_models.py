"""Read models: the declaration of events, and of what they change.

    class OrderPlaced(Event):
        type: Literal["OrderPlaced"] = "OrderPlaced"
        order_id: str
        customer_id: str

    def project(event: Event) -> Sequence[Action]:      pure: the same event always gives the same actions
        match event:
            case OrderPlaced():
                return (Set(Order(order_id=event.order_id, customer_id=event.customer_id)),)
            case OrderShipped():
                return (Update(Order, event.order_id, {"status": "shipped"}),)

    orders = ReadModel("orders", events=(OrderPlaced, OrderShipped), writes=(Order,), project=project)

The store's `apply` carries an event out, with these guarantees:

    once          an event is told by its `event_id`; the marker of it is written in the one transaction of its actions.
                  Delivered again within `remember_days`, it changes nothing
    together      the actions of one event are one transaction: all are seen, or none
    in order      per record, events count in the order of (`position`, `event_id`), not of their arrival. For every
                  property the latest event that gave it decides, and a `Set` or `Delete` counts as giving every
                  property. So a record ends the same whatever the order in which its events arrive, and events of
                  different records need no order at all
    whole         a record is shown once everything that it must have has come. What comes before that waits, unseen,
                  for `remember_days`; a deleted record remembers as long when it was deleted

`position` is a whole number that grows along the events about one record: the number of the event in its stream, or
a time in milliseconds. Positions of records that no event has in common are never compared.

A read model may be fed by the records of other entities instead, as the table's stream tells of their changes:

    def project(message: Message) -> Sequence[Action]:  what this record, as it is now, adds to which numbers
        return [Update(Unread, {"member_id": each}, add={"unread": 1}) for each in message.member_ids]

    unread = ReadModel("unread", records=(Message,), writes=(Unread,), project=project)

Each number is the sum of what all records add that there are, since it was reset last; see `store.events.counts`.

Values without behaviour: `checks.read_models` checks them, `store.events` carries them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from ..table.values import MAX_DIGITS
from .entity import Entity

if TYPE_CHECKING:
    from .property import Property

REMEMBER_DAYS = 14
"""The same time for which a message queue keeps undelivered messages."""

MAX_POSITION = 2**63 - 1
MAX_EVENT_ID_CHARACTERS = 255
Number = int | Decimal


class Event(BaseModel):
    """Base of every event. A kind of event narrows `type` to its name; `event_id` identifies the event, to detect
    repeated deliveries; `position` increases with the events about one record. JSON names are camelCase."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        defer_build=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )

    if TYPE_CHECKING:
        type: Any  # A kind's Literal would not be allowed to narrow another type.
    else:
        type: str = Field(description="Which kind of event it is.")
    event_id: str = Field(
        min_length=1,
        max_length=MAX_EVENT_ID_CHARACTERS,
        description="What makes it the same event when it is delivered again.",
    )
    position: int = Field(ge=0, le=MAX_POSITION, description="Grows along the events about one record.")

    @field_validator("position")
    @classmethod
    def _can_be_kept(cls, position: int) -> int:
        # A kind of event may declare its position again, with other bounds or none.
        if abs(position) >= 10**MAX_DIGITS:
            raise ValueError(f"it has more than {MAX_DIGITS} digits")
        return position


@dataclass(frozen=True)
class Set:
    """Sets a whole record, whatever it was before."""

    record: Entity


@dataclass(frozen=True)
class Update:
    """Sets some properties of a record; all others stay. None removes a property. `add` is added to numbers, in any
    order, also to numbers given by a Set: it is for totals, which neither Set nor Delete resets. A number that was
    never set counts as 0."""

    model: type[Entity]
    key: Any
    changes: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Delete:
    """Deletes a record."""

    model: type[Entity]
    key: Any


Action = Set | Update | Delete


def no_actions(given: Any) -> Sequence[Action]:
    """The function of a read model for which none was given, which is refused where a schema is built."""
    return ()


@dataclass(frozen=True)
class ReadModel:
    """The declaration of a read model. `events` are the kinds of events that it accepts, or `records` the entities from
    whose records its numbers are summed; `writes` are the entities that its actions write, each of which no other
    read model writes; `project` is pure."""

    name: str
    events: tuple[type[Event], ...] = ()
    writes: tuple[type[Entity], ...] = ()
    project: Callable[[Any], Sequence[Action]] = no_actions
    remember_days: int = REMEMBER_DAYS
    records: tuple[type[Entity], ...] = ()

    @property
    def remember_seconds(self) -> int:
        """How long the markers of events and remnants of records are kept."""
        return self.remember_days * 86_400


def event_types(kind: type[Event]) -> tuple[str, ...]:
    """The values that an event's `type` may have; none if it does not declare them."""
    annotation = kind.model_fields["type"].annotation
    return getattr(annotation, "__args__", ()) if getattr(annotation, "__origin__", None) is Literal else ()


def sums_in(properties: Iterable[Property], identity: tuple[str, ...]) -> tuple[str, ...]:
    """The stored names of an entity's numbers that a read model of records may sum: whole or decimal ones outside the
    key, whose default is 0."""
    return tuple(
        each.stored
        for each in properties
        if each.is_number
        and (each.is_integer or each.holds_decimals)
        and each.role is None
        and each.claim is None
        and each.name not in identity
        and each.stored not in identity
        and each.has_default
        and each.default.is_constant
        and each.default.form() == 0
    )
