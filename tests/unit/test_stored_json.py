"""Items that are answered as they are stored say what their records would say, byte for byte, or are left to them."""

from __future__ import annotations

import contextlib
import datetime as dt
import enum
import json
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    computed_field,
    field_validator,
)

from shardweave.api.response_size import carried_bytes
from shardweave.errors import RecordUnreadable, ShardweaveError
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import private_property, timestamp_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.table.values import Item
from shardweave.values.codecs import Timestamp
from shardweave.wire.record_models import RecordModels
from shardweave.wire.stored_json import plain_properties


class Color(enum.Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


def _shout(text: str) -> str:
    return text.upper()


class Plain(Entity, token="plain"):
    """Every form of a plain property."""

    plain_id: str = unique_property(min_length=1, max_length=4)
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    name: Annotated[str, Field(min_length=2, max_length=5)]
    title: str | None = None
    count: int | None = None
    number: int = 7
    done: bool
    maybe: bool | None
    secret: str | None = private_property(default=None)


class Checked(Entity, token="checked"):
    """Plain, with validators, which are not asked when a record is read."""

    checked_id: str = unique_property()
    name: Annotated[str, AfterValidator(_shout), Field(max_length=5)]
    note: str | None = None

    @field_validator("note")
    @classmethod
    def _no_bang(cls, value: str | None) -> str | None:
        if value is not None and "!" in value:
            raise ValueError("no bang")
        return value


class Partitioned(Entity, token="partitioned", partition=("team", "level"), sort=("name",)):
    """One whose key is made of several properties."""

    team: str
    level: int
    name: str
    done: bool = False


class Varied(Entity, token="varied"):
    """Every other type."""

    varied_id: str = unique_property()
    price: Decimal | None = None
    share: float | None = None
    at: dt.datetime | None = None
    day: dt.date | None = None
    data: bytes | None = None
    tags: set[str] | None = None
    words: list[str] | None = None
    more: dict[str, Any] | None = None
    color: Color | None = None
    kind: Literal["a", "b"] | None = None
    code: UUID | None = None
    either: int | str | None = None
    short: Annotated[str, Field(pattern="^a")] | None = None
    positive: Annotated[int, Field(gt=0)] | None = None


class Computed(Entity, token="computed"):
    """One that shows what is not stored."""

    computed_id: str = unique_property()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> str:
        """Its id, twice."""
        return self.computed_id * 2


class Begun(Entity, token="begun"):
    """One that does something when a record is made."""

    begun_id: str = unique_property()
    _seen: list[str] = PrivateAttr(default_factory=list)

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        object.__setattr__(self, "begun_id", self.begun_id + "!")


class Dumped(Entity, token="dumped"):
    """One that writes its records itself."""

    dumped_id: str = unique_property()

    def model_dump_json(self, **options: Any) -> str:
        return '{"own":1}'


class Excluded(Entity, token="excluded"):
    """One that leaves a property out."""

    excluded_id: str = unique_property()
    name: str = Field(default="x", exclude=True)


PLAIN = (Plain, Checked, Partitioned)
OTHERS = (Varied, Computed, Begun, Dumped, Excluded)
MODELS = {
    model.declaration.token: RecordModels(Schema([model], []).entities[model.declaration.token])
    for model in (*PLAIN, *OTHERS)
}

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["ann", 'a"b', "a\\b", "\x7f", "\n\t", "é", "𝄞", "", "abcdef"]
)
VALUES = st.one_of(
    TEXTS,
    st.integers(-(2**70), 2**70),
    st.integers(1_600_000_000_000, 1_700_000_000_000),
    st.booleans(),
    st.none(),
    st.decimals(allow_nan=False, allow_infinity=False, places=2),
    st.binary(max_size=3),
    st.lists(TEXTS, max_size=2),
    st.sets(TEXTS, min_size=1, max_size=2),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
    st.sampled_from(["red", "a", "2024-01-31", "2024-01-31T00:00:00.000000Z", "0" * 8 + "-0000-0000-0000-" + "0" * 12]),
)


@st.composite
def items(draw: st.DrawFn) -> tuple[RecordModels, Item]:
    """A stored item: whole or damaged, with its own key or another's."""
    models = MODELS[draw(st.sampled_from(sorted(MODELS)))]
    entity = models.entity
    item: dict[str, Any] = {}
    for name, each in entity.properties.items():
        fitting = TEXTS.filter(bool)
        if each.annotation in (int, int | None) or (each.role is not None and "reated" in name):
            fitting = st.integers(1_600_000_000_000, 1_700_000_000_000)
        if each.annotation in (bool, bool | None):
            fitting = st.booleans()
        chosen = draw(st.sampled_from(["fits", "fits", "fits", "fits", "fits", "any", "missing"]))
        if chosen != "missing":
            item[name] = draw(fitting if chosen == "fits" else VALUES)
    with contextlib.suppress(ShardweaveError, TypeError, AttributeError, ValueError):
        item = entity.complete(item)
    for name in draw(st.sets(st.sampled_from(["rev", "rangeKey", "hashKey"]), max_size=1)):
        item[name] = draw(st.sampled_from(["x", "plain!", "plain!0", "plainId#a", 5]))
    return models, item


def by_record(models: RecordModels, item: Item) -> bytes | None:
    """The text by way of a record; None where it can't be read."""
    try:
        return models.json(models.entity.load(item))
    except RecordUnreadable:
        return None


@given(items())
def test_an_item_says_what_its_record_says_or_is_left_to_it(given: tuple[RecordModels, Item]) -> None:
    models, item = given
    text = models.stored_json.texts([item])[0]
    assert text is None or text == by_record(models, item)


@pytest.mark.parametrize("model", PLAIN)
def test_plain_entities_are_answered_as_they_are_stored(model: type[Entity]) -> None:
    models = MODELS[model.declaration.token]
    values = {
        "plainId": "p1",
        "created": 1_700_000_000_000,
        "updated": 1_700_000_000_000,
        "name": "añna",
        "done": True,
        "maybe": False,
        "number": 2,
        "checkedId": "c",
        "team": "t",
        "level": 3,
        "secret": "hidden",
    }
    item = models.entity.complete({name: values[name] for name in models.entity.properties if name in values})
    text = models.stored_json.texts([item])[0]
    assert text is not None
    assert text == by_record(models, item)
    assert b"hidden" not in text
    assert json.loads(text)["name"] == "añna"


@pytest.mark.parametrize("model", OTHERS)
def test_what_is_not_plain_in_an_entity_is_left_to_its_records(model: type[Entity]) -> None:
    assert plain_properties(MODELS[model.declaration.token].entity) is None


@pytest.mark.parametrize("change", [{"hashKey": "other!"}, {"rangeKey": "plainId#other"}, {"rev": 7}, {"name": "x"}])
def test_an_item_that_is_at_fault_is_left_to_its_record(change: dict[str, Any]) -> None:
    models = MODELS["plain"]
    whole = {"plainId": "p", "created": 1_700_000_000_000, "name": "anna", "done": True, "maybe": True, "number": 1}
    item = models.entity.complete(whole)
    assert models.stored_json.texts([item])[0] is not None
    assert models.stored_json.texts([{**item, **change}])[0] is None
    assert by_record(models, {**item, **change}) is None


@given(TEXTS | st.text(st.characters(max_codepoint=127)))
def test_the_size_of_a_text_in_an_answer_is_that_of_a_text_in_json(text: str) -> None:
    written = json.dumps({"a": text}, ensure_ascii=False, separators=(",", ":"))
    assert carried_bytes(written.encode()) == len(json.dumps(written)) - 1
