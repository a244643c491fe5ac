"""Records: validation, their stored form and back, identity, and the limits that are checked before a write."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from shardweave.errors import KeyTooLong, RecordTooLarge, UnknownName, ValidationFailed, ValueRefused
from shardweave.keys.key_format import ARTICLE
from shardweave.keys.sharding import WRITE_AHEAD_MS, Shard, ShardBump, ShardMap, ShardSpace
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid, now_ms
from shardweave.schema.entity_type import REVISION
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.values import MAX_ITEM_BYTES, from_attribute_values, item_bytes, to_attribute_values
from shardweave.values.codecs import SemanticVersion, Timestamp, TimestampSeconds

NOW = 1_726_880_933_000


class Color(enum.Enum):
    """Stored by value."""

    RED = "red"
    BLUE = "blue"


class Everything(Entity):
    """A property of every type that can be stored."""

    everything_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    text: str = ""
    whole: int = 0
    exact: Decimal = Decimal(0)
    ratio: float = 0.0
    flag: bool = False
    instant: dt.datetime | None = None
    day: dt.date | None = None
    hour: dt.time | None = None
    span: dt.timedelta | None = None
    uid: uuid.UUID | None = None
    color: Color | None = None
    kind: Literal["a", "b"] | None = None
    version: SemanticVersion | None = None
    raw: bytes | None = None
    many: list[int] = Field(default_factory=list)
    pair: tuple[str, int] | None = None
    words: set[str] = Field(default_factory=set)
    numbers: frozenset[Decimal] = frozenset()
    by_number: dict[int, str] = Field(default_factory=dict)
    nested: dict[str, list[dict[str, Decimal]]] = Field(default_factory=dict)


EVERYTHING = Schema([Everything])[Everything]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
EXACT = st.decimals(-(10**15), 10**15, allow_nan=False, places=6)
# Zones of a fixed offset: where a clock is set back, Python takes one instant in two zones for two.
ZONES = st.timedeltas(dt.timedelta(hours=-14), dt.timedelta(hours=14)).map(dt.timezone)
INSTANTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=ZONES)  # noqa: DTZ001
RECORDS = st.builds(
    Everything,
    everything_id=TEXT,
    created=st.integers(10**12, 2 * 10**12),
    text=TEXT,
    whole=st.integers(-(10**37), 10**37),
    exact=EXACT,
    ratio=st.floats(-1e100, 1e100).filter(lambda ratio: ratio == 0 or abs(ratio) > 1e-100),
    flag=st.booleans(),
    instant=st.none() | INSTANTS,
    day=st.none() | st.dates(),
    hour=st.none() | st.times(),
    span=st.none() | st.timedeltas(),
    uid=st.none() | st.uuids(),
    color=st.none() | st.sampled_from(Color),
    kind=st.none() | st.sampled_from(["a", "b"]),
    version=st.none() | st.just("1.2.0-beta.1"),
    raw=st.none() | st.binary(max_size=8),
    many=st.lists(st.integers(-9, 9), max_size=3),
    pair=st.none() | st.tuples(TEXT, st.integers(0, 9)),
    words=st.sets(TEXT, max_size=3),
    numbers=st.frozensets(EXACT, max_size=3),
    by_number=st.dictionaries(st.integers(-9, 9), TEXT, max_size=3),
    nested=st.dictionaries(
        TEXT.filter(bool), st.lists(st.dictionaries(TEXT.filter(bool), EXACT, max_size=2), max_size=2), max_size=2
    ),
)


@given(RECORDS)
def test_a_record_comes_back_from_its_item_as_the_table_stores_it(record: Everything) -> None:
    item = EVERYTHING.complete(EVERYTHING.dump(record))
    stored = from_attribute_values(to_attribute_values(item))
    assert EVERYTHING.load(stored) == record
    assert record.rev is None
    assert EVERYTHING.load(stored | {"rev": "r1"}).rev == "r1"


@given(RECORDS)
def test_keys_are_recomputed_from_the_stored_item_alone(record: Everything) -> None:
    item = EVERYTHING.complete(EVERYTHING.dump(record))
    assert EVERYTHING.complete(from_attribute_values(to_attribute_values(item))) == item
    assert set(EVERYTHING.visible(item)) == set(item) - {"hashKey", "rangeKey"}


def test_what_has_no_value_is_left_out() -> None:
    assert EVERYTHING.dump(Everything(everything_id="e", text="", words=set())) == {
        "everythingId": "e", "text": "", "whole": 0, "exact": Decimal(0), "ratio": Decimal("0.0"), "flag": False,
        "many": [], "byNumber": {}, "nested": {},
    }  # fmt: skip


def test_records_are_values_with_generated_ids() -> None:
    one, two = Everything(), Everything()
    assert one.everything_id != two.everything_id
    assert len(one.everything_id) == 21
    assert len({nanoid() for _ in range(1000)}) == 1000
    with pytest.raises(ValueError, match="frozen"):
        one.text = "changed"  # type: ignore[misc]
    assert one.model_copy(update={"text": "changed"}).text == "changed"


def test_a_time_property_has_no_default_but_none_whatever_else_is_said_of_it() -> None:
    class Described(Entity):
        described_id: str = unique_property(description="the id")
        created: Timestamp = timestamp_property(description="when")
        ends: TimestampSeconds | None = ttl_property(description="until")

    fields = Described.model_fields
    assert [fields[name].is_required() for name in ("described_id", "created", "ends")] == [True, False, False]
    assert Described(described_id="d").created is None


def test_a_record_that_does_not_fit_lists_every_fault_without_its_values() -> None:
    with pytest.raises(ValidationFailed) as failed:
        EVERYTHING.validate({"everythingId": 5, "whole": "secret", "day": "2024-02-30", "secretly": 1, "kind": "c"})
    assert {".".join(map(str, fault.location)) for fault in failed.value.fields} == {
        "everythingId", "whole", "day", "secretly", "kind",
    }  # fmt: skip
    assert "secret'" not in str(failed.value)
    assert failed.value.where == "everything"


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"ratio": float("nan")}, "ratio"),
        ({"ratio": float("inf")}, "ratio"),
        ({"exact": Decimal("1E+126")}, "exact"),
        ({"whole": 10**38 + 1}, "whole"),
        ({"text": "\ud800"}, "text"),
        ({"nested": {"a": [{"\ud800": Decimal(1)}]}}, "nested.a[0]"),
        ({"nested": {"\ud800": [{"b": 10**39 + 1}]}}, "nested.\\ud800[0].b"),
        ({"instant": dt.datetime(2024, 1, 31)}, "instant"),  # noqa: DTZ001
    ],
)
def test_what_can_t_be_stored_is_refused_by_name(values: dict[str, Any], where: str) -> None:
    with pytest.raises(ValueRefused) as refused:
        EVERYTHING.complete(EVERYTHING.dump(Everything.model_construct(**(Everything().model_dump() | values))))
    assert refused.value.where == where


# -- identity ---------------------------------------------------------------------------------------------------------


class Line(Entity, partition="order_id", sort=("line",)):
    """Identified by two properties."""

    order_id: str
    line: int


LINE = Schema([Line])[Line]


def test_an_identity_is_given_by_value_or_by_name() -> None:
    assert EVERYTHING.identify("e") == EVERYTHING.identify({"everything_id": "e"}) == {"everythingId": "e"}
    assert LINE.identify({"orderId": "o", "line": "7"}) == {"orderId": "o", "line": 7}
    assert EVERYTHING.make_key(Everything(everything_id="e")) == {
        "hashKey": "everything!",
        "rangeKey": "everythingId#e",
    }


@pytest.mark.parametrize(
    ("entity", "values", "error", "message"),
    [
        (LINE, "o", UnknownName, "one value does not identify the entity 'line'"),
        (LINE, {"orderId": "o"}, UnknownName, "line is missing"),
        (LINE, {"orderId": "o", "line": None}, UnknownName, "line is missing"),
        (LINE, {"orderId": "o", "lin": 1}, UnknownName, "no property 'lin'"),
        (LINE, {"orderId": "o", "line": "x"}, ValidationFailed, "line"),
        (EVERYTHING, 5, ValidationFailed, "everythingId"),
    ],
)
def test_an_incomplete_or_wrong_identity_is_refused(
    entity: Any, values: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        entity.identify(values)


def test_a_condition_s_value_takes_the_stored_form() -> None:
    parse = {name: EVERYTHING.properties[name].parse for name in EVERYTHING.properties}
    assert parse["instant"]("2024-01-31T10:30:00+01:00") == "2024-01-31T09:30:00.000000Z"
    assert parse["color"]("red") == "red"
    assert parse["whole"]("5") == 5
    assert parse["exact"]("1.50") == Decimal("1.5")
    with pytest.raises(ValidationFailed, match="whole"):
        parse["whole"]("five")
    with pytest.raises(ValueRefused, match="no time zone") as refused:
        parse["instant"]("2024-01-31T10:30:00")
    assert refused.value.where == "instant"


# -- times ------------------------------------------------------------------------------------------------------------


class InSeconds(Entity, shard_bumps=[ShardBump(0, 1, 1), ShardBump(NOW // 1000, 1, 2)]):
    """Its times are in seconds."""

    in_seconds_id: str = unique_property()
    created: TimestampSeconds = timestamp_property()
    ends: TimestampSeconds | None = ttl_property()


IN_SECONDS = Schema([InSeconds])[InSeconds]


def test_the_creation_time_lies_at_most_five_minutes_ahead() -> None:
    for entity, unit in ((EVERYTHING, 1), (IN_SECONDS, 1000)):
        entity.check_timestamp({"created": (NOW + WRITE_AHEAD_MS) // unit}, NOW)
        with pytest.raises(ValueRefused, match="5 minutes ahead") as refused:
            entity.check_timestamp({"created": (NOW + WRITE_AHEAD_MS) // unit + 1}, NOW)
        assert refused.value.where == "created"
        entity.check_timestamp({}, NOW)


def test_a_creation_time_of_the_wrong_unit_is_refused_where_units_count() -> None:
    with pytest.raises(ValueRefused, match="in seconds, milliseconds are due"):
        EVERYTHING.check_timestamp({"created": NOW // 1000}, NOW)
    with pytest.raises(ValueRefused, match="does not fit 10 digits"):
        IN_SECONDS.check_timestamp({"created": NOW}, NOW)
    Schema([Everything], key_format=ARTICLE)[Everything].check_timestamp({"created": NOW // 1000}, NOW)


@pytest.mark.parametrize("entity", [EVERYTHING, IN_SECONDS])
def test_a_boolean_is_no_time(entity: Any) -> None:
    with pytest.raises(ValidationFailed, match="created: Input should be a number, not true or false"):
        entity.validate({f"{entity.token}Id": "e", "created": True})
    with pytest.raises(ValidationFailed, match="created: Input should be a number, not true or false"):
        entity.property_of("created").parse(True)


def test_bumps_are_in_the_unit_of_the_creation_time() -> None:
    keys = [IN_SECONDS.make_key({"inSecondsId": "i", "created": NOW // 1000 + offset}) for offset in (-1, 0)]
    assert [len(str(key["hashKey"])) for key in keys] == [len("inSeconds!0"), len("inSeconds!00")]
    assert (IN_SECONDS.time_unit, EVERYTHING.time_unit, LINE.time_unit) == ("s", "ms", "ms")


def test_the_clock_counts_milliseconds_since_1970() -> None:
    before = dt.datetime.now(dt.UTC)
    now = dt.datetime.fromtimestamp((now_ms() + 1) / 1000, dt.UTC)  # The part of a millisecond that is left out.
    assert before <= now <= dt.datetime.now(dt.UTC) + dt.timedelta(milliseconds=1)


def test_a_record_expires_at_its_ttl() -> None:
    assert IN_SECONDS.is_expired({"ends": 100}, 100)
    assert not IN_SECONDS.is_expired({"ends": 100}, 99.9)
    assert not IN_SECONDS.is_expired({}, 100)
    assert not EVERYTHING.is_expired({"ends": 100}, 100)


# -- limits -----------------------------------------------------------------------------------------------------------


class Document(Entity, shard_bumps=[ShardBump(0, 2, 1)]):
    """Two sharded keys besides the table's, a raw text range key and a raw binary one."""

    document_id: str = unique_property()
    body: str = ""
    title: str | None = None
    digest: bytes | None = None

    title_hash_key = HashKey("title")
    digest_hash_key = HashKey("document_id")
    title_range_key = RangeKey("title")


