"""Every type with every test of a filter: the table, the library and Python give the same answer, a condition on a key
too, and a value over HTTP means what it means in Python; or the test is refused.

Thing     a property of one type: required, optional, with a default that older records have not, and optional with one
"""

from __future__ import annotations

import base64
import enum
import itertools
import random
from collections import Counter
from decimal import Decimal
from typing import Any, Optional

import pytest
from pydantic import TypeAdapter

from shardweave.errors import InputError, UnsupportedQuery, ValueRefused
from shardweave.query.filters import SplitFilter, compile_filter
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Constraint, Equal, OneOf, QuerySpec, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.conditions import (
    OPERATORS,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Size,
)
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.embedded.expressions import check_condition
from shardweave.table.operations import PutItem
from shardweave.values.codecs import BinaryCodec, NumberCodec, codec_of
from shardweave.values.stored_form import stored_form
from shardweave.wire.list_parameters import ListQuery
from shardweave.wire.query_json import spec_from_json
from tests.unit.filter_kinds import ALL, INSTANT, KINDS, ORDER, PARTS, Kind
from tests.unit.query_world import KEYS

WORDS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
BY_US = {"time", "timedelta", "semantic version", "timedelta or int"}
NAMES = ("value", "maybe", "later", "kept")
RECORDS, DRAWS = 14, 110


class World:
    """Records of one type in a table: what each shows, and how it is stored."""

    def __init__(self, kind: Kind, chooser: random.Random) -> None:
        self.kind = kind
        default = kind.draw(chooser)
        optional = Optional[kind.annotation]  # noqa: UP045 - made, not written
        types = {
            "thing_id": str,
            "value": kind.annotation,
            "maybe": optional,
            "later": kind.annotation,
            "kept": optional,
        }
        codec = codec_of(kind.annotation)
        is_raw = isinstance(codec, (NumberCodec, BinaryCodec))
        keyed = codec is not None and not is_raw
        body: dict[str, Any] = {
            "__module__": __name__,
            "__annotations__": types,
            "thing_id": unique_property(),
            "maybe": None,
            "later": default,
            "kept": default,
            **({"value_range_key": RangeKey("value")} if keyed else {}),
        }
        model: Any = type(Entity)("Thing", (Entity,), body, token="thing")
        indexes = [Index("value", "hash_key", "value" if is_raw else "value_range_key")] if codec is not None else []
        self.has_index = bool(indexes)
        self.schema = Schema([model], indexes)
        self.entity = self.schema.entity("thing")
        self.table = EmbeddedTable(self.schema.layout)
        self.shown: dict[str, Any] = {}
        self.stored: dict[str, Any] = {}
        for number in range(RECORDS):
            self._add(model, f"t{number:02d}", chooser)
        self.queries = QueryRunner(self.schema, self.table, KEYS)

    def _add(self, model: Any, thing_id: str, chooser: random.Random) -> None:
        given = {name: self.kind.draw(chooser) for name in NAMES}
        given |= {name: None for name in ("maybe", "kept") if chooser.random() < 0.2}
        item = self.entity.complete(self.entity.dump(model(thing_id=thing_id, **given)))
        older = {name for name in ("later", "kept") if chooser.random() < 0.3}
        self.stored[thing_id] = {name: value for name, value in item.items() if name not in older}
        self.table.run(PutItem(self.stored[thing_id]))
        self.shown[thing_id] = self.entity.load(self.stored[thing_id])

    def found(self, conditions: dict[str, Any], test: Condition | None = None) -> set[str]:
        return {record.thing_id for record in self.queries.run(QuerySpec("thing", conditions, filter=test)).items}

    def walked(self, test: Condition, *, reverse: bool) -> list[str]:
        """The same page by page, of which each shows but the id."""
        spec = QuerySpec("thing", filter=test, limit=2, reverse=reverse, properties=("thing_id",))
        return [part["thingId"] for page in self.queries.pages(spec) for part in page.items]

    def close(self) -> None:
        self.queries.close()
        self.table.close()


# -- what Python says -------------------------------------------------------------------------------------------------


def stands(kind: Kind, word: str, value: Any, operand: Any) -> bool:
    if value is None:
        return word == "ne"
    try:
        return bool(OPERATORS[WORDS[word]](placed(kind, value), placed(kind, operand)))
    except TypeError:
        return word == "ne"


