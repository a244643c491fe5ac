"""What a program gives to the public constructors has the kind that they ask for, or is refused by an error of the
library: never by one of Python's from inside it, and never taken for something else."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

import shardweave
from shardweave import (
    ORDERED,
    Add,
    Allow,
    AsyncDatabase,
    CanonicalBegin,
    Check,
    Collection,
    Create,
    CursorKeys,
    Database,
    DecimalCodec,
    Delete,
    Entity,
    Event,
    GraphQL,
    HashKey,
    IdempotencyKey,
    Index,
    KeyFormat,
    Lookup,
    OrderedLookup,
    Put,
    RangeKey,
    ReadModel,
    Schema,
    Sequence,
    Shadow,
    ShardBump,
    Timestamp,
    Unique,
    Update,
    belongs_to,
    claim_property,
    has_many,
    nanoid,
    timestamp_property,
    unique_property,
    updated_property,
)
from shardweave.errors import InputError, ShardweaveError
from shardweave.routing import Claim, JsonModel, get, listed, post
from shardweave.testing import Client, Clock


class Thing(Entity, token="thing"):
    thing_id: str = unique_property()
    name: str
    n: int = 0

    h = HashKey("name")
    r = RangeKey("n")


class Tool(Entity, token="tool"):
    tool_id: str = unique_property()
    name: str
    n: int = 0

    h = HashKey("name")
    r = RangeKey("n")


class Happened(Event):
    type: Literal["Happened"] = "Happened"
    thing_id: str


class Told(JsonModel):
    a: int = 1


INDEX = Index("byName", "h", "r")


def things() -> Schema:
    return Schema([Thing], [INDEX])


def declared(indexes: Any = (), annotations: Mapping[str, Any] | None = None, /, **members: Any) -> Schema:
    """A schema of an entity with these members."""
    kinds = {"q_id": str, "name": str, "num": int, "thing_id": str, **(annotations or {})}
    body = {"__annotations__": kinds, "__module__": __name__, "q_id": unique_property(default_factory=nanoid)}
    return Schema([Thing, type(Entity)("Q", (Entity,), {**body, **members}, token="q")], indexes)


def optioned(**options: Any) -> Schema:
    """A schema of an entity with these options."""
    body = {"__annotations__": {"q_id": str}, "__module__": __name__, "q_id": unique_property()}
    return Schema([type(Entity)("Q", (Entity,), body, token="q", **options)])


def written(operation: Any) -> None:
    with Database(things()) as db:
        db.put(Thing(thing_id="t", name="a"))
        db.transact([operation])


def opened(database: Any) -> None:
    with database as db:
        db.create(Thing(thing_id="t", name="a"))
        assert len(db.query(Thing, name="a").items) == 1


def routed(route: Any) -> None:
    service = types.ModuleType("service")
    service.schema = lambda key_format=ORDERED: things()  # type: ignore[attr-defined]
    service.route = route  # type: ignore[attr-defined]
    assert Client(service).get("/v1/nowhere").status == 404


def told() -> Told:
    return Told()


def claiming(claim: Any) -> None:
    def told_by(c: str) -> Told:
        return Told(a=len(c))

    told_by.__annotations__ = {"c": Annotated[str, claim], "return": Told}
    routed(get("/v1/told")(told_by))


@dataclass(frozen=True)
class Call:
    """A call with arguments that are right, what is done with its result, and more that is right."""

    make: Callable[..., Any]
    right: Mapping[str, Any]
    use: Callable[[Any], object] = lambda made: None
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


WRONG: Mapping[str, Any] = {
    "none": None,
    "a number": 3,
    "a negative number": -1,
    "a fraction": 1.5,
    "a bool": True,
    "a text": "x",
    "bytes": b"x",
    "an empty list": [],
    "a list": [3],
    "an empty mapping": {},
    "a mapping": {"a": 1},
    "an object": object(),
    "a class": Thing,
    "a tuple": ("a",),
    "a set": {3},
    "a function": lambda *given: 3,
}
NONE, NAMES, EMPTY = ("none",), ("none", "a text"), ("an empty list", "an empty mapping")
FUNCTION = ("a class", "a function")

CALLS: dict[str, Call] = {
    "Add": Call(
        Add,
        {"model": Thing, "key": "t", "amounts": {"n": 1}, "rev": None, "upsert": False},
        written,
        {
            "model": ("a class",),
            "amounts": ("an empty mapping",),
            "rev": NONE,
            "upsert": ("a bool", "an empty mapping", "a mapping"),
        },
    ),
    "Allow": Call(
        lambda **given: Allow("get", **given),
        {"groups": (), "owner": None},
        lambda made: optioned(access=[made]),
        {"groups": ("a text", "an empty list", "a tuple"), "owner": NONE},
    ),
    "CanonicalBegin": Call(
        CanonicalBegin,
        {"canonical": str.lower},
        lambda made: declared((), {"name": Annotated[str, made]}),
        {"canonical": FUNCTION},
    ),
    "Check": Call(
        Check,
        {"model": Thing, "key": "t", "rev": None, "exists": True},
        written,
        {"model": ("a class",), "rev": NONE, "exists": ("a bool",)},
    ),
    "Collection": Call(
        Collection,
        {"name": "c", "entities": [Thing, Tool], "index": "byName"},
        lambda made: Schema([Thing, Tool], [INDEX], collections=[made]),
        {"name": ("a text",), "entities": EMPTY},
    ),
    "Create": Call(
        Create,
        {"record": Thing(thing_id="u", name="a"), "model": None},
        written,
        {"model": ("none", "a text", "a class")},
    ),
    "CursorKeys": Call(CursorKeys, {"current": "a", "secrets": {"a": b"x" * 32}}),
    "DecimalCodec": Call(DecimalCodec, {"places": 3}, lambda made: None, {"places": ("a number",)}),
    "Delete": Call(
        Delete,
        {"model": Thing, "key": "t", "rev": None, "returning": False},
        written,
        {"model": ("a class",), "rev": NONE, "returning": ("a bool",)},
    ),
    "GraphQL": Call(
        GraphQL,
        {
            "name_prefix": "",
            "capitalised": False,
            "introspection": None,
            "max_depth": 3,
            "max_fields": 3,
            "max_cost": 3,
        },
        lambda made: None,
        {
            "name_prefix": ("a text",),
            "capitalised": ("a bool",),
            "introspection": ("none", "a bool"),
            "max_depth": ("a number",),
            "max_fields": ("a number",),
            "max_cost": ("a number",),
        },
    ),
    "HashKey": Call(lambda element: HashKey(element), {"element": "name"}, lambda made: declared(key=made)),
    "IdempotencyKey": Call(
        IdempotencyKey,
        {"key": "k", "scope": "s", "fingerprint": b"f", "seconds": 60},
        lambda made: None,
        {"key": ("a text",), "scope": ("a text",), "fingerprint": ("bytes",), "seconds": ("a number",)},
    ),
    "Index": Call(
        Index,
        {
            "name": "byName",
            "hash_key": "k",
            "range_key": "o",
            "entities": None,
            "projection": "ALL",
            "exposed": True,
            "groups": (),
            "owner": None,
            "descending": False,
        },
        lambda made: declared([made], k=HashKey("name"), o=RangeKey("num")),
        {
            "entities": NONE,
            "projection": ("an empty list",),
            "exposed": ("a bool",),
            "groups": ("a tuple",),
            "owner": NONE,
            "descending": ("a bool",),
        },
    ),
    "KeyFormat": Call(
        KeyFormat,
        {
            "name": "f",
            "shard_delimiter": "!",
            "value_delimiter": "#",
            "element_delimiter": " |",
            "ordered": True,
            "raw_timestamps": False,
            "raw_values": False,
            "missing_as_empty": False,
            "hash": lambda text: 3,
        },
        lambda made: Schema([Thing], [INDEX], key_format=made),
        {
            "name": ("a text",),
            "hash": FUNCTION,
            **dict.fromkeys(("ordered", "raw_timestamps", "raw_values", "missing_as_empty"), ("a bool",)),
        },
    ),
    "Lookup": Call(
        Lookup,
        {"property": "name", "within": (), "canonical": None, "name": None},
        lambda made: declared(looked=made),
        {"within": ("an empty list",), "canonical": ("none", *FUNCTION), "name": NAMES},
    ),
    "OrderedLookup": Call(
        OrderedLookup,
        {"property": "name", "within": (), "then": (), "name": None},
        lambda made: declared(looked=made),
        {"within": ("an empty list",), "then": ("an empty list",), "name": NAMES},
    ),
    "Put": Call(
        Put,
        {"record": Thing(thing_id="t", name="b"), "model": None, "rev": None, "exists": False, "returning": False},
        written,
        {"model": ("none", "a text", "a class"), "rev": NONE, "exists": ("a bool",), "returning": ("a bool",)},
    ),
    "RangeKey": Call(
        lambda element, stored: RangeKey(element, stored=stored),
        {"element": "name", "stored": None},
        lambda made: declared(key=made),
        {"stored": NAMES},
    ),
    "ReadModel": Call(
        ReadModel,
        {
            "name": "m",
            "events": (Happened,),
            "writes": (Thing,),
            "project": lambda event: [],
            "remember_days": 14,
            "records": (),
        },
        lambda made: Schema([Thing], read_models=[made]),
        {
            "name": ("a text",),
            "project": FUNCTION,
            "remember_days": ("a number",),
            "records": EMPTY,
        },
    ),
    "Schema": Call(
        Schema,
        {
            "entities": [Thing],
            "indexes": (),
            "hash_key": "hashKey",
            "range_key": "rangeKey",
            "read_models": (),
            "collections": (),
            "key_format": ORDERED,
        },
        lambda made: None,
        {
            "hash_key": ("a text",),
            "range_key": ("a text",),
            **dict.fromkeys(("indexes", "read_models", "collections"), EMPTY),
        },
    ),
    "Sequence": Call(
        Sequence,
        {"property": "num", "within": "name"},
        lambda made: declared(numbered=made),
        {"within": ("an empty list",)},
    ),
    "Shadow": Call(
        Shadow,
        {"database": Database(things()), "share": 0.5, "entities": None, "observe": None, "drawn": None},
        lambda made: made.close(),
        {
            "entities": ("none", *EMPTY),
            "observe": ("none", *FUNCTION),
            "drawn": ("none", *FUNCTION),
        },
    ),
    "ShardBump": Call(
        ShardBump,
        {"timestamp": 0, "char_bits": 1, "chars": 1},
        lambda made: optioned(shard_bumps=[made]),
        {"char_bits": ("a number",), "chars": ("a number",)},
    ),
    "Unique": Call(
        Unique,
        {"property": "name", "within": (), "canonical": None, "name": None},
        lambda made: declared(looked=made),
        {"within": ("an empty list",), "canonical": ("none", *FUNCTION), "name": NAMES},
    ),
    "Update": Call(
        Update,
        {"model": Thing, "key": "t", "changes": {"name": "c"}, "rev": None, "upsert": False},
        written,
        {
            "model": ("a class",),
            "changes": ("an empty mapping",),
            "rev": NONE,
            "upsert": ("a bool", "an empty mapping", "a mapping"),
        },
    ),
    "belongs_to": Call(
        belongs_to,
        {"target": Thing, "by": "thing_id", "on": None, "index": None, "enforced": False, "on_delete": "restrict"},
        lambda made: declared(thing=made),
        {"target": ("a class",), "on": NONE, "index": NONE, "enforced": ("a bool",)},
    ),
    "claim_property": Call(
        claim_property,
        {"claim": "tenant", "unique": False},
        lambda made: declared(name=made),
        {"claim": ("a text",)},
    ),
    "has_many": Call(
        has_many,
        {"target": Thing, "by": "names", "via": None},
        lambda made: declared((), {"names": list[str]}, things=made),
        {"target": ("a class",), "via": NONE},
    ),
    "timestamp_property": Call(
        timestamp_property, {"unit": "ms"}, lambda made: declared((), {"made": Timestamp}, made=made)
    ),
    "updated_property": Call(
        updated_property, {"unit": "ms"}, lambda made: declared((), {"made": Timestamp}, made=made)
    ),
    "routing.Claim": Call(Claim, {"name": "tenant"}, claiming, {"name": ("a text",)}),
    "routing.get": Call(
        lambda **given: get(**given)(told),
        {"path": "/v1/told", "tag": "", "errors": ()},
        routed,
        {"tag": ("a text",), "errors": ("an empty list",)},
    ),
    "routing.listed": Call(
        lambda **given: listed(Thing, name="a", **given),
        {"index": None, "branches": None, "reverse": False},
        lambda made: None,
        {"index": NAMES, "branches": ("none", "an empty list"), "reverse": ("a bool",)},
    ),
    "routing.post": Call(
        lambda **given: post(**given)(told),
        {"path": "/v1/told", "status": None, "tag": "", "errors": (), "idempotency_key": True},
        routed,
        {"status": NONE, "tag": ("a text",), "errors": ("an empty list",), "idempotency_key": ("a bool",)},
    ),
    "testing.Clock": Call(Clock, {"begin": 0}, lambda made: None, {"begin": ("a number", "a negative number")}),
}

_OPEN = {
    **dict.fromkeys(("name", "table_name", "region", "endpoint_url", "client", "transport"), None),
    **dict.fromkeys(("observe", "cursor_keys", "waiting", "rekey", "shadow"), None),
}
_OPEN_ALSO = {**dict.fromkeys(_OPEN, NONE), "rekey": ("none", "an empty mapping"), "throttle": ("a number",)}
CALLS["Database"] = Call(
    Database,
    {**_OPEN, "schema": things(), "clock": lambda: 10**12, "throttle": 3},
    opened,
    {**_OPEN_ALSO, "clock": ("a function", "a class")},
)
CALLS["AsyncDatabase"] = Call(
    AsyncDatabase,
    {**_OPEN, "schema": things(), "clock": lambda: 10**12, "throttle": 3, "threads": 3},
    lambda made: None,
    {**_OPEN_ALSO, "clock": ("a function", "a class"), "threads": ("a number",)},
)

_OTHERWISE = """
    Apply DeleteRecord Entity Event Page Reset SemanticVersion SetRecord Timestamp TimestampSeconds UpdateRecord
    between branch desc nanoid one_of prefix private_property ttl_property unique_property where
