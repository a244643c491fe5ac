"""Of every type, by every way into the table: what is given is what comes back, equal and of its type. Every property
has a default that is another value, so that nothing comes back right by chance."""

from __future__ import annotations

import datetime as dt
import enum
import itertools
import json
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, JsonValue

from shardweave.cli.json_lines import parse_object
from shardweave.cli.records import whole_record
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Put, Store, Update
from shardweave.table.embedded import EmbeddedTable
from shardweave.values.codecs import SemanticVersion, Timestamp
from shardweave.wire.record_models import RecordModels
from tests.unit.api_world import NOW, Client, Clock, api_of
from tests.unit.values_world import same


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Tone(enum.StrEnum):
    DARK = "dark"
    LIGHT = "light"


class Rank(enum.IntEnum):
    FIRST = 1
    SECOND = 2


class Case(Entity, token="case"):
    """A property of each type."""

    case_id: str = unique_property()
    text: str | None = "default"
    whole: int | None = -7
    exact: Decimal | None = Decimal("-7.5")
    near: float | None = -7.5
    flag: bool | None = None
    instant: dt.datetime | None = dt.datetime(1999, 1, 1, tzinfo=dt.UTC)
    day: dt.date | None = dt.date(1999, 1, 1)
    hour: dt.time | None = dt.time(23, 59)
    span: dt.timedelta | None = dt.timedelta(days=99)
    uid: uuid.UUID | None = uuid.UUID(int=7)
    level: Level | None = Level.HIGH
    tone: Tone | None = Tone.LIGHT
    rank: Rank | None = Rank.SECOND
    kind: Literal["a", "b", None] = "b"
    raw: bytes | None = b"default"
    stamp: Timestamp | None = NOW
    version: SemanticVersion | None = "9.9.9"
    either: int | str | None = "default"
    tags: set[str] | None = Field(default_factory=lambda: {"default"})
    numbers: frozenset[Decimal] = Field(default_factory=lambda: frozenset({Decimal("-7.5")}))
    many: list[int] | None = Field(default_factory=lambda: [-7])
    pair: tuple[str, int] | None = ("default", -7)
    nested: dict[str, list[Decimal]] = Field(default_factory=lambda: {"default": []})
    days: list[dt.date] = Field(default_factory=lambda: [dt.date(1999, 1, 1)])
    document: dict[str, Any] = Field(default_factory=lambda: {"default": 7.5})
    json_value: JsonValue = "default"


SCHEMA = Schema([Case])
CASES = SCHEMA[Case]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
EXACT = st.decimals(-99, 99, places=3)
NEAR = st.floats(-9, 9).map(lambda number: round(number, 3))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | NEAR | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT.filter(bool), inner, max_size=2),
    max_leaves=4,
)
INSTANTS = st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2100, 1, 1), timezones=st.just(dt.UTC))  # noqa: DTZ001
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.none() | TEXT,
    "whole": st.none() | st.integers(-(2**53) + 1, 2**53 - 1),
    "exact": st.none() | EXACT,
    "near": st.none() | NEAR,
    "flag": st.none() | st.booleans(),
    "instant": st.none() | INSTANTS,
    "day": st.none() | st.dates(),
    "hour": st.none() | st.times(),
    "span": st.none() | st.timedeltas(dt.timedelta(-9), dt.timedelta(9)),
    "uid": st.none() | st.uuids(),
    "level": st.none() | st.sampled_from(Level),
    "tone": st.none() | st.sampled_from(Tone),
    "rank": st.none() | st.sampled_from(Rank),
    "kind": st.sampled_from(["a", "b", None]),
    "raw": st.none() | st.binary(max_size=4),
    "stamp": st.none() | st.integers(NOW, NOW + 9999),
    "version": st.none() | st.just("1.2.0-beta.1"),
    "either": st.none() | st.integers(-9, 9) | TEXT | st.integers(-9, 9).map(str),
    "tags": st.none() | st.sets(TEXT, max_size=2),
    "numbers": st.frozensets(EXACT, max_size=2),
    "many": st.none() | st.lists(st.integers(-9, 9), max_size=2),
    "pair": st.none() | st.tuples(TEXT, st.integers(-9, 9)),
    "nested": st.dictionaries(TEXT.filter(bool), st.lists(EXACT, max_size=2), max_size=2),
    "days": st.lists(st.dates(), max_size=2),
    "document": st.dictionaries(TEXT.filter(bool), JSON, max_size=2),
    "json_value": JSON,
}

