"""Validators need not be idempotent: they run once on what is given, and never on what is stored."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, field_validator, model_validator

from shardweave.cli.json_lines import parse_object
from shardweave.cli.records import whole_record
from shardweave.errors import RecordUnreadable, ValidationFailed
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import Private, unique_property
from shardweave.schema.read_models import Event, ReadModel, Set, Update
from shardweave.schema.schema import Schema
from shardweave.store import Create, Put, Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import CURSOR_KEYS, Client, api_of, json_of
from tests.unit.store_world import World

SALTS = itertools.count()


class Ticket(Entity, token="ticket"):
    """Every kind of validator that changes what it is given, each time it runs."""

    ticket_id: str = unique_property(default_factory=nanoid)
    code: str = "none"
    secret: str | None = None
    marked: Annotated[str, AfterValidator(lambda text: "M-" + text)] = "none"
    listed: list[Annotated[str, AfterValidator(lambda text: "L-" + text)]] = Field(default_factory=list)
    begun: Annotated[str, BeforeValidator(lambda text: "B-" + text)] = "none"
    low: int = Field(0, ge=0)
    high: int = 9
    label: str = ""
    note: str = ""
    _asked: int = PrivateAttr(default=7)

    @field_validator("code")
    @classmethod
    def prefixed(cls, code: str) -> str:
        return "X-" + code

    @field_validator("secret", mode="before")
    @classmethod
    def hashed(cls, secret: Any) -> Any:
        return None if secret is None else f"hash {next(SALTS)} of {secret}"

    @model_validator(mode="after")
    def in_order(self) -> Ticket:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"label": f"{values.get('note', '')}!"}


class Told(Event):
    """What is said of a ticket."""

    type: Literal["told"]
    ticket_id: str
    code: str | None = None
    whole: bool = False


def project(event: Told) -> list[Set | Update]:
    if event.whole:
        return [Set(Ticket(ticket_id=event.ticket_id, code=event.code or ""))]
    return [
        Update(
            Ticket,
            event.ticket_id,
            {"note": "told"} if event.code is None else {"code": event.code, "marked": event.code},
        )
    ]


SCHEMA = Schema([Ticket], read_models=[ReadModel("told", (Told,), (Ticket,), project)])
GIVEN: dict[str, Any] = {"ticket_id": "t", "code": "1", "secret": "s", "marked": "m", "listed": ["l"]}
STORED_NAMES = {"ticketId": "t", "code": "1", "secret": "s", "marked": "m", "listed": ["l"]}


def batched(store: Store, put: Entity | Put) -> Any:
    (outcome,) = store.batch_write([put]).puts
    assert outcome.error is None
    return outcome.record


def line() -> dict[str, Any]:
    return whole_record(SCHEMA[Ticket], parse_object(json.dumps(STORED_NAMES)))


WAYS: dict[str, Callable[[Store], Any]] = {
    "create": lambda store: store.create(GIVEN, Ticket),
    "create a record": lambda store: store.create(Ticket(**GIVEN)),
    "put": lambda store: store.put(GIVEN, Ticket),
    "put a record": lambda store: store.put(Ticket(**GIVEN)),
    "update": lambda store: (store.create({"ticket_id": "t"}, Ticket), store.update(Ticket, "t", _others()))[1],
    "transact": lambda store: store.transact([Create(Ticket(**GIVEN))])[0],
    "batch": lambda store: batched(store, Put(GIVEN, Ticket)),
    "batch a record": lambda store: batched(store, Ticket(**GIVEN)),
    "line": lambda store: batched(store, Put(line(), Ticket)),
}


def _others() -> dict[str, Any]:
    return {name: value for name, value in GIVEN.items() if name != "ticket_id"}


def changed(ticket: Any) -> tuple[Any, ...]:
    return (ticket.code, ticket.secret.split(" of ")[1], ticket.marked, ticket.listed)


@pytest.mark.parametrize("way", WAYS)
def test_they_run_once_and_what_is_read_is_what_was_made(way: str) -> None:
    world = World(schema=SCHEMA)
    made = WAYS[way](world.store)
    assert changed(made) == ("X-1", "s", "M-m", ["L-l"])
    for number in range(3):
        answered = world.store.update(Ticket, "t", {"note": str(number)})
        read = world.store.get(Ticket, "t")
        assert read is not None
        assert changed(answered) == changed(read) == changed(made)
        assert answered.secret == read.secret == made.secret
        assert read.label == f"{number}!", "what is derived from what was changed is changed"
        assert read._asked == 7
        assert type(read) is type(answered) is Ticket
    runner = QueryRunner(SCHEMA, world.inner, CURSOR_KEYS, clock=world.clock)
    (found,) = runner.records(QuerySpec("ticket"))
    assert found == world.store.get(Ticket, "t")


def test_one_runs_where_its_property_is_given() -> None:
    world = World(schema=SCHEMA)
    made = world.store.create(GIVEN, Ticket)
    answered = world.store.update(Ticket, "t", {"code": "2"})
    assert (answered.code, answered.secret, answered.marked) == ("X-2", made.secret, "M-m")
    assert world.store.update(Ticket, "t", {"code": "X-2"}).code == "X-X-2", (
        "given once more, it is validated once more"
    )
    assert world.store.update(Ticket, "t", lambda ticket: {"marked": ticket.code}).marked == "M-X-X-2"


def test_those_of_the_whole_record_run_at_every_write() -> None:
    world = World(schema=SCHEMA)
    world.store.create(GIVEN, Ticket)
    assert world.store.update(Ticket, "t", {"low": 5}).low == 5
    for changes in ({"high": 4}, {"low": 10}, {"low": -1}):
        with pytest.raises(ValidationFailed):
            world.store.update(Ticket, "t", changes)
    assert world.store.update(Ticket, "t", {"low": 10, "high": 11}).low == 10


def test_an_event_leaves_what_it_does_not_speak_of() -> None:
    world = World(schema=SCHEMA)
    world.store.apply("told", Told(type="told", event_id="1", position=1, ticket_id="t", code="1", whole=True))
    made = world.store.get(Ticket, "t")
    world.store.apply("told", Told(type="told", event_id="2", position=2, ticket_id="t"))
    world.store.apply("told", Told(type="told", event_id="3", position=3, ticket_id="t"))
    read = world.store.get(Ticket, "t")
    assert made is not None
    assert read is not None
    assert (made.code, read.code, read.note) == ("X-1", "X-1", "told")
    world.store.apply("told", Told(type="told", event_id="4", position=4, ticket_id="t", code="2"))
    world.store.apply("told", Told(type="told", event_id="5", position=5, ticket_id="t"))
    read = world.store.get(Ticket, "t")
    assert read is not None
    assert (read.code, read.marked) == ("X-2", "M-2")


def test_over_http_they_run_once_too() -> None:
    client = Client(api_of(SCHEMA))
    made = json_of(client.post("/v1/tickets", STORED_NAMES))
    assert (made["code"], made["marked"], made["listed"]) == ("X-1", "M-m", ["L-l"])
    for number in range(2):
        assert client.patch("/v1/tickets/t", {"note": str(number)}).status == 200
    read = json_of(client.get("/v1/tickets/t"))
    assert {name: read[name] for name in ("code", "secret", "marked", "listed")} == {
        name: made[name] for name in ("code", "secret", "marked", "listed")
    }
    (part,) = json_of(client.get("/v1/tickets?properties=marked,listed"))["items"]
    assert part == {"marked": "M-m", "listed": ["L-l"]}
    assert json_of(client.patch("/v1/tickets/t", {"marked": "n"}))["marked"] == "M-n"


class Locker(Entity, token="locker"):
    """Has what callers over HTTP don't see, and so can't say."""

    locker_id: str = unique_property()
    pin: Annotated[str, Private()] = "0"
    log: Annotated[dict[str, Any], Private()] = Field(default_factory=dict)
    owner: str = ""

    @field_validator("pin")
    @classmethod
    def hashed(cls, pin: str) -> str:
        return f"hash of {pin}"


def test_what_a_put_over_http_keeps_is_kept_as_it_is_stored() -> None:
    schema = Schema([Locker])
    table = EmbeddedTable(schema.layout)
    store, client = Store(schema, table), Client(api_of(schema, table=table))
    store.create(Locker(locker_id="l", pin="1", log={"weight": 0.5}))
    for owner in ("Ann", "Bea"):
        read = json_of(client.get("/v1/lockers/l"))
        assert client.put("/v1/lockers/l", {**read, "owner": owner}).status == 200
        locker = store.get(Locker, "l")
        assert locker is not None
        assert (locker.pin, locker.log, locker.owner) == ("hash of 1", {"weight": 0.5}, owner)


class Colour(Entity, token="colour"):
    """Took other values once."""

    colour_id: str = unique_property()
    shade: Literal["dark", "light"]
    depth: int = Field(0, ge=0)

    @field_validator("shade", mode="before")
    @classmethod
    def renamed(cls, shade: Any) -> Any:
        return {"black": "dark"}.get(shade, shade)


def test_what_does_not_fit_its_type_any_more_is_read_with_them_or_is_an_error() -> None:
    world = World(schema=Schema([Colour]))
    world.store.create(Colour(colour_id="c", shade="dark"))
    world.written_behind(Colour, shade="black")
    assert world.store.get(Colour, "c").shade == "dark"  # type: ignore[union-attr]
    assert world.store.update(Colour, "c", {"depth": 1}).shade == "dark"
    assert world.stored(Colour)["shade"] == "dark"
    for wrong in ({"shade": "red"}, {"depth": -1}, {"depth": "deep"}, {"shade": 5}):
        world.written_behind(Colour, **{"shade": "dark", "depth": 1, **wrong})
        with pytest.raises(RecordUnreadable):
            world.store.get(Colour, "c")
        other = "shade" if "depth" in wrong else "depth"
        with pytest.raises(RecordUnreadable):
            world.store.update(Colour, "c", {other: {"shade": "light", "depth": 2}[other]})
        assert world.store.update(Colour, "c", {name: {"shade": "light", "depth": 2}[name] for name in wrong}).rev