"""
OTHERWISE = set(_OTHERWISE.split())
"""Names whose arguments are models of pydantic's, answers, or parts of questions, which the tests of queries, records
and read models give wrong kinds."""


def test_every_public_constructor_is_among_them() -> None:
    public = {name for name in shardweave.__all__ if callable(getattr(shardweave, name))}
    assert public == {name for name in CALLS if "." not in name} | OTHERWISE


@pytest.mark.parametrize("name", CALLS)
def test_what_is_right_is_taken(name: str) -> None:
    call = CALLS[name]
    call.use(call.make(**call.right))


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, parameter) for name, call in CALLS.items() for parameter in call.right]
)
def test_what_is_of_a_wrong_kind_is_refused_by_an_error_of_the_library(name: str, parameter: str) -> None:
    call = CALLS[name]
    wrong = {kind: value for kind, value in WRONG.items() if kind not in call.also.get(parameter, ())}
    assert wrong
    taken = []
    for kind, value in wrong.items():
        try:
            call.use(call.make(**{**call.right, parameter: value}))
        except ShardweaveError:
            continue
        taken.append(kind)
    assert taken == []


@pytest.mark.parametrize("run", [kind for kind in WRONG if kind != "a bool"])
def test_whether_an_explanation_is_to_have_its_cost_is_true_or_false(run: str) -> None:
    with Database(things()) as db, pytest.raises(InputError, match="run: must be true or false"):
        db.explain(Thing, name="a", run=WRONG[run])