CLOCK = Clock()
TABLE = EmbeddedTable(SCHEMA.layout, clock=lambda: CLOCK() / 1000)
STORE = Store(SCHEMA, TABLE, clock=CLOCK)
CLIENT = Client(api_of(SCHEMA, CLOCK, table=TABLE))
MODELS = RecordModels(CASES)
NUMBERS = itertools.count()

Given = dict[str, Any]


def document(key: str, values: Given) -> dict[str, Any]:
    """What is said of the given properties in JSON, null included."""
    whole = json.loads(MODELS.json(Case(case_id=key, **values)))
    names = [CASES.property_of(name).stored for name in values]
    return {"caseId": key, **{name: whole.get(name) for name in names}}


def there(key: str) -> Case:
    return STORE.create(Case(case_id=key))


def sent(method: str, target: str, body: Any, kind: str = "application/json") -> None:
    answer = CLIENT.request(method, target, json.dumps(body).encode(), {"content-type": kind})
    assert answer.status in (200, 201), answer.body


def patched(key: str, values: Given) -> None:
    there(key)
    patch = {name: value for name, value in document(key, values).items() if name != "caseId"}
    sent("PATCH", f"/v1/cases/{key}", patch, "application/merge-patch+json")


def batched(put: Entity | Put) -> None:
    assert STORE.batch_write([put]).complete


def loaded(key: str, values: Given) -> None:
    line = parse_object(json.dumps(document(key, values)))
    batched(Put(whole_record(CASES, line), Case))


WAYS: dict[str, Callable[[str, Given], Any]] = {
    "create": lambda key, values: STORE.create({"case_id": key, **values}, Case),
    "create a record": lambda key, values: STORE.create(Case(case_id=key, **values)),
    "put": lambda key, values: STORE.put({"case_id": key, **values}, Case),
    "copy": lambda key, values: STORE.put(there(key).model_copy(update=values)),
    "update": lambda key, values: (there(key), STORE.update(Case, key, values)),
    "function": lambda key, values: (there(key), STORE.update(Case, key, lambda record: values)),
    "transact": lambda key, values: STORE.transact([Create(Case(case_id=key, **values))]),
    "transact an update": lambda key, values: (there(key), STORE.transact([Update(Case, key, values)])),
    "batch": lambda key, values: batched(Put({"case_id": key, **values}, Case)),
    "line": loaded,
    "POST": lambda key, values: sent("POST", "/v1/cases", document(key, values)),
    "PUT": lambda key, values: sent("PUT", f"/v1/cases/{key}", document(key, values)),
    "PATCH": patched,
    "batch-write": lambda key, values: sent("POST", "/v1/cases/batch-write", {"puts": [document(key, values)]}),
}
MERGED = ("nested", "document", "json_value")
"""A merge patch goes into objects, and takes null for leaving out."""

SEEN: Counter[str] = Counter()


@settings(max_examples=250)
@given(st.data())
def _what_is_given_comes_back(data: st.DataObject) -> None:
    way = data.draw(st.sampled_from(list(WAYS)))
    possible = [name for name in VALUES if way != "PATCH" or name not in MERGED]
    names = data.draw(st.lists(st.sampled_from(possible), min_size=1, max_size=6, unique=True))
    values = {name: data.draw(VALUES[name]) for name in names}
    key = f"c{next(NUMBERS)}"
    WAYS[way](key, values)
    for record in (STORE.get(Case, key), STORE.update(Case, key, {"flag": values.get("flag")})):
        for name, value in values.items():
            loose = name in ("document", "json_value")
            assert same(value, getattr(record, name), whole_floats_are_ints=loose), (way, name)
        for name in VALUES.keys() - values.keys() - {"flag"}:
            assert same(getattr(Case(case_id=key), name), getattr(record, name)), (way, name)
    SEEN[way] += 1
    for name, value in values.items():
        SEEN[name] += 1
        SEEN["None"] += value is None
        SEEN["empty"] += value in ("", b"", [], {}, set())


def test_what_is_given_comes_back() -> None:
    SEEN.clear()
    _what_is_given_comes_back()
    floors = dict.fromkeys(WAYS, 4) | dict.fromkeys(VALUES, 8) | {"None": 30, "empty": 15}
    assert {name: SEEN[name] for name, floor in floors.items() if SEEN[name] < floor} == {}
