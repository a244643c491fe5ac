"""1,000 random documents of GraphQL are answered as a look at every record says."""

from __future__ import annotations

from random import Random

import pytest

from shardweave import GraphQL
from tests.integration.graphql_documents import Document, made_records
from tests.unit.graphql_world import graph

OF_EACH_WORLD = 200


@pytest.mark.parametrize("world", range(5))
def test_random_documents_are_answered_as_by_looking_at_every_record(world: int) -> None:
    chance = Random(world)
    records = made_records(chance)
    asked = graph(GraphQL(max_cost=1_000_000))
    for collection, entity in (("people", "person"), ("pets", "pet"), ("visits", "visit")):
        for record in records[entity]:
            assert asked.client.post(f"/v1/{collection}", record).status == 201
    empty = 0
    for _ in range(OF_EACH_WORLD):
        text, variables, expected = Document(chance, records).random()
        assert asked.data(text, **variables) == expected, text
        empty += not any(expected.values())
    assert empty < OF_EACH_WORLD / 4, "most documents ask for what is there"
