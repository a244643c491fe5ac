"""A number is stored, and asked for, as what its text says, or refused: wherever numbers come in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.cli.json_lines import parse_object
from shardweave.cli.records import item_of, values_of, whole_record
from shardweave.errors import InputError, ValidationFailed, ValueRefused
from shardweave.query.spec import Equal, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.read_models import Action, Event, ReadModel, Update
from shardweave.schema.schema import Schema
from shardweave.store.events.lww_registers import Known, RegisterPart, Whole
from shardweave.table.values import number_sum
from shardweave.values.codecs import DecimalCodec, Timestamp
from shardweave.values.json_types import json_number
from shardweave.wire.query_json import spec_from_json
from shardweave.wire.record_models import RecordModels
from tests.unit.api_world import Client, api_of, code_of, json_of


class Measured(Entity, token="measured"):
    """Has a number of each kind."""

    name: str = unique_property()
    created: Timestamp = timestamp_property()
    whole: int | None = None
    exact: Decimal | None = None
    fixed: Annotated[Decimal, DecimalCodec(2)] | None = None
    near: float | None = None
    many: list[float] | None = None
    open: dict[str, Any] | None = None


class Weight(Entity, token="weight"):
    """What an event writes."""

    name: str = unique_property()
    exact: Decimal | None = None


class Weighed(Event):
    """An event with a number."""

    type: Literal["weighed"] = "weighed"
    name: str
    weight: Decimal


def weigh(event: Weighed) -> Sequence[Action]:
    return (Update(Weight, event.name, {"exact": event.weight}),)


def weigh_together(event: Weighed) -> Sequence[Action]:
    return (Update(Weight, event.name, {}, add={"exact": event.weight}),)


SCHEMA = Schema(
    entities=[Measured],
    indexes=[Index(f"by{name.capitalize()}", "hash_key", name) for name in ("whole", "exact", "near")],
)
MEASURED = SCHEMA.entity("measured")

ANOTHER_AS_FLOAT = [
    ("created", "1e-400"),
    ("created", "1700000000000.00000000000000000000001"),
    ("whole", "1.00000000000000000000001"),
    ("whole", "1e-400"),
    ("exact", "0.30000000000000000000000001"),
    ("exact", "1.00000000000000000000001"),
    ("exact", "0.1000000000000000055511151231257827"),
    ("exact", "1e-400"),
    ("fixed", "1e-400"),
    ("near", "0.30000000000000000000000001"),
    ("near", "9007199254740993"),
    ("near", "9007199254740993.0"),
    ("near", "1e-400"),
    ("near", "1e400"),
]
DEEPER = [("many", "[1.5, 9007199254740993]", "many[1]"), ("many", "[0.1, 1e-400]", "many[1]")]


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(api_of(SCHEMA))


def sent(client: Client, method: str, target: str, text: str) -> Any:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return client.request(method, target, text.encode(), {"content-type": kind})


@pytest.mark.parametrize(("name", "text"), ANOTHER_AS_FLOAT)
def test_a_number_that_would_become_another_is_refused_in_every_body(client: Client, name: str, text: str) -> None:
    client.put("/v1/measureds/a", {})
    record, number = '{"name": "new", "' + name + '": ' + text + "}", '{"' + name + '": ' + text + "}"
    for method, target, body in (
        ("POST", "/v1/measureds", record),
        ("PUT", "/v1/measureds/new", number),
        ("PATCH", "/v1/measureds/a", number),
        ("POST", "/v1/measureds/batch-write", '{"puts": [' + record + "]}"),
        ("POST", "/v1/measureds/query", '{"conditions": ' + number + "}"),
        ("POST", "/v1/measureds/query", '{"filter": {"property": "' + name + '", "eq": ' + text + "}}"),
    ):
        answer = sent(client, method, target, body)
        assert code_of(answer) == "validation_failed", answer.body
    assert client.get("/v1/measureds/new").status == 404


@pytest.mark.parametrize(("name", "text"), ANOTHER_AS_FLOAT)
def test_it_is_refused_on_the_command_line_too(name: str, text: str) -> None:
    line = parse_object('{"name": "n", "' + name + '": ' + text + "}")
    for read in (item_of, values_of, whole_record):
        with pytest.raises(ValidationFailed) as refused:
            read(MEASURED, line)
        assert [fault.location for fault in refused.value.fields] == [(name,)]


@pytest.mark.parametrize(("name", "text", "place"), DEEPER)
def test_a_number_inside_is_named_by_its_place(client: Client, name: str, text: str, place: str) -> None:
    answer = sent(client, "PUT", "/v1/measureds/b", '{"nope": 1e-400, "' + name + '": ' + text + "}")
    assert {each["where"] for each in json_of(answer)["errors"]} == {"nope", place}


@pytest.mark.parametrize("text", ["9007199254740993", "0.30000000000000000000000001", "1e-400", "1e400"])
def test_a_parameter_is_no_other_number(client: Client, text: str) -> None:
    assert code_of(client.get(f"/v1/measureds?near={text}")) == "validation_failed"


def test_a_bound_has_every_digit_that_was_given() -> None:
    low = Decimal("0.30000000000000000000000001")
    asked = spec_from_json(MEASURED, parse_object('{"conditions": {"exact": {"from": 0.30000000000000000000000001}}}'))
    assert asked.conditions["exact"] == Range(low, None)
    assert MEASURED.properties["exact"].read_bound_text(str(low)) == low


def test_where_any_value_fits_a_body_is_refused_what_it_would_answer_as_text(client: Client) -> None:
    answer = sent(client, "PUT", "/v1/measureds/o", '{"open": {"a": [0.30000000000000000000000001]}}')
    assert [each["where"] for each in json_of(answer)["errors"]] == ["open.a[0]"]


def test_a_body_that_is_refused_has_an_idempotency_key_like_others(client: Client) -> None:
    headers = {"content-type": "application/json", "idempotency-key": "k"}
    answer = client.request("POST", "/v1/measureds", b'{"name": "k", "exact": 1e-400}', headers)
    assert code_of(answer) == "validation_failed"


@pytest.mark.parametrize("text", ["1e99999999999999999999", "1e-99999999999999999999"])
def test_an_exponent_beyond_all_bounds_is_no_number(client: Client, text: str) -> None:
    assert code_of(sent(client, "PUT", "/v1/measureds/e", '{"exact": ' + text + "}")) == "malformed_request"
    with pytest.raises(InputError):
        parse_object('{"exact": ' + text + "}")


@pytest.mark.parametrize(
    ("name", "text", "stored"),
    [
        ("created", "1.5e12", 1_500_000_000_000),
        ("whole", "1.0000000000000000000000000000", 1),
        ("exact", "0.10", Decimal("0.1")),
        ("exact", "0e-400", 0),
        ("near", "9007199254740992", 9007199254740992),
        ("near", "1e22", 10**22),
        ("near", "0.1", Decimal("0.1")),
    ],
)
def test_what_a_float_gives_back_is_taken(client: Client, name: str, text: str, stored: Any) -> None:
    body = '{"' + name + '": ' + text + "}"
    assert sent(client, "PUT", f"/v1/measureds/{name}{text}", body).status == 201
    assert values_of(MEASURED, parse_object(body)) == {name: stored}
    (asked,) = spec_from_json(MEASURED, {"conditions": json.loads(body)}).conditions.values()
    assert isinstance(asked, Equal)
    assert MEASURED.properties[name].parse(asked.value) == stored


@settings(max_examples=60)
@given(st.from_regex(r"-?(0|[1-9][0-9]{0,19})\.[0-9]{1,25}(e-?[0-9]{1,3})?", fullmatch=True))
def test_a_number_is_read_as_what_it_says_or_not_at_all(text: str) -> None:
    number = json_number(text)
    assert Decimal(repr(number) if isinstance(number, float) else number) == Decimal(text)
    try:
        read = RecordModels(MEASURED).written({"name": "n", "exact": number, "near": number})
    except ValidationFailed:
        return
    assert read["exact"] == Decimal(text)
    assert Decimal(repr(read["near"])) == Decimal(text)


def test_an_event_is_refused_a_number_that_would_become_another() -> None:
    read_model = ReadModel("weights", events=(Weighed,), writes=(Weight,), project=weigh)
    client = Client(api_of(Schema(entities=[Weight], read_models=[read_model])))
    event = '{"type": "weighed", "eventId": "e", "position": 1, "name": "n", "weight": 1e-400}'
    assert code_of(sent(client, "POST", "/v1/_events/weights", event)) == "validation_failed"


NUMBERS = st.builds(
    lambda sign, digits, exponent: Decimal((sign, tuple(map(int, str(digits))), exponent)),
    st.sampled_from([0, 1]),
    st.integers(0, 10**38 - 1),
    st.integers(-60, 60),
)


@settings(max_examples=60)
@given(st.lists(NUMBERS, max_size=5))
def test_what_events_add_has_every_digit_or_is_refused(amounts: list[Decimal]) -> None:
    known = Known()
    for at, amount in enumerate(amounts):
        exact = sum(map(Fraction, amounts[: at + 1]))
        significant = str(exact.numerator * 10**80 // exact.denominator).strip("-0")
        try:
            known = RegisterPart({}, {"n": amount}).applied_to(known, (at, "e"))
        except ValueRefused:
            assert len(significant) > 38
            return
        assert Fraction(known.values["n"]) == Fraction(known.marks.added["n"]) == exact
        given_back = Whole({"n": Decimal(0)}).applied_to(known, (at + 10, "w")).values["n"]
        assert Fraction(given_back) == exact


@pytest.mark.parametrize(
    "other", [Decimal("1e-400"), Decimal("NaN"), Decimal("Infinity"), Decimal("1" * 500), Decimal("1e999999")]
)
def test_a_sum_that_no_table_holds_is_refused(other: Decimal) -> None:
    with pytest.raises(ValueRefused):
        number_sum(Decimal("1e100"), other)


@pytest.mark.parametrize(
    ("one", "other", "total"),
    [
        ("12345678901234567890123456789012.12", "0.01", "12345678901234567890123456789012.13"),
        ("1e28", "0.01", "10000000000000000000000000000.01"),
        ("9" * 38, "1", "1" + "0" * 38),
        ("9" * 38, "0.1", None),
    ],
)
def test_an_event_whose_sum_needs_more_digits_is_refused_and_changes_nothing(
    one: str, other: str, total: str | None
) -> None:
    read_model = ReadModel("weights", events=(Weighed,), writes=(Weight,), project=weigh_together)
    client = Client(api_of(Schema(entities=[Weight], read_models=[read_model])))
    event = {"type": "weighed", "eventId": "1", "position": 1, "name": "n", "weight": one}
    assert client.post("/v1/_events/weights", event).status == 200
    answer = client.post("/v1/_events/weights", {**event, "eventId": "2", "weight": other})
    if total is None:
        problem = json_of(answer)
        assert (code_of(answer), problem["where"]) == ("value_refused", "exact")
    assert Decimal(json_of(client.get("/v1/weights/n"))["exact"]) == Decimal(total or one)
