"""A record that is read over HTTP and put back as it was read is unchanged, whatever of it its reader does not see.

Entities are made at random: properties of many types, each shown, private, left out of JSON by pydantic, or read-only;
with and without tenants, owners, a number, a unique value, an external key. Their records are written in Python, read
and put back by every caller who may, and compared with what was stored.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from types import new_class
from typing import Any

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from shardweave.access import Allow, claim_property, private_property
from shardweave.schema.declarations import Sequence, Unique, belongs_to
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.values.codecs import Timestamp
from tests.unit.access_world import Person, person
from tests.unit.api_world import EXTERNAL_KEYS, NOW, Clock, api_of, json_of, problem_of
from tests.unit.openapi_answers import undescribed

CASES = 100
DESCRIBED_EVERY = 10
"""Making an OpenAPI document takes longer than the rest of a case."""
VISIBILITIES = ("shown", "private", "excluded", "readOnly")
WAYS = ("put", "put if it is this revision", "put the expanded", "batch-write")


class Size(TypedDict):
    """A value that may be there without a number."""

    width: int | None


OPEN = {"bytes": b"x", "set": {"x", "y"}, "in": [{"digits": Decimal("0.1234567890123456789"), "sets": [{b"y"}]}]}
"""A value without a declared type, of what JSON has no form for."""

TYPES: dict[str, tuple[Any, dict[str, Any], list[Any]]] = {
    "text": (str, {}, ["a", "b"]),
    "textByDefault": (str, {"default": "d"}, ["d", "e"]),
    "numberOrNone": (int | None, {"default": None}, [None, 0, 7]),
    "numberOrNoneByDefault": (int | None, {"default": 5}, [None, 5, 7]),
    "decimal": (Decimal | None, {"default": None}, [None, Decimal("1.10"), Decimal("12345678901234567890.5")]),
    "flag": (bool, {"default": True}, [True, False]),
    "set": (set[str], {"default_factory": set}, [set(), {"x", "y"}]),
    "list": (list[int], {"default_factory": lambda: [1]}, [[], [1], [2, 3]]),
    "open": (dict[str, Any], {"default_factory": dict}, [{}, {"a": None, "b": [1, "x"]}, OPEN]),
    "size": (Size | None, {"default": None}, [None, {"width": None}, {"width": 3}]),
}
"""Of each type how it is declared, and values."""


def field_of(visibility: str, options: Mapping[str, Any]) -> Any:
    match visibility:
        case "private":
            return private_property(**options)
        case "excluded":
            return Field(exclude=True, **options)
        case "readOnly":
            return Field(json_schema_extra={"readOnly": True}, **options)
    return Field(**options)


def properties_of(record: Entity | None) -> dict[str, Any]:
    """What a record says, also what pydantic leaves out of its dumps."""
    assert record is not None
    return {name: getattr(record, name) for name in type(record).model_fields}


class World:
    """A random entity with a record of its own, and those who may read it and put it."""

    def __init__(self, seed: int) -> None:
        chooser = self.chooser = random.Random(seed)
        self.is_described = seed % DESCRIBED_EVERY == 0
        self.clock = Clock()
        self.seen: Counter[str] = Counter()
        self.limits = chooser.choice(["nobody", "tenant", "owner", "read-only owner", "one of two owners"])
        self.values: dict[str, Any] = {"thing_id": "t", "created": NOW - 1}
        self.model = self._model()
        self.schema = Schema([self.model])
        self.table = EmbeddedTable(self.schema.layout)
        self.store = Store(self.schema, self.table, clock=self.clock)
        self.store.put(self.model(**self.values))

    def _model(self) -> type[Entity]:
        chooser = self.chooser
        annotations: dict[str, Any] = {"thing_id": str, "created": Timestamp, "updated": Timestamp, "buddy_id": str}
        body: dict[str, Any] = {
            "thing_id": unique_property(default_factory=nanoid),
            "created": timestamp_property(),
            "updated": updated_property(),
            "buddy_id": "t",
            "buddy": belongs_to("thing", by="buddy_id"),
        }
        options: dict[str, Any] = {}
        if chooser.random() < 0.3:
            options["origin"] = "T"
        if chooser.random() < 0.3:
            annotations |= {"num": int}
            body |= {"num": 0, "numbers": Sequence("num", within=())}
        if self.limits == "tenant":
            annotations["tenant_id"] = str
            body["tenant_id"] = claim_property("tenant")
            self.values["tenant_id"] = "acme"
            body.pop("numbers", None)
        elif self.limits != "nobody":
            options["access"] = self._owners(annotations, body)
        elif chooser.random() < 0.5:
            annotations["badge"] = str | None
            body |= {"badge": private_property(default=None), "badges": Unique("badge")}
            self.values["badge"] = "b"
        for name, (annotation, declared, values) in TYPES.items():
            visibility = chooser.choice(VISIBILITIES)
            if chooser.random() < 0.6:
                python_name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
                annotations[python_name], body[python_name] = annotation, field_of(visibility, declared)
                self.values[python_name] = chooser.choice(values)
                self.seen[f"{name}, {visibility}"] += 1
        body["__annotations__"] = annotations
        return new_class("Thing", (Entity,), {"token": "thing", **options}, lambda space: space.update(body))

    def _owners(self, annotations: dict[str, Any], body: dict[str, Any]) -> list[Allow]:
        annotations["user_id"] = str | None
        body["user_id"] = field_of("shown" if self.limits == "owner" else "readOnly", {"default": None})
        self.values["user_id"] = "ann"
        rules = [Allow("*", owner="user_id"), Allow("*", groups="admin")]
        if self.limits == "one of two owners":
            annotations["maker"] = str | None
            body["maker"] = None
            self.values["maker"] = "mel"
            rules.append(Allow("*", owner="maker"))
        return rules

    def callers(self) -> list[Person]:
        api = api_of(self.schema, self.clock, table=self.table)
        if not self.is_described:
            undescribed(api)
        if self.limits == "tenant":
            return [person(api, tenant="acme")]
        people = [person(api), person(api, "root", "admin")]
        return [*people, person(api, "mel")] if self.limits == "one of two owners" else people

    def stored(self) -> dict[str, Any]:
        """The record as it is stored, but for what every write sets."""
        return properties_of(self.store.get(self.model, "t")) | {"updated": None}

    def key(self) -> str:
        """How the record is named in a path."""
        record = self.store.get(self.model, "t")
        assert record is not None
        return "t" if self.model.declaration.origin is None else EXTERNAL_KEYS.encode(record.key)

    def put_back(self, caller: Person, way: str) -> None:
        target = f"/v1/things/{self.key()}"
        answer = caller.get(f"{target}?expand=buddy" if way == "put the expanded" else target)
        assert answer.status == 200, answer.body
        read = json_of(answer)
        if way == "batch-write":
            written = json_of(caller.post("/v1/things/batch-write", {"puts": [read]}))
            assert written["complete"], written
            again = written["puts"][0]["item"]
        else:
            headers = {"if_match": answer.headers["etag"]} if "revision" in way else {}
            put = caller.ask("PUT", target, read, **headers)
            assert put.status == 200, put.body
            assert put.headers["etag"] != answer.headers.get("etag"), "every write makes another revision"
            again = json_of(put)
        assert again == {name: each for name, each in read.items() if name != "expanded"} | {"updated": self.clock.now}


def test_what_was_read_and_is_put_back_is_as_it_was() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        world = World(seed)
        before = world.stored()
        for caller in world.callers():
            for way in WAYS:
                world.clock.now += 1
                try:
                    world.put_back(caller, way)
                    assert world.stored() == before
                except Exception as error:
                    error.add_note(f"case {seed}, {world.limits}, {way}, {world.values}")
                    raise
                met[way] += 1
        met += world.seen
        met[world.limits] += 1
    shapes = [f"{name}, {visibility}" for name in TYPES for visibility in VISIBILITIES]
    limits = ["nobody", "tenant", "owner", "read-only owner", "one of two owners"]
    assert min(met[shape] for shape in (*WAYS, *shapes, *limits)) >= 4, met


class Colleague(Entity, token="colleague"):
    """Somebody whose pay is nobody's business, and must be known."""

    colleague_id: str = unique_property()
    name: str = ""
    pay: int = private_property()
    bonus: int | None = private_property(default=None)


