"""Values of properties as JSON and as text: the same rules wherever one is given, and each answer is what is stored."""

from __future__ import annotations

import base64
import enum
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import quote
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from services.user_service import schema
from shardweave.cli.records import item_of, values_of, whole_record
from shardweave.errors import InputError
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import DecimalCodec, Timestamp
from shardweave.wire.query_json import spec_from_json
from tests.unit.api_world import Client, api_of, code_of, json_of, user_service


class Grade(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Rank(enum.IntEnum):
    NONE = 0
    FIRST = 1


class Sample(Entity, token="sample"):
    """Something measured, in every type there is."""

    name: str = unique_property()
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    whole: int | None = None
    exact: Decimal | None = None
    fixed: Annotated[Decimal, DecimalCodec(2)] | None = None
    near: float | None = None
    raw: bytes | None = None
    sure: bool | None = None
    grade: Grade | None = None
    rank: Rank | None = None
    level: Literal[0, 1] | None = None
    agreed: Literal[True] | None = None
    ranks: list[Rank] = Field(default_factory=list)
    day: date | None = None
    seen: datetime | None = None
    code: UUID | None = None
    prices: list[Decimal] = Field(default_factory=list)
    blobs: set[bytes] = Field(default_factory=set)
    open: dict[str, Any] = Field(default_factory=dict)
    text: str | None = None

    sure_hash_key = HashKey("sure")
    fixed_range_key = RangeKey("fixed")
    grade_range_key = RangeKey("grade")


SAMPLES = Schema(
    entities=[Sample],
    indexes=[
        *(Index(f"by{name.capitalize()}", "hash_key", name) for name in ("whole", "exact", "near", "raw", "text")),
        Index("byFixed", "hash_key", "fixed_range_key"),
        Index("byGrade", "sure_hash_key", "grade_range_key"),
    ],
)
SAMPLE = SAMPLES.entity("sample")

decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | texts | st.sampled_from([1.5, -0.0, 1e22, 0.1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(-(10**18), 10**18) | st.sampled_from([1.0, -0.0, 1e3]),
    "exact": decimals.map(str) | st.sampled_from(["1.10", "-0", "0.000", "1e2", "1E-7", "100", 1.5, 3]),
    "fixed": st.sampled_from(["1.10", "-0", "-0.00", "1e2", "7", "0.5", 2.25]),
    "near": st.sampled_from([0.1, -0.0, 1, 1e22, 1e-7, 2.5, 123456789.125]),
    "raw": st.binary(min_size=1, max_size=9).map(lambda raw: base64.urlsafe_b64encode(raw).decode()),
    "sure": st.booleans(),
    "grade": st.sampled_from(["low", "high"]),
    "rank": st.sampled_from([0, 1, 1.0]),
    "level": st.sampled_from([0, 1]),
    "agreed": st.just(True),
    "ranks": st.lists(st.sampled_from([0, 1])),
    "day": st.dates().map(str),
    "seen": st.datetimes(timezones=st.just(UTC)).map(str),
    "code": st.uuids().map(str) | st.uuids().map(lambda each: str(each).upper()),
    "prices": st.lists(decimals.map(str) | st.sampled_from(["1.0", "-0"]), max_size=3),
    "blobs": st.sets(st.binary(min_size=1, max_size=3), max_size=3).map(
        lambda blobs: [base64.urlsafe_b64encode(raw).decode() for raw in blobs]
    ),
    "open": st.dictionaries(texts, anything, max_size=3),
    "text": texts,
}
documents = st.fixed_dictionaries({}, optional=VALUES)


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(api_of(SAMPLES))


def exactly(record: dict[str, Any]) -> str:
    """A record as text, in which 1 is not 1.0; members of a set have no order."""
    return json.dumps({**record, "blobs": sorted(record.get("blobs", []))}, sort_keys=True)


@settings(max_examples=60)
@given(document=documents, change=documents)
def test_every_answer_to_a_write_is_what_is_read_later(
    client: Client, document: dict[str, Any], change: dict[str, Any]
) -> None:
    place = "/v1/samples/a"
    client.delete(place)
    for write in (
        lambda: client.post("/v1/samples", {"name": "a", **document}),
        lambda: client.patch(place, change),
        lambda: client.put(place, document),
        lambda: client.put("/v1/samples/a", change),
    ):
        answer = write()
        assert answer.status in (200, 201), answer.body
        stored = exactly(json_of(client.get(place)))
        assert exactly(json_of(answer)) == stored
        (listed,) = json_of(client.get("/v1/samples?name=a"))["items"]
        assert exactly(listed) == stored


@pytest.mark.parametrize(
    ("given", "answered"), [("1.10", "1.1"), ("-0", "0"), ("1e2", "100"), ("1E-7", "1E-7"), (3, "3")]
)
def test_a_decimal_keeps_its_digits_but_not_zeros_that_say_nothing(client: Client, given: Any, answered: str) -> None:
    assert json_of(client.put("/v1/samples/d", {"exact": given}))["exact"] == answered


# -- one set of rules -------------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, Any]] = [
    *[
        ("exact", text)
        for text in ("1_0", " 1", "1 ", "٣", "", "+1", ".5", "5.", "0x1", "NaN", "Infinity", "1,5", "１")
    ],
    *[("fixed", text) for text in ("1_0", " 1", "٣")],
    *[("exact", number) for number in (0.12345678901234567, True, [])],
    *[("whole", value) for value in ("1", "1.0", 1.5, True, 1e300, "1726880933000")],
    *[("near", value) for value in ("1", True, "NaN")],
    *[("created", value) for value in ("1726880933000", 1726880933000.5, "2024-01-31")],
    *[("raw", value) for value in ("not base64!", "A", 1, "_w", "/w==", "_x==", "_w==\n", "_w== ", "é", "____=")],
    *[("sure", value) for value in ("true", 1, 0)],
    *[("grade", value) for value in ("LOW", "middle", 1)],
    *[("rank", value) for value in (True, False, 2, "1")],
    *[("level", value) for value in (True, False, "1")],
    *[("agreed", value) for value in (1, "true")],
    ("ranks", [True]),
    *[("seen", value) for value in (1726880933, "1726880933", "2024-01-31T00:00:00", "2024-01-31T09:30:00.1234567Z")],
    ("day", 0),
    ("prices", ["1_0"]),
    ("text", 1),
]
TAKEN: list[tuple[str, Any, Any]] = [
    ("whole", 1.0, 1),
    ("whole", 1.5e12, 1_500_000_000_000),
    ("created", 1.5e12, 1_500_000_000_000),
    ("created", 1_500_000_000_000, 1_500_000_000_000),
    ("exact", "1.10", Decimal("1.1")),
    ("exact", 1.5, Decimal("1.5")),
    ("exact", 7, 7),
    ("raw", "_wA=", b"\xff\x00"),
    ("grade", "high", "high"),
    ("rank", 1.0, 1),
    ("seen", "2024-01-31T09:30:00.1234560Z", "2024-01-31T09:30:00.123456Z"),
    ("code", "12345678-1234-5678-1234-567812345678", "12345678-1234-5678-1234-567812345678"),
]


def parsed(value: Any) -> Any:
    """A value as the command line gets it: numbers that are not whole are decimals."""
    return json.loads(json.dumps(value), parse_float=Decimal)


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_what_is_refused_in_a_body_is_refused_on_the_command_line_and_in_queries(
    client: Client, name: str, value: Any
) -> None:
    client.put("/v1/samples/r", {})
    for answer in (
        client.post("/v1/samples", {"name": "new", name: value}),
        client.put("/v1/samples/r", {name: value}),
        client.patch("/v1/samples/r", {name: value}),
    ):
        assert code_of(answer) in ("validation_failed", "value_refused")
    for read in (item_of, values_of, whole_record):
        with pytest.raises(InputError):
            SAMPLE.dump(SAMPLE.validate(read(SAMPLE, {"name": "r", name: parsed(value)})))
    if name not in ("seen", "prices", "ranks") and (name, value) != ("created", "2024-01-31"):
        for document in ({"conditions": {name: {"eq": value}}}, {"filter": {"property": name, "eq": value}}):
            with pytest.raises(InputError):
                spec_from_json(SAMPLE, document)


@pytest.mark.parametrize(("name", "value", "stored"), TAKEN)
def test_what_is_taken_in_a_body_is_taken_on_the_command_line_alike(
    client: Client, name: str, value: Any, stored: Any
) -> None:
    answer = client.put("/v1/samples/t", {name: value})
    assert answer.status in (200, 201)
    for read in (item_of, values_of):
        assert read(SAMPLE, {"name": "t", name: parsed(value)})[name] == stored
    assert SAMPLE.dump(SAMPLE.validate(whole_record(SAMPLE, {"name": "t", name: parsed(value)})))[name] == stored
    spec_from_json(SAMPLE, {"conditions": {name: {"eq": value}}, "filter": {"property": name, "ne": value}})


def test_a_condition_says_no_more_of_a_second_than_is_stored() -> None:
    for test in ("eq", "ge"):
        spec_from_json(SAMPLE, {"filter": {"property": "seen", test: "2024-01-31T09:30:00.123456000Z"}})
        with pytest.raises(InputError, match="parts of a microsecond"):
            spec_from_json(SAMPLE, {"filter": {"property": "seen", test: "2024-01-31T09:30:00.1234567Z"}})


def test_the_command_line_keeps_every_digit_where_any_value_fits() -> None:
    number = Decimal("0.12345678901234567890123")
    values = {"name": "n", "open": {"a": [number, 10**30]}}
    assert item_of(SAMPLE, values)["open"] == whole_record(SAMPLE, values)["open"] == {"a": [number, 10**30]}


# -- queries ----------------------------------------------------------------------------------------------------------

FOUND = {
    "whole": (-3, "-3"),
    "exact": ("1.10", "1.1"),
    "fixed": ("1.10", "1.1"),
    "near": (1.5, "1.5"),
    "raw": ("-_8=", "-_8="),
    "text": (" 1", " 1"),
}


@pytest.fixture(scope="module")
def filled() -> Client:
    client = Client(api_of(SAMPLES))
    values = {name: value for name, (value, _) in FOUND.items()}
    assert (
        client.post("/v1/samples", {"name": "a", "sure": True, "grade": "high", "blobs": ["-_8="], **values}).status
        == 201
    )
    assert client.post("/v1/samples", {"name": "b", "sure": False}).status == 201
    return client


@pytest.mark.parametrize("name", FOUND)
def test_a_value_is_found_by_the_form_in_which_it_is_answered(filled: Client, name: str) -> None:
    answered = json_of(filled.get("/v1/samples/a"))[name]
    text = quote(FOUND[name][1])
    asked = [filled.get(f"/v1/samples?{name}{side}={text}") for side in ("", ".from", ".to")]
    conditions: list[Any] = [answered, [answered], {"eq": answered}, {"from": answered, "to": answered}]
    asked += [filled.post("/v1/samples/query", {"conditions": {name: each}}) for each in conditions]
    filters: list[Any] = [{"eq": answered}, {"in": [answered]}, {"ge": answered}, {"between": [answered, answered]}]
    asked += [
        filled.post("/v1/samples/query", {"conditions": {"name": "a"}, "filter": {"property": name, **each}})
        for each in filters
    ]
    for answer in asked:
        assert answer.status == 200, answer.body
        assert [each["name"] for each in json_of(answer)["items"]] == ["a"]


@pytest.mark.parametrize(
    ("name", "test"), [("raw", {"begins_with": "-w=="}), ("raw", {"contains": "_w=="}), ("blobs", {"contains": "-_8="})]
)
def test_a_filter_takes_a_piece_of_bytes_as_base64(filled: Client, name: str, test: dict[str, str]) -> None:
    asked = {"conditions": {"name": "a"}, "filter": {"property": name, **test}}
    assert len(json_of(filled.post("/v1/samples/query", asked))["items"]) == 1


@pytest.mark.parametrize(
    "query",
    [
        *(f"whole={text}" for text in ("1_0", "%201", "%D9%A3", "1.0", "+1", "x", "")),
        *(f"exact.from={text}" for text in ("1_0", "%201", "%D9%A3", "NaN", "")),
        *(f"near.to={text}" for text in ("1_0", "inf", "nan", "")),
        *(f"index=byGrade&sure={text}" for text in ("1", "yes", "True", "")),
        "sure=true&grade=HIGH",
        "raw=not+base64",
    ],
)
def test_a_parameter_is_the_text_of_its_value_and_nothing_like_it(filled: Client, query: str) -> None:
    assert code_of(filled.get(f"/v1/samples?{query}")) == "validation_failed"


def test_a_flag_and_an_enumeration_are_given_as_they_are_answered(filled: Client) -> None:
    assert len(json_of(filled.get("/v1/samples?sure=true&grade=high"))["items"]) == 1
    assert len(json_of(filled.get("/v1/samples?sure=true&grade.from=high"))["items"]) == 1
    assert json_of(filled.get("/v1/samples?sure=false&grade=high"))["items"] == []


def test_bytes_are_described_as_what_they_are(filled: Client) -> None:
    document = json.loads(filled.api.openapi)
    parameters = {each["name"]: each["schema"] for each in document["paths"]["/v1/samples"]["get"]["parameters"]}
    assert {"type": "string", "format": "base64url"}.items() <= parameters["raw"].items()
    assert document["components"]["schemas"]["SampleWrite"]["properties"]["raw"]["anyOf"][0]["format"] == "base64url"


# -- operands ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people() -> Client:
    client = Client(user_service().api)
    for address in ("Jo@Example.org", "joan@example.org", "zoë@example.org"):
        assert client.post("/v1/emails", {"email": address, "userId": "u"}).status == 201
    user = {"firstName": "A", "lastName": "B", "beneficiaryId": "b"}
    for number, more in enumerate(({"phone": "1"}, {"phone": "2"}, {})):
        assert client.post("/v1/users", {**user, "userId": f"u{number}", **more}).status == 201
    return client


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("emails?email.prefix=JO", 2),
        ("emails?email.prefix=JOAN", 1),
        ("emails?email.prefix=ZO%C3%8B", 1),
        ("emails?email.prefix=ZOE%CC%88", 1),
        ("emails?email.prefix=", 3),
        ("emails?email.from=K", 1),
        ("emails?email.from=", 3),
        ("emails?email.to=", 0),
        ("emails?email.to=JOB", 2),
        ("emails?email=JO@EXAMPLE.ORG", 1),
        ("users?phone.from=", 2),
        ("users?phone.prefix=", 2),
        ("users?phone.to=", 0),
        ("users?phone.from=&phone.to=1", 1),
        ("users?firstNameCanonical.from=", 3),
        ("users?firstNameCanonical.to=", 0),
        ("users?firstNameCanonical=", 0),
    ],
)
def test_a_bound_is_a_place_in_the_order_and_an_empty_one_the_first(people: Client, query: str, count: int) -> None:
    answer = people.get(f"/v1/{query}")
    assert answer.status == 200, answer.body
    assert len(json_of(answer)["items"]) == count


@pytest.mark.parametrize(
    "query", ["emails?email=", "emails?email=jo", "users?phone=", "users?userId=", "users?created.from="]
)
def test_equality_is_with_a_value_that_the_property_can_have(people: Client, query: str) -> None:
    assert code_of(people.get(f"/v1/{query}")) in ("validation_failed", "value_refused")


@pytest.mark.parametrize(
    "test",
    [{"begins_with": "JO"}, {"lt": "K"}, {"between": ["", "K"]}, {"contains": "O@E"}, {"in": ["JO@example.ORG"]}],
)
def test_filters_take_operands_alike(people: Client, test: dict[str, Any]) -> None:
    asked = {"conditions": {"userId": "u"}, "filter": {"property": "email", **test}}
    assert "jo@example.org" in [each["email"] for each in json_of(people.post("/v1/emails/query", asked))["items"]]


def test_a_canonical_bound_is_that_of_the_library_too() -> None:
    each = schema().entity("email").property_of("email")
    assert (each.bound("JO"), each.parse("JO@A")) == ("jo", "jo@a")
