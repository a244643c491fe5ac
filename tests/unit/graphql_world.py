"""Fixtures for tests of GraphQL.

Person    found by id and by city; has a friend, who is another, and pets
Pet       of a kind
Visit     of a person, by day, with a code and the pets that came along; an index has only some of it
Shelf     its place is two properties, and so is what it is sorted by
Tally     there is one
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from shardweave import GraphQL
from shardweave.api.app import Api
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import private_property, unique_property
from shardweave.schema.schema import Schema
from tests.unit.api_world import Client, CountedTable, api_of, json_of

FOUR = [ShardBump(0, char_bits=2, chars=1)]


class Person(Entity, token="person", collection="people", shard_bumps=FOUR):
    """Somebody."""

    person_id: str = unique_property()
    name: str
    age: int | None = None
    city: str
    friend_id: str | None = None
    pet_ids: list[str] = Field(default_factory=list)
    secret: str | None = private_property(default=None)

    city_hash_key = HashKey("city")
    name_range_key = RangeKey("name", "person_id")

    friend = belongs_to("person", by="friend_id")
    pets = has_many("pet", by="pet_ids")


class Pet(Entity, token="pet", shard_bumps=FOUR):
    """A pet."""

    pet_id: str = unique_property()
    kind: str
    owner_id: str | None = None

    owner = belongs_to("person", by="owner_id")


class Visit(Entity, token="visit", partition="person_id", sort="code", shard_bumps=FOUR):
    """What a person did on a day."""

    person_id: str
    code: str
    day: int
    note: str | None = None
    pet_ids: list[str] = Field(default_factory=list)

    day_hash_key = HashKey("day")

    person = belongs_to(Person, by="person_id")
    pets = has_many(Pet, by="pet_ids")


class Shelf(Entity, token="shelf", collection="shelves", partition=("house", "room"), sort=("row", "number")):
    """A shelf."""

    house: str
    room: str
    row: str
    number: int
    full: bool = False


class Tally(Entity, token="tally", collection="tally", singleton=True):
    """How many there are."""

    people: int = 0


PLACES = Schema(
    [Person, Pet, Visit, Shelf, Tally],
    [
        Index("byCity", "city_hash_key", "name_range_key"),
        Index("day", "day_hash_key", "range_key", projection=("note",)),
    ],
)


@dataclass
class Graph:
    """Asks an API in GraphQL."""

    client: Client

    def answer(self, text: str, **variables: Any) -> dict[str, Any]:
        """The whole answer."""
        found = self.client.post("/graphql", {"query": text, "variables": variables})
        assert found.status == 200, found.body
        document: dict[str, Any] = json_of(found)
        return document

    def data(self, text: str, **variables: Any) -> dict[str, Any]:
        """What was asked for, where nothing went wrong."""
        found = self.answer(text, **variables)
        assert "errors" not in found, found["errors"]
        data: dict[str, Any] = found["data"]
        return data

    def codes(self, text: str, **variables: Any) -> list[str]:
        """The codes of what went wrong."""
        return [each["extensions"]["code"] for each in self.answer(text, **variables).get("errors", ())]


def places(graphql: GraphQL | None = None, **options: Any) -> Api:
    """The API of these entities."""
    return api_of(PLACES, graphql=graphql or GraphQL(introspection=True), **options)


def graph(graphql: GraphQL | None = None, **options: Any) -> Graph:
    """Who asks it."""
    return Graph(Client(places(graphql, **options)))


def filled(table: CountedTable | None = None, graphql: GraphQL | None = None, **options: Any) -> Graph:
    """Five people, of whom each is a friend of the next, three pets, and visits of the first."""
    found = graph(graphql, **({} if table is None else {"table": table}), **options)
    client = found.client
    for number, pet in enumerate(("cat", "dog", "owl")):
        client.post("/v1/pets", {"petId": f"t{number}", "kind": pet, "ownerId": f"p{number}"})
    for number, name in enumerate(("Ann", "Bob", "Cid", "Dot", "Eve")):
        client.post(
            "/v1/people",
            {
                "personId": f"p{number}",
                "name": name,
                "age": 20 + number,
                "city": "Rome" if number % 2 else "Oslo",
                "friendId": f"p{number + 1}",
                "petIds": [f"t{each}" for each in range(number)],
                "secret": "hush",
            },
        )
    for day in range(4):
        visit = {"personId": "p0", "code": f"v{day}", "day": day % 2, "note": f"n{day}", "petIds": ["t0", "gone"]}
        client.post("/v1/visits", visit)
    client.post("/v1/shelves", {"house": "a", "room": "b", "row": "c", "number": 1, "full": True})
    client.post("/v1/shelves", {"house": "a", "room": "b", "row": "c", "number": 2})
    client.post("/v1/tally", {"people": 5})
    return found
