"""The lists of lookups in GraphQL: the same random requests at both doors, by callers of two tenants and by nobody, are
answered alike and as a look at every record says, page by page, with tokens that either door takes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from pydantic import Field

from shardweave import GraphQL
from shardweave.api.app import Api
from shardweave.errors import ConfigurationError
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Lookup, OrderedLookup, has_many
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import claim_property, private_property, unique_property
from shardweave.schema.schema import Schema
from tests.integration.test_graphql_rights import of_graphql, of_routes
from tests.unit.access_world import Person, person
from tests.unit.api_world import api_of, json_of

FOUR = [ShardBump(0, char_bits=2, chars=1)]


class Tag(Entity, token="tag", partition="tenant_id", sort="name"):
    """What notes are about."""

    tenant_id: str = claim_property("tenant")
    name: str

    notes = has_many("note", via="tags")


class Note(Entity, token="note", partition="tenant_id", shard_by="note_id", shard_bumps=FOUR):
    """A note with tags, sizes and a text that is not shown."""

    tenant_id: str = claim_property("tenant")
    note_id: str = unique_property()
    rank: int | None = None
    title: str
    sizes: dict[str, int] = Field(default_factory=dict)
    tag_names: list[str] = Field(default_factory=list)
    secret: str | None = private_property(default=None)

    tags = has_many(Tag, by=("tenant_id", "tag_names"))
    tag_lookup = Lookup("tag_names", within="tenant_id", name="tag")
    title_list = OrderedLookup("title", within="tenant_id", then="rank", name="byTitle")
    rank_list = OrderedLookup("rank", within="tenant_id")
    size_list = OrderedLookup("sizes", within="tenant_id", then="rank")
    secret_list = OrderedLookup("secret", within="tenant_id")


SCHEMA = Schema([Tag, Note])
SHOWN = "noteId title rank"
TITLES = ("an", "and", "ant", "be", "bee")
CALLERS: dict[str, Callable[[Api], Person]] = {
    "acme": lambda api: person(api, tenant="acme"),
    "bolt": lambda api: person(api, "bob", tenant="bolt"),
    "nobody": Person,
}
Record = dict[str, Any]


def made(api: Api, chance: Random) -> dict[str, list[Record]]:
    records: dict[str, list[Record]] = {}
    for tenant in ("acme", "bolt"):
        who = CALLERS[tenant](api)
        for name in "abc":
            who.made("tags", name=name)
        for number in range(14):
            rank = {"rank": chance.randrange(-2, 3)} if chance.random() < 0.8 else {}
            note = {
                "noteId": f"n{number}",
                "title": chance.choice(TITLES),
                "sizes": {name: chance.randrange(3) for name in ("x", "y") if chance.random() < 0.7},
                "tagNames": [name for name in "abc" if chance.random() < 0.5],
                **rank,
            }
            who.made("notes", **note)
            records.setdefault(tenant, []).append(note)
    return records


def order(name: str, entry: str = "") -> Callable[[Record], Any]:
    """Equal values come by rank, those without one first, then by id."""

    def key(each: Record) -> Any:
        value = each[name][entry] if entry else each[name]
        rank = () if name == "rank" else ((each.get("rank") is not None, each.get("rank") or 0),)
        return (value, *rank, each["noteId"])

    return key


def condition(chance: Random, values: tuple[Any, ...]) -> tuple[dict[str, Any], Callable[[Any], bool]]:
    low, high = sorted(chance.choices(values, k=2))
    kind = chance.randrange(6 if isinstance(low, str) else 5)
    if kind == 0:
        return {"eq": low}, lambda each: each == low
    if kind == 1:
        return {"from": low, "to": high}, lambda each: low <= each <= high
    if kind == 2:
        return {"from": low}, lambda each: each >= low
    if kind == 3:
        return {"to": high}, lambda each: each <= high
    if kind == 5:
        return {"prefix": low[:1]}, lambda each: each.startswith(low[:1])
    return {}, lambda each: True


def asked(chance: Random) -> tuple[str, str, dict[str, str], list[str], Callable[[list[Record]], list[Record]], str]:
    """A list: what it is called, its path and parameters over HTTP, its arguments in GraphQL, and what it has."""
    name = chance.choice(("title", "rank", "sizes", "tag"))
    if name == "tag":
        tag = chance.choice("abc")

        def of_tag(records: list[Record]) -> list[Record]:
            return sorted((each for each in records if tag in each["tagNames"]), key=lambda each: each["noteId"])

        return "tag", f"/v1/tags.notes/{tag}", {}, ['id: "TENANT"', f'sort: "{tag}"'], of_tag, "tagNotes"
    entry = chance.choice(("x", "y", "z")) if name == "sizes" else ""
    tests, holds = condition(chance, TITLES if name == "title" else (-2, -1, 0, 1, 2))
    query = {"lookup": {"title": "byTitle"}.get(name, name)}
    query |= {name if word == "eq" else f"{name}.{word}": str(value) for word, value in tests.items()}
    arguments = [f"{name}: {{{', '.join(f'{word}: {json.dumps(value)}' for word, value in tests.items())}}}"] * bool(
        tests
    )
    if entry:
        query["sizes.name"] = entry
        arguments.append(f'sizesName: "{entry}"')

    def of_list(records: list[Record]) -> list[Record]:
        def value(each: Record) -> Any:
            return each["sizes"].get(entry) if entry else each.get(name)

        return sorted(
            (each for each in records if value(each) is not None and holds(value(each))), key=order(name, entry)
        )

    field = {"title": "notesInOrderOfTitle", "rank": "notesInOrderOfRank", "sizes": "notesInOrderOfSizes"}[name]
    return name, "/v1/notes", query, arguments, of_list, field


@pytest.mark.parametrize("seed", range(3))
def test_random_lists_are_answered_alike_at_both_doors_and_walked_with_tokens_of_either(seed: int) -> None:
    chance = Random(seed)
    api = api_of(SCHEMA, graphql=GraphQL(max_cost=10**6))
    records, met = made(api, chance), Counter[str]()
    for _ in range(120):
        caller = chance.choice(("acme", "acme", "bolt", "nobody"))
        who, limit = CALLERS[caller](api), chance.randint(1, 5)
        name, path, query, arguments, of_list, field = asked(chance)
        reverse = name != "tag" and chance.random() < 0.5
        query = {**query, "limit": str(limit), **({"reverse": "true"} if reverse else {})}
        given = [each.replace("TENANT", caller) for each in arguments]
        given += [f"limit: {limit}", *(["reverse: true"] if reverse else [])]
        if caller == "nobody":
            text = f"{{ {field}({', '.join(given)}) {{ items {{ {SHOWN} }} }} }}"
            assert of_graphql(who, text)[0] == of_routes(who, "GET", f"{path}?{urlencode(query)}", None)[0]
            met["refused"] += 1
            continue
        wanted = of_list(records[caller])
        wanted = wanted[::-1] if reverse else wanted
        found: list[str] = []
        token: tuple[str, str] | None = None
        while True:
            more = "" if token is None else f", {token[0]}: {json.dumps(token[1])}"
            text = f"{{ {field}({', '.join(given)}{more}) {{ items {{ {SHOWN} }} nextToken prevToken complete }} }}"
            answer = json_of(who.post("/graphql", {"query": text}))
            assert "errors" not in answer, (answer, text)
            (page,) = answer["data"].values()
            over_http = json_of(who.get(f"{path}?{urlencode({**query, **dict([token] if token else [])})}"))
            ids = [each["noteId"] for each in page["items"]]
            assert ids == [each["noteId"] for each in over_http["items"]]
            assert page["complete"] is over_http["complete"] is True
            assert (page["nextToken"] is None) == (over_http["nextToken"] is None)
            found += ids
            met["pages"] += 1
            met["pages with a page before"] += page["prevToken"] is not None
            if page["nextToken"] is None:
                break
            token = ("nextToken", chance.choice((page, over_http))["nextToken"])
        assert found == [each["noteId"] for each in wanted], text
        met[name] += bool(wanted)
        met["backwards"] += reverse and len(wanted) > 1
    floors = {"refused": 10, "pages": 60, "pages with a page before": 20, "backwards": 10}
    floors |= dict.fromkeys(("title", "rank", "sizes", "tag"), 5)
    assert {each: met[each] for each, floor in floors.items() if met[each] < floor} == {}


@pytest.fixture
def acme() -> Person:
    api = api_of(SCHEMA, graphql=GraphQL(max_cost=50))
    made(api, Random(7))
    return CALLERS["acme"](api)


def data(who: Person, text: str) -> Any:
    answer = json_of(who.post("/graphql", {"query": text}))
    assert "errors" not in answer, answer
    return answer["data"]


def test_a_filter_and_relations_go_with_a_list(acme: Person) -> None:
    text = '{ notesInOrderOfRank(filter: {title: {beginsWith: "b"}}, limit: 3) { items { rank title tags { name } } } }'
    items = data(acme, text)["notesInOrderOfRank"]["items"]
    assert items
    assert all(each["title"].startswith("b") for each in items)
    assert [each["rank"] for each in items] == sorted(each["rank"] for each in items)
    assert any(each["tags"] for each in items)


def test_a_list_of_what_is_not_there_is_null_and_one_of_another_tenant_is_refused(acme: Person) -> None:
    assert data(acme, '{ tagNotes(id: "acme", sort: "none", limit: 5) { items { noteId } } }') == {"tagNotes": None}
    text = '{ tagNotes(id: "bolt", sort: "a", limit: 5) { items { noteId } } }'
    assert of_graphql(acme, text) == of_routes(acme, "GET", "/v1/tags.notes/bolt/a", None)
    assert data(acme, '{ tagNotes(sort: "a", limit: 1) { items { noteId } } }')["tagNotes"]["items"]


REFUSED = {
    "{ notesInOrderOfRank(limit: 0) { complete } }": "limit_exceeded",
    "{ notesInOrderOfRank(limit: 50) { complete } }": "limit_exceeded",
    '{ tagNotes(id: "acme", sort: "a", limit: 49) { complete } }': "limit_exceeded",
    '{ notesInOrderOfRank(tenantId: "bolt", limit: 1) { complete } }': "forbidden",
    "{ notesInOrderOfRank(rank: {eq: 1, from: 0}, limit: 1) { complete } }": "invalid_input",
    "{ notesInOrderOfRank(rank: {from: 2, to: 1}, limit: 1) { complete } }": "value_refused",
    '{ notesInOrderOfRank(nextToken: "x", limit: 1) { complete } }': "invalid_cursor",
    '{ tagNotes(id: "acme", sort: "a", nextToken: "x", limit: 1) { complete } }': "invalid_cursor",
    "{ notesInOrderOfSizes(limit: 1) { complete } }": "validation_failed",
    "{ notesInOrderOfSecret(limit: 1) { complete } }": "validation_failed",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_a_list_can_not_answer_is_refused(acme: Person, text: str) -> None:
    assert of_graphql(acme, text)[0] == REFUSED[text]


def test_a_token_is_good_for_its_own_list_alone(acme: Person) -> None:
    token = data(acme, "{ notesInOrderOfRank(limit: 1) { nextToken } }")["notesInOrderOfRank"]["nextToken"]
    for arguments in ("reverse: true", "rank: {from: 0}", "filter: {rank: {ge: 0}}"):
        text = f'{{ notesInOrderOfRank({arguments}, nextToken: "{token}", limit: 1) {{ complete }} }}'
        assert of_graphql(acme, text)[0] == "cursor_mismatch"


def test_two_lists_of_one_name_are_refused() -> None:
    class Clash(Entity, token="clash", collection="clashes"):
        """An index of it is called as its list is."""

        clash_id: str = unique_property()
        due: int

        due_list = OrderedLookup("due")
        due_hash_key = HashKey("due")

    clashing = [Index("inOrderOfDue", "due_hash_key", "range_key")]
    api_of(Schema([Clash], clashing), graphql=GraphQL())

    class Tags(Entity, token="tags", collection="tagNotes"):
        """The list of these is called as the list of a tag's notes is."""

        tags_id: str = unique_property()

    with pytest.raises(ConfigurationError, match="the notes of one tag"):
        api_of(Schema([Tag, Note, Tags]), graphql=GraphQL())