@pytest.fixture
def world() -> tuple[Store, Person]:
    schema = Schema([Colleague])
    table = EmbeddedTable(schema.layout)
    store = Store(schema, table)
    store.put(Colleague(colleague_id="ann", pay=5, bonus=3))
    return store, person(api_of(schema, table=table))


def test_a_private_value_that_is_given_is_written_and_null_removes_it(world: tuple[Store, Person]) -> None:
    store, caller = world
    caller.ask("PUT", "/v1/colleagues/ann", {"name": "Ann", "pay": 6})
    assert properties_of(store.get(Colleague, "ann")) == properties_of(
        Colleague(colleague_id="ann", name="Ann", pay=6, bonus=3)
    )
    caller.ask("PUT", "/v1/colleagues/ann", {"bonus": None})
    assert properties_of(store.get(Colleague, "ann")) == properties_of(Colleague(colleague_id="ann", pay=6)), (
        "what is shown and left out is removed"
    )


def test_a_record_is_made_only_with_what_must_be_there(world: tuple[Store, Person]) -> None:
    store, caller = world
    for answer in (
        caller.ask("PUT", "/v1/colleagues/bob", {"name": "Bob"}),
        caller.ask("PUT", "/v1/colleagues/bob", {"name": "Bob"}, if_none_match="*"),
        caller.post("/v1/colleagues", {"colleagueId": "bob", "name": "Bob"}),
    ):
        found = problem_of(answer, 400, "validation_failed")
        assert [fault["where"] for fault in found["errors"]] == ["pay"]
    (failed,) = json_of(caller.post("/v1/colleagues/batch-write", {"puts": [{"colleagueId": "bob"}]}))["puts"]
    assert (failed["status"], failed["problem"]["type"]) == ("failed", "urn:shardweave:error:validation_failed")
    assert store.get(Colleague, "bob") is None


def test_a_whole_record_that_python_puts_replaces_what_is_there(world: tuple[Store, Person]) -> None:
    store, _ = world
    store.put(Colleague(colleague_id="ann", pay=1))
    assert properties_of(store.get(Colleague, "ann")) == properties_of(Colleague(colleague_id="ann", pay=1))


def test_who_owns_one_record_can_not_put_it_into_anothers_hands() -> None:
    class Note(Entity, token="note", access=[Allow("*", owner="user_id"), Allow("*", owner="maker")]):
        note_id: str = unique_property()
        maker: str | None = None
        user_id: str | None = Field(None, json_schema_extra={"readOnly": True})

    schema = Schema([Note])
    table = EmbeddedTable(schema.layout)
    store = Store(schema, table)
    store.put(Note(note_id="n", maker="ann", user_id="bob"))
    ann = person(api_of(schema, table=table), "ann")
    problem_of(ann.ask("PUT", "/v1/notes/n", {"maker": "eve"}), 403, "forbidden")
    problem_of(ann.ask("PUT", "/v1/notes/new", {"maker": "eve"}), 403, "forbidden")
    assert properties_of(store.get(Note, "n")) == properties_of(Note(note_id="n", maker="ann", user_id="bob"))
    assert store.get(Note, "new") is None