def placed(kind: Kind, value: Any) -> Any:
    """What Python compares; a bound that is no value is compared as it is."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, (bool, enum.Enum)):
        return Decimal(repr(value)) if isinstance(value, float) else value
    return kind.order(value)


def holds(kind: Kind, word: str, value: Any, operand: Any) -> bool:
    if word in WORDS:
        return stands(kind, word, value, operand)
    if word == "in":
        return any(stands(kind, "eq", value, each) for each in operand)
    if word == "between":
        return stands(kind, "ge", value, operand[0]) and stands(kind, "le", value, operand[1])
    if word == "exists":
        return (value is not None) is operand
    if value is None:
        return False
    if word == "size":
        form = stored_form(value)
        if isinstance(form, str):
            return bool(operand == len(form.encode("utf-16-le")) // 2)
        return not isinstance(form, (int, Decimal)) and bool(operand == len(form))
    if word == "contains" and kind.members is not None:
        return any(stored_form(each) == stored_form(operand) or each == operand for each in value)
    form = stored_form(value)
    if type(form) is not type(operand):
        return False
    return bool(form.startswith(operand)) if word == "begins_with" else operand in form


# -- what is asked ----------------------------------------------------------------------------------------------------


def operand_of(kind: Kind, word: str, chooser: random.Random) -> Any:
    if word == "exists":
        return chooser.random() < 0.5
    if word == "size":
        form = stored_form(kind.draw(chooser))
        return len(form) if hasattr(form, "__len__") and chooser.random() < 0.7 else chooser.randint(0, 4)
    if word == "in":
        return tuple(kind.draw(chooser) for _ in range(chooser.randint(1, 3)))
    if word == "contains" and kind.members is not None:
        return kind.members(chooser)
    if word in PARTS:
        form = stored_form(kind.draw(chooser))
        if not isinstance(form, (str, bytes)):
            return "a"
        first = 0 if word == "begins_with" else chooser.randint(0, len(form) - 1)
        return form[first : first + chooser.randint(1, 3)]
    draw = kind.bounds if kind.bounds is not None and word in ORDER and chooser.random() < 0.3 else kind.draw
    return (draw(chooser), kind.draw(chooser)) if word == "between" else draw(chooser)


def asked_by(name: str, word: str, operand: Any) -> Condition:
    if word in WORDS:
        return Compare(name, WORDS[word], operand)  # type: ignore[arg-type]
    if word == "between":
        return Between(name, *operand)
    if word == "exists":
        return Exists(name) if operand else Missing(name)
    if word == "size":
        return Size(name, "=", operand)
    return {"in": In, "begins_with": BeginsWith, "contains": Contains}[word](name, operand)


def condition_of(word: str, operand: Any) -> Constraint | OneOf | None:
    """The condition that says the same, where there is one."""
    if word == "in":
        return OneOf(operand)
    if word == "between":
        return Range(*operand)
    return {"eq": Equal(operand), "le": Range(None, operand), "ge": Range(operand)}.get(word)


def json_of(kind: Kind, value: Any) -> Any:
    """A value as a client writes it."""
    if isinstance(value, tuple):
        return [json_of(kind, each) for each in value]
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Decimal):
        return float(value) if kind.annotation is int else str(value)
    if isinstance(value, (bool, int, float, str)):
        return value
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def conditions_over_http(world: World, word: str, operand: Any) -> list[QuerySpec]:
    """The queries that a client asks with a condition: in a body, and where there is a parameter for it in a list."""
    written = json_of(world.kind, operand)
    content = {
        "between": lambda: {"from": written[0], "to": written[1]},
        "le": lambda: {"to": written},
        "ge": lambda: {"from": written},
    }.get(word, lambda: {word: written})()
    found = [spec_from_json(world.entity, {"conditions": {"value": content}})]
    if word != "in":
        given = {
            f"value.{side}": str(each).lower() if isinstance(each, bool) else str(each)
            for side, each in content.items()
        }
        found.append(ListQuery(world.entity).spec(given))
    return found


def is_refused(kind: Kind, operand: tuple[Any, Any]) -> bool:
    """Whether a range has its bounds the wrong way round, or bounds of two kinds."""
    return not stands(kind, "le", *operand)


@pytest.mark.parametrize("name", KINDS)
def test_filter_condition_and_python_say_the_same(name: str) -> None:
    kind, chooser = KINDS[name], random.Random(name)
    world, met = World(kind, chooser), Counter[str]()
    for number in range(DRAWS):
        word, asked = kind.tests[number % len(kind.tests)], chooser.choice(NAMES)
        operand = operand_of(kind, word, chooser)
        if word == "between" and is_refused(kind, operand):
            check_refused(world, asked, operand)
            met["reversed"] += 1
        else:
            check_answers(world, asked, word, operand, met)
    world.close()
    for word in kind.tests:
        for answer in (True, False):
            assert met[f"{word} {answer}"] >= 3, (word, answer, met)
    assert min(met["default"], met["None"]) >= 40, met
    assert met["HTTP"] >= (30 if kind.has_members else 60), met
    assert not world.has_index or met["condition"] >= 4, met
    assert "between" not in kind.tests or met["reversed"] >= 1, met
    assert met["by us" if name in BY_US else "by the table"] >= 20, met


def check_refused(world: World, asked: str, operand: tuple[Any, Any]) -> None:
    with pytest.raises(ValueRefused):
        world.found({}, Between(asked, *operand))
    if world.has_index and asked == "value":
        with pytest.raises(ValueRefused):
            world.found({asked: Range(*operand)})


def check_answers(world: World, asked: str, word: str, operand: Any, met: Counter[str]) -> None:
    test, kind = asked_by(asked, word, operand), world.kind
    expected = {one for one, record in world.shown.items() if holds(kind, word, getattr(record, asked), operand)}
    assert world.found({}, test) == expected, (word, operand)
    assert world.queries.count(QuerySpec("thing", filter=~test)).count == RECORDS - len(expected)
    compiled = compile_filter(world.entity, world.entity.view(None), [(test, "filter")])
    assert {one for one, item in world.stored.items() if compiled.evaluate(item)} == expected, (word, operand)
    if met["HTTP"] % 5 == 0:
        assert sorted(world.walked(test, reverse=met["HTTP"] % 2 == 0)) == sorted(expected)
    met["by the table" if compiled.here is None else "by us"] += 1
    condition = condition_of(word, operand)
    if world.has_index and asked == "value" and condition is not None:
        assert world.found({asked: condition}) == expected, (condition,)
        for asked_over_http in conditions_over_http(world, word, operand):
            assert {each.thing_id for each in world.queries.run(asked_over_http).items} == expected, asked_over_http
        met["condition"] += 1
    if word not in (*WORDS, "in") or not kind.has_members:
        content = {"property": asked, word: {"eq": operand} if word == "size" else json_of(kind, operand)}
        spec = spec_from_json(world.entity, {"filter": content})
        assert spec.filter is not None
        assert compile_filter(world.entity, world.entity.view(None), [(spec.filter, "filter")]) == compiled, content
        met["HTTP"] += 1
    for one, record in world.shown.items():
        met[f"{word} {one in expected}"] += 1
        met["default"] += asked in ("later", "kept") and asked not in world.stored[one]
        met["None"] += getattr(record, asked) is None


@pytest.mark.parametrize("name", KINDS)
def test_a_test_that_a_type_has_not_is_refused(name: str) -> None:
    kind, chooser = KINDS[name], random.Random(name)
    world = World(kind, chooser)
    for word in set(ALL) - set(kind.tests):
        test = asked_by("value", word, operand_of(kind, word, chooser))
        with pytest.raises(InputError) as refused:
            compile_filter(world.entity, world.entity.view(None), [(test, "filter")])
        assert refused.value.where == f"filter.{word}"
        assert isinstance(refused.value, UnsupportedQuery), (word, refused.value)
        assert refused.value.fix
    world.close()


STRANGE: tuple[Any, ...] = (
    None,
    float("nan"),
    Decimal("Infinity"),
    10**60,
    INSTANT.replace(tzinfo=None),
    object(),
    "\ud800",
)


def understood(world: World, test: Condition) -> SplitFilter | InputError:
    try:
        return compile_filter(world.entity, world.entity.view(None), [(test, "filter")])
    except InputError as refused:
        return refused


@pytest.mark.parametrize("name", KINDS)
def test_a_value_of_another_type_is_understood_or_refused_at_its_place(name: str) -> None:
    kind, chooser = KINDS[name], random.Random(name)
    world, refusals = World(kind, chooser), 0
    operands = [*STRANGE, *(other.draw(chooser) for other in KINDS.values())]
    for word, operand in itertools.product(kind.tests, operands):
        if word in ("exists", "size") or (word == "begins_with" and not isinstance(operand, (str, bytes))):
            continue
        many = word in ("in", "between")
        test = asked_by("maybe", word, (operand, operand) if many else operand)
        compiled = understood(world, test)
        if isinstance(compiled, InputError):
            refusals += 1
            assert compiled.where == f"filter.{word}"
            assert compiled.fix
        else:
            assert {compiled.evaluate(item) for item in world.stored.values()} <= {True, False}
            if compiled.by_table is not None:
                check_condition(compiled.by_table)
    world.close()
    assert refusals >= len(STRANGE)