class Elsewhere(Entity):
    """Not in the index by title; its title is the index's range key all the same."""

    elsewhere_id: str = unique_property()
    title: str | None = None


DOCUMENTS = Schema(
    [Document, Elsewhere],
    [
        Index("byTitle", "hash_key", "title", entities=(Document,)),
        Index("byDigest", "digest_hash_key", "digest"),
        Index("byBoth", "title_hash_key", "title_range_key"),
    ],
)
DOCUMENT = DOCUMENTS[Document]


def test_the_largest_record_fits_with_wider_shards_and_a_mark_and_one_byte_more_is_refused() -> None:
    item = {"documentId": "d", "title": "t", "body": ""}
    room = MAX_ITEM_BYTES - item_bytes(DOCUMENT.complete(item)) - 3 * 16 - (len("_mark") + 21)
    largest = DOCUMENT.complete(item | {"body": "é" * (room // 2) + "a" * (room % 2)})
    moved = DOCUMENT.keys.build_in(largest, Shard(ShardSpace(1, 16), 0))
    assert item_bytes(largest | moved | {"_mark": 10**38 - 1}) <= MAX_ITEM_BYTES
    with pytest.raises(RecordTooLarge, match="are possible") as refused:
        DOCUMENT.complete(item | {"body": largest["body"] + "a"})
    assert refused.value.where == "body"


def test_a_record_of_401_kilobytes_is_refused_naming_what_is_large() -> None:
    with pytest.raises(RecordTooLarge, match="has 410770 bytes, 409526 are possible") as refused:
        DOCUMENT.complete({"documentId": "d", "title": "t", "body": "a" * 401 * 1024})
    assert refused.value.where == "body"


@pytest.mark.parametrize("entity", DOCUMENTS.entities.values(), ids=list(DOCUMENTS.entities))
def test_a_raw_range_key_is_never_empty_nor_too_long_in_the_index_s_entities_and_in_others(entity: Any) -> None:
    item = {f"{entity.token}Id": "d"}
    assert "title" not in entity.complete(item)
    assert "title" not in entity.complete(item | {"title": None})
    assert entity.complete(item | {"title": "é" * 300})["title"] == "é" * 300
    with pytest.raises(ValueRefused, match="can't be empty") as refused:
        entity.complete(item | {"title": ""})
    assert refused.value.where == "title"
    longest = "é" * 512
    if entity.token == "elsewhere":
        assert entity.complete(item | {"title": longest})["title"] == longest
    with pytest.raises(KeyTooLong) as too_long:
        entity.complete(item | {"title": longest + "a"})
    assert too_long.value.where == "title"


def test_binary_raw_range_keys_too() -> None:
    assert DOCUMENT.complete({"documentId": "d", "digest": b"a" * 1024})["digest"] == b"a" * 1024
    with pytest.raises(KeyTooLong, match="1025 bytes") as too_long:
        DOCUMENT.complete({"documentId": "d", "digest": b"a" * 1025})
    assert too_long.value.where == "digest"
    with pytest.raises(ValueRefused, match="can't be empty"):
        DOCUMENT.complete({"documentId": "d", "digest": b""})


def test_a_raw_timestamp_in_the_wrong_unit_is_refused_by_name() -> None:
    entity = Schema([Everything], [Index("created", "hash_key", "created")])[Everything]
    with pytest.raises(ValueRefused, match="milliseconds are due") as refused:
        entity.complete({"everythingId": "e", "created": NOW // 1000})
    assert refused.value.where == "created"


@given(st.none() | st.text(min_size=1, max_size=3), st.none() | st.binary(min_size=1, max_size=3))
def test_no_key_attribute_is_ever_null_empty_or_of_another_type(title: str | None, digest: bytes | None) -> None:
    completed = DOCUMENT.complete({"documentId": "d", "title": title, "digest": digest})
    for index in DOCUMENTS.layout.indexes:
        for key in (index.hash_key, index.range_key):
            if key.name in completed:
                value = completed[key.name]
                assert value
                assert isinstance(value, {"S": str, "B": bytes, "N": int}[key.type])
    assert ("titleHashKey" in completed) == (title is not None)
    assert ("digest" in completed) == (digest is not None)


def test_another_shard_map_moves_every_sharded_attribute_and_nothing_else() -> None:
    item = {"documentId": "d", "title": "t"}
    one, other = DOCUMENT.complete(item), DOCUMENT.complete(item, ShardMap.of_bumps((ShardBump(0, 1, 5),)))
    assert {name for name in one if one[name] != other[name]} == {"hashKey", "titleHashKey", "digestHashKey"}


def test_what_was_stored_is_equal_to_what_was_given_whatever_its_revision() -> None:
    given = Everything(everything_id="e", created=NOW, text="a")
    entity = Schema([Everything], [])[Everything]
    stored = entity.record_of({**entity.dump(given), REVISION: "r"})
    assert (stored.rev, given.rev) == ("r", None)
    assert stored == given
    assert stored != given.model_copy(update={"text": "b"})
    assert stored != given.model_dump()
