"""The OpenAPI document describes the language of queries and filters exactly as it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from services.user_service import User
from shardweave.api.operation import model_of
from shardweave.api.query_bodies import QueryBodies
from shardweave.wire.query_reports import Counted, Explained
from tests.unit.api_world import Client, code_of, json_of, user_service

SERVICE = user_service()
CLIENT = Client(SERVICE.api)
BODIES = QueryBodies(SERVICE.parts.schema[User])
OPERATIONS = {operation.name: operation for operation in SERVICE.api.operations}


def described(model: type[BaseModel], document: Any) -> bool:
    """Whether a document is what the OpenAPI document says."""
    try:
        model.model_validate_json(json.dumps(document), strict=True)
    except ValidationError:
        return False
    return True


PROPERTIES = set(SERVICE.parts.schema[User].properties)
"""Where a fault lies in a value that does not fit its property, not in the form of the query."""

SCALARS = st.sampled_from(["ja", "1", 7, True, 1.5, "2024-01-31", 1_730_000_000_000])
ANYTHING = SCALARS | st.none() | st.just([]) | st.just({}) | st.just([["x"]])
NAMES = st.sampled_from(["firstNameCanonical", "phone", "created", "beneficiaryId", "lastName", "colour"])


def some(words: dict[str, st.SearchStrategy[Any]], most: int) -> st.SearchStrategy[dict[str, Any]]:
    """An object with some of these words, each mostly with what it takes."""
    pair = st.sampled_from([*words, "nosuch"]).flatmap(
        lambda word: st.tuples(st.just(word), words.get(word, ANYTHING) if word in words else ANYTHING)
    )
    return st.lists(pair, max_size=most).map(dict)


LISTS = st.lists(SCALARS, max_size=3) | ANYTHING
CONDITION = LISTS | some({"eq": SCALARS, "in": LISTS, "prefix": SCALARS, "from": ANYTHING, "to": SCALARS}, 2)
TESTS = {
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "contains"), SCALARS),
    "between": st.lists(SCALARS, min_size=1, max_size=3),
    "in": LISTS,
    "begins_with": SCALARS,
    "exists": st.booleans() | ANYTHING,
    "size": some(dict.fromkeys(("eq", "gt"), st.integers(0, 9) | ANYTHING), 2),
}
TEST = st.tuples(NAMES, st.sampled_from(list(TESTS)).flatmap(lambda test: st.tuples(st.just(test), TESTS[test])))
FILTER = st.recursive(
    TEST.map(lambda pair: {"property": pair[0], pair[1][0]: pair[1][1]}) | some({"property": NAMES, **TESTS}, 3),
    lambda inner: some({"and": st.lists(inner, max_size=2), "or": st.lists(inner, max_size=2), "not": inner}, 1),
    max_leaves=4,
)
INDEXES = st.sampled_from(["firstName", "phone", "created", "nosuch"]) | ANYTHING
BRANCH = {"conditions": st.dictionaries(NAMES, CONDITION, max_size=2), "index": INDEXES, "filter": FILTER}
QUERY = some(
    {
        **BRANCH,
        "branches": st.lists(some(BRANCH, 3), max_size=3) | ANYTHING,
        "reverse": st.booleans() | ANYTHING,
        "limit": st.sampled_from([0, 1, 500, 501, "5", None]),
        "nextToken": st.sampled_from(["t", 5, None]),
        "consistent": st.booleans() | ANYTHING,
        "earliest": ANYTHING,
        "latest": SCALARS,
        "properties": st.lists(NAMES, max_size=2) | ANYTHING,
        "hydrate": st.booleans() | ANYTHING,
        "timeLimitMs": st.sampled_from([0, 60_000, "x", None]),
        "budget": st.sampled_from([0, 5, None, 1.5]),
        "onShardError": st.sampled_from(["fail", "partial", "ignore", None]),
        "stats": st.booleans() | ANYTHING,
    },
    4,
)


@given(QUERY)
def test_what_is_answered_is_described_and_what_is_described_has_the_right_form(document: dict[str, Any]) -> None:
    answer = CLIENT.post("/v1/users/query", document)
    if answer.status == 200:
        assert described(BODIES.query, document)
        model = OPERATIONS["queryUser"].answer.model
        assert model is not None
        model_of(model).model_validate_json(answer.body)
    else:
        assert answer.status == 400
        if code_of(answer) == "validation_failed" and described(BODIES.query, document):
            assert {fault["where"] for fault in json_of(answer)["errors"]} <= PROPERTIES


@given(QUERY, st.booleans() | ANYTHING)
def test_count_and_explain_take_the_same(document: dict[str, Any], run: Any) -> None:
    answers = [CLIENT.post(f"/v1/users/{what}", document) for what in ("query", "count")]
    if "nextToken" not in document:
        assert len({answer.status for answer in answers}) == 1
    if answers[1].status == 200:
        Counted.model_validate_json(answers[1].body)
    explained = CLIENT.post("/v1/users/explain", {**document, "run": run})
    if explained.status == 200:
        assert described(BODIES.explain, {**document, "run": run})
        Explained.model_validate_json(explained.body)
    else:
        assert explained.status == 400


@pytest.mark.parametrize("what", ["query", "count", "explain"])
def test_the_document_leads_from_a_query_to_the_language_of_filters(what: str) -> None:
    document = json_of(CLIENT.get("/openapi.json"))
    schemas = document["components"]["schemas"]
    operation = document["paths"][f"/v1/users/{what}"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
    filters = {
        each["$ref"].rsplit("/", 1)[1] for each in schemas[body]["properties"]["filter"]["anyOf"] if "$ref" in each
    }
    assert filters == {"PropertyFilter", "AllFilter", "AnyFilter", "NotFilter"}
    assert {"eq", "ne", "lt", "le", "gt", "ge", "between", "in", "begins_with", "contains", "exists", "size"} < set(
        schemas["PropertyFilter"]["properties"]
    )
    assert schemas["UserConditions"]["additionalProperties"] is False
    assert "firstNameCanonical" in schemas["UserConditions"]["properties"]
    assert {"200", "400", "413", "415", "503"} < set(operation["responses"])
    assert "`deadline_too_short`" in operation["responses"]["503"]["description"]
