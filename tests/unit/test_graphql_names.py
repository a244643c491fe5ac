"""What fields and types of GraphQL are called, and what is said where two would be called alike."""

from __future__ import annotations

import re
from importlib.util import find_spec
from types import ModuleType

import pytest

from shardweave import Entity, GraphQL, HashKey, Index, Schema, unique_property
from shardweave.api.graphql.names import Names
from shardweave.errors import ConfigurationError
from shardweave.service.loader import service_graphql
from tests.unit.api_world import Client, api_of
from tests.unit.graphql_world import PLACES, Graph, graph

PERSON, VISIT, SHELF = (PLACES.entity(token) for token in ("person", "visit", "shelf"))


def test_names_are_those_of_the_entity_and_of_its_collection() -> None:
    names = Names()
    assert [names.one(PERSON), names.every(PERSON), names.type(PERSON)] == ["person", "people", "Person"]
    assert [names.by_id(SHELF), names.by_index(PERSON, "byCity")] == ["shelvesById", "peopleByCity"]
    assert [names.by_index(VISIT, "day"), names.mutation("put", VISIT)] == ["visitsByDay", "putVisit"]


def test_capitalised_names_and_a_prefix_are_those_of_the_entity_alone() -> None:
    names = Names(GraphQL(name_prefix="Plugin_", capitalised=True))
    found = [names.one(VISIT), names.by_id(VISIT), names.by_index(VISIT, "byDay"), names.every(PERSON)]
    assert found == ["Plugin_Visit", "Plugin_VisitById", "Plugin_VisitByDay", "Plugin_PersonList"]
    assert [names.mutation("create", VISIT), names.type(VISIT)] == ["Plugin_CreateVisit", "Plugin_Visit"]


class Long(Entity, token="long"):
    """It is called as a type is."""

    long_id: str = unique_property()


class Thing(Entity, token="thing"):
    """An index of it is called as what is there already."""

    thing_id: str = unique_property()
    place: str

    place_hash_key = HashKey("place")


class Things(Entity, token="things", collection="other"):
    """One of these is called as the list of the others is."""

    things_id: str = unique_property()


@pytest.mark.parametrize(
    ("entities", "indexes", "said"),
    [
        ([Long], [], "the type of long would be called 'Long' as a type of GraphQL is"),
        ([Thing, Things], [], "one things would be called 'things' as the list of thing is"),
        (
            [Thing],
            [Index("place", "place_hash_key", "range_key"), Index("byPlace", "place_hash_key", "thing_id")],
            "the list of thing by byPlace would be called 'thingsByPlace' as the list of thing by place is",
        ),
    ],
)
def test_two_things_of_one_name_are_refused_where_the_service_is_made(
    entities: list[type[Entity]], indexes: list[Index], said: str
) -> None:
    schema = Schema(entities, indexes)
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        api_of(schema, graphql=GraphQL())


def test_arguments_and_properties_of_one_name_are_told_apart() -> None:
    class Queue(Entity, token="queue"):
        """It has a limit."""

        queue_id: str = unique_property()
        limit: str

        limit_hash_key = HashKey("limit")

    schema = Schema([Queue], [Index("limits", "limit_hash_key", "range_key")])
    asked = Graph(Client(api_of(schema, graphql=GraphQL())))
    for number in range(3):
        asked.client.post("/v1/queues", {"queueId": f"q{number}", "limit": "low"})
    found = asked.data('{ queuesByLimits(limit_: "low", limit: 2) { items { queueId limit } } }')
    assert found["queuesByLimits"]["items"] == [{"queueId": f"q{number}", "limit": "low"} for number in range(2)]


def test_a_module_s_graphql_is_a_graphql_or_nothing() -> None:
    module = ModuleType("orders")
    assert service_graphql(module) is None
    module.graphql = GraphQL()  # type: ignore[attr-defined]
    assert service_graphql(module) == GraphQL()
    module.graphql = find_spec  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="must be a GraphQL, got function"):
        service_graphql(module)


def test_a_service_without_graphql_has_no_such_path() -> None:
    client = graph().client
    assert client.post("/graphql", {"query": "{ __typename }"}).status == 200

    assert Client(api_of(PLACES)).post("/graphql", {"query": "{ __typename }"}).status == 404
