"""The JSON form of queries and filters: what it says, and how it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services import user_service
from services.user_service import User
from shardweave.errors import InputError
from shardweave.query.filters import filter_as_json, filter_from_json
from shardweave.query.spec import BranchSpec, Equal, OneOf, Prefix, QuerySpec, Range
from shardweave.table.conditions import (
    And,
    BeginsWith,
    Between,
    Compare,
    Contains,
    Exists,
    In,
    Missing,
    Not,
    Or,
    Size,
)
from shardweave.wire.query_json import spec_from_json

USER = user_service.schema()[User]


def test_every_part_of_a_query() -> None:
    spec = spec_from_json(
        USER,
        {
            "conditions": {
                "beneficiaryId": ["b1", "b2"],
                "firstNameCanonical": {"prefix": "ja"},
                "lastNameCanonical": "wu",
                "created": {"from": "2024-01-31", "to": 1_730_000_000_000},
                "phone": {"eq": "1"},
            },
            "index": "firstName",
            "filter": {"property": "phone", "exists": True},
            "reverse": True,
            "limit": 5,
            "nextToken": "t",
            "consistent": True,
            "earliest": "2024-01-01T00:00:00Z",
            "latest": 5,
            "properties": ["phone"],
            "hydrate": False,
            "timeLimitMs": 800,
            "budget": 9,
            "onShardError": "partial",
        },
        scope="tenant",
    )
    assert spec == QuerySpec(
        "user",
        {
            "beneficiaryId": OneOf(("b1", "b2")),
            "firstNameCanonical": Prefix("ja"),
            "lastNameCanonical": Equal("wu"),
            "created": Range(1_706_659_200_000, 1_730_000_000_000),
            "phone": Equal("1"),
        },
        index="firstName",
        filter=Exists("phone"),
        reverse=True,
        limit=5,
        cursor="t",
        consistent=True,
        earliest=1_704_067_200_000,
        latest=5,
        scope="tenant",
        properties=("phone",),
        time_limit_ms=800,
        budget=9,
        on_shard_error="partial",
    )


def test_branches_have_conditions_index_and_filter() -> None:
    spec = spec_from_json(
        USER,
        {
            "branches": [
                {"conditions": {"firstNameCanonical": {"prefix": "ja"}}, "index": "firstName"},
                {"conditions": {"lastNameCanonical": {"in": ["a"]}}, "filter": {"property": "phone", "eq": "1"}},
            ]
        },
    )
    assert spec.branches == (
        BranchSpec({"firstNameCanonical": Prefix("ja")}, "firstName"),
        BranchSpec({"lastNameCanonical": OneOf(("a",))}, None, Compare("phone", "=", "1")),
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([], "object"),
        ({"limits": 5, "index": 7}, r"limits: unknown.*index: it is a string"),
        ({"limit": True}, "limit: it is a whole number"),
        ({"limit": "5"}, "limit: it is a whole number"),
        ({"branches": [{"where": {}}]}, r"branches\[0\].where: unknown"),
        ({"branches": [3]}, r"branches\[0\]: must be an object"),
        (
            {"conditions": {"phone": {"prefix": "1", "from": "2"}}},
            "conditions.phone: must be a value, a list or an object of conditions",
        ),
        ({"conditions": {"phone": {}}}, "must be a value, a list or an object of conditions"),
        ({"conditions": {"phone": None}}, "plain values"),
        ({"conditions": {"phone": [["x"]]}}, "plain values"),
        ({"conditions": {"nope": "1"}}, "no property 'nope'"),
        ({"conditions": {"created": {"from": "yesterday"}}}, "neither a number nor an ISO 8601 time"),
        ({"onShardError": "ignore"}, "fail or partial"),
        ({"properties": []}, "property names"),
        ({"properties": [1]}, "property names"),
        ({"earliest": "2024-01-01T00:00:00"}, "no zone"),
    ],
)
def test_what_is_wrong_with_a_query_is_said_with_its_place(content: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        spec_from_json(USER, content)


def test_every_filter() -> None:
    leaf = Compare("phone", "=", "1")
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"property": "phone", "eq": "1"}, leaf),
        ({"property": "phone", "ne": "1"}, Compare("phone", "<>", "1")),
        ({"property": "phone", "lt": "1"}, Compare("phone", "<", "1")),
        ({"property": "phone", "ge": "1"}, Compare("phone", ">=", "1")),
        ({"property": "phone", "between": ["1", "2"]}, Between("phone", "1", "2")),
        ({"property": "phone", "in": ["1", "2"]}, In("phone", ("1", "2"))),
        ({"property": "phone", "begins_with": "1"}, BeginsWith("phone", "1")),
        ({"property": "phone", "contains": "1"}, Contains("phone", "1")),
        ({"property": "phone", "exists": True}, Exists("phone")),
        ({"property": "phone", "exists": False}, Missing("phone")),
        ({"property": "phone", "size": {"gt": 3}}, Size("phone", ">", 3)),
        ({"not": {"property": "phone", "eq": "1"}}, Not(leaf)),
        ({"and": [{"property": "phone", "eq": "1"}]}, And((leaf,))),
        ({"or": [{"property": "phone", "eq": "1"}, {"property": "phone", "eq": "1"}]}, Or((leaf, leaf))),
    ]
    for content, filter_ in cases:
        assert filter_from_json(content) == filter_
        assert filter_from_json(filter_as_json(filter_)) == filter_


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (3, "a filter must be an object"),
        ({}, "one property and one test"),
        ({"property": "phone"}, "one property and one test"),
        ({"property": "phone", "eq": "1", "ne": "2"}, "one property and one test"),
        ({"property": "phone", "eq": "1", "also": 1}, "'also' can't stand beside eq, property"),
        ({"property": "phone", "eq": None}, "not null"),
        ({"property": "phone", "between": ["1"]}, "a list of 2 values"),
        ({"property": "phone", "in": []}, "a list of 1 to 100 values"),
        ({"property": "phone", "begins_with": 1}, "a beginning is text"),
        ({"property": "phone", "exists": 1}, "true or false"),
        ({"property": "phone", "size": 3}, "one comparison"),
        ({"property": "phone", "size": {"gt": "3"}}, "a whole number"),
        ({"and": []}, "takes a list"),
        ({"and": [{"or": [3]}]}, r"filter.and\[0\].or\[0\]: a filter must be an object"),
        ({"not": {}, "and": []}, "'not' can't stand beside and"),
    ],
)
def test_what_is_wrong_with_a_filter_is_said_with_its_place(content: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        filter_from_json(content)


def test_a_filter_too_deep_is_refused() -> None:
    content: dict[str, Any] = {"property": "phone", "eq": "1"}
    for _ in range(20):
        content = {"not": content}
    with pytest.raises(InputError, match="at most 8 levels"):
        filter_from_json(content)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "and",
                    "or",
                    "not",
                    "property",
                    "eq",
                    "in",
                    "size",
                    "conditions",
                    "branches",
                    "filter",
                    "limit",
                    "phone",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_a_query_or_a_clear_refusal(content: Any) -> None:
    for parse in (filter_from_json, lambda each: spec_from_json(USER, each)):
        try:
            parse(content)
        except InputError as error:
            assert error.message  # noqa: PT017
