"""What is wrong with a GraphQL document: said without its values, and where it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api_world import Client, json_of
from tests.unit.graphql_world import places


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ('{ people(limit: "hushed") { items { name } } }', None),
        ("{ people(limit: 8765432123456) { items { name } } }", None),
        ('mutation { createPerson(input: "hushed") { name } }', None),
        ("mutation { createPerson(input: {name: 87654321}) { name } }", None),
        ("mutation { createPerson(input: {name: [hushed]}) { name } }", None),
        ("mutation($i: PersonInput!) { createPerson(input: $i) { name } }", {"i": {"name": 87654321}}),
        ("mutation($i: PersonInput!) { createPerson(input: $i) { name } }", {"i": "hushed"}),
        ("query($id: ID!) { person(id: $id) { name } }", {"id": {"x": "hushed"}}),
        ('{ people(limit: 1 "hushed") { items { name } } }', None),
        ('{ people @skip(if: "hushed") { items { name } } }', None),
    ],
)
def test_what_is_wrong_with_a_document_is_said_without_its_values(text: str, variables: Any) -> None:
    document = {"query": text} if variables is None else {"query": text, "variables": variables}
    answer = places_client().post("/graphql", document)
    assert {error["extensions"]["status"] for error in json_of(answer)["errors"]} == {400}
    assert not any(value in answer.body for value in (b"hushed", b"87654321", b"8765432123456"))


@pytest.mark.parametrize("argument", ["nextToken", "prevToken"])
def test_a_token_that_is_none_is_named_by_its_argument(argument: str) -> None:
    answer = places_client().post("/graphql", {"query": f'{{ people({argument}: "x") {{ items {{ name }} }} }}'})
    (error,) = json_of(answer)["errors"]
    assert (error["extensions"]["code"], error["extensions"]["where"]) == ("invalid_cursor", argument)


def places_client() -> Client:
    return Client(places())
