"""A relation leads to records that the caller may get, whatever it goes by: with and without those of others between
them, whole or damaged, the answer is the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from shardweave.access import Allow
from shardweave.api.app import Observation
from shardweave.api.http import Response
from shardweave.schema.declarations import Index, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem, Scan
from shardweave.wire.unreadable import key_hash
from tests.unit.access_world import Person, person
from tests.unit.api_world import api_of, json_of

SECRET = "sesame"
RELATIONS = ("one", "many", "byNumber", "whole", "narrow", "hydrated")


class Card(Entity, token="card", access=[Allow("*", owner="user_id"), Allow("*", groups="admin")]):
    """Somebody's own, which leads to others."""

    card_id: str = unique_property()
    user_id: str
    name: str
    colour: str = ""
    number: int | None = None
    words: str = ""
    see: str | None = None
    see_all: list[str] = Field(default_factory=list)
    see_number: int | None = None
    see_colour: str | None = None

    colour_hash_key = HashKey("colour")

    numbers = Unique("number")
    one = belongs_to("card", by="see")
    many = has_many("card", by="see_all")
    by_number = belongs_to("card", by="see_number", on="number")
    whole = belongs_to("card", by="see_colour", on="colour", index="whole")
    narrow = belongs_to("card", by="see_colour", on="colour", index="narrow")
    hydrated = belongs_to("card", by="see_colour", on="colour", index="hydrated")


SCHEMA = Schema(
    [Card],
    [
        Index("whole", "colour_hash_key", "range_key"),
        Index("narrow", "colour_hash_key", "card_id", projection=("user_id",)),
        Index("hydrated", "colour_hash_key", "name", projection=("words",)),
    ],
)
NAMES = ("a", "b", "c", "d")


def world(owners: dict[str, str], *, with_others: bool, damaged: bool = False) -> Person:
    """Ann's cards, and those of others where they are wanted. All are red."""
    table = EmbeddedTable(SCHEMA.layout)
    store = Store(SCHEMA, table)
    for number, name in enumerate(NAMES):
        owner = owners[name]
        if owner == "ann" or with_others:
            store.create(Card(card_id=name, name=name, user_id=owner, colour="red", number=number))
    if damaged:
        for item in table.run(Scan()).items:
            if item.get("userId") not in (None, "ann"):
                table.run(PutItem({**item, "words": 5}))
    leads: dict[str, Any] = {"see": "a", "see_all": list(NAMES), "see_number": 0, "see_colour": "red"}
    store.create(Card(card_id="start", name="start", user_id="ann", **leads))
    return person(api_of(SCHEMA, table=table), "ann")


def expanded(caller: Person) -> Any:
    return json_of(caller.get(f"/v1/cards/start?expand={','.join(RELATIONS)}"))["expanded"]


met: Counter[str] = Counter()


@settings(max_examples=30)
@given(st.fixed_dictionaries({name: st.sampled_from(["ann", "bob"]) for name in NAMES}), st.booleans())
def _others_change_nothing(owners: dict[str, str], damaged: bool) -> None:
    found = expanded(world(owners, with_others=True, damaged=damaged))
    assert found == expanded(world(owners, with_others=False))
    own = [name for name in NAMES if owners[name] == "ann"]
    assert [each["cardId"] for each in found["many"]] == own
    for name in ("whole", "narrow", "hydrated"):
        assert (found[name] or {}).get("cardId") == (own[0] if own else None), name
    met["another's comes first"] += owners["a"] == "bob" and bool(own)
    met["damaged"] += damaged and "bob" in owners.values()


def test_others_records_change_nothing_of_what_a_relation_leads_to() -> None:
    met.clear()
    _others_change_nothing()
    assert {name: met[name] for name in ("another's comes first", "damaged") if met[name] < 8} == {}


@pytest.mark.parametrize("relation", RELATIONS)
def test_whoever_may_read_all_is_led_to_all(relation: str) -> None:
    ann = world(dict.fromkeys(NAMES, "bob"), with_others=True)
    admin = person(ann.api, "root", "admin")
    found = json_of(admin.get(f"/v1/cards/start?expand={relation}"))["expanded"][relation]
    assert found, "it is there"
    assert not expanded(ann)[relation]


def test_what_is_hidden_since_it_can_not_be_read_is_logged_once_and_counted() -> None:
    """The caller learns nothing of it, and who runs the service which record it is."""
    seen: list[Observation] = []
    table = EmbeddedTable(SCHEMA.layout)
    store = Store(SCHEMA, table)
    for name, leads in (("a", {}), ("b", {}), ("c", {"see": "a", "see_all": ["a", "b"], "see_number": 0})):
        number = NAMES.index(name)
        store.create(Card(card_id=name, name=name, user_id="ann", colour="red", number=number, **leads))
    for item in table.run(Scan()).items:
        if item.get("cardId") in ("a", "b"):
            table.run(PutItem({**item, "colour": [SECRET]}))
    api = api_of(SCHEMA, table=table, observe=seen.append)
    ann, admin = person(api, sub="ann"), person(api, sub="root", groups="admin")

    def met(answer: Response, status: int = 200) -> tuple[list[str], tuple[str, ...]]:
        assert (answer.status, SECRET in answer.body.decode()) == (status, False)
        assert SECRET not in str(seen[-1].unreadable)
        assert {(each["entity"], each["code"]) for each in seen[-1].unreadable} <= {("card", "invalid")}
        return sorted(each["key"] for each in seen[-1].unreadable), seen[-1].uncounted

    one, other = key_hash("cards/a"), key_hash("cards/b")
    assert met(ann.get("/v1/cards/a"), 404) == ([one], ("card",))
    assert met(admin.get("/v1/cards/a"), 500) == ([one], ("card",))
    assert met(ann.ask("PATCH", "/v1/cards/a", {"words": "x"}), 404) == ([one], ("card",))
    assert met(ann.get("/v1/cards/nosuch"), 404) == ([], ())
    both = (sorted([one, other]), ("card", "card"))
    for who in (ann, admin):
        assert met(who.get("/v1/cards/c")) == ([], ())
        assert met(who.get("/v1/cards/c?expand=one,many,byNumber")) == both
        assert met(who.get("/v1/cards?lookup=number&number=0")) == ([one], ("card",))
        assert met(who.post("/v1/cards/batch-get", {"keys": ["a", "b", "c"]})) == both
        assert met(who.get("/v1/cards?cardId=a")) == ([one], ()), "its query counts it"
