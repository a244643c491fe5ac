"""Every route of the fortress, by whoever may do something there, against what is somebody else's: with and without the
record the answer is the same, and nothing of it is shown. Whatever answers can be told apart by, this finds it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pytest

from shardweave import GraphQL
from shardweave.table.operations import PutItem, Scan
from shardweave.wire.record_models import RecordModels
from tests.attack.foreign_writes import bobs_keys, foreign_mutations, foreign_writes
from tests.attack.fortress import BOBS, MARK, SCHEMA, Diary, Item, fortress
from tests.attack.gate import Gate, Told, described
from tests.attack.requests import Described, Document, Request
from tests.unit.api_world import EXTERNAL_KEYS


@dataclass(frozen=True)
class Attacker:
    """Somebody with a token. `own` is their item; `knows` says what they can name of Bob's in what they write: where a
    value may be had once in a tenant, being told that it is taken is no secret, as the guide says."""

    name: str
    claims: Mapping[str, Any]
    own: str

    @property
    def writes(self) -> dict[str, Any]:
        left = () if self.claims["tenant"] != "acme" else ("slug",)
        return {name: value for name, value in BOBS.items() if name not in left}


ATTACKERS = (
    Attacker("owner of another record", {"sub": "eve", "tenant": "acme"}, "eves-item"),
    Attacker("another tenant", {"sub": "mallory", "tenant": "bolt"}, "mallorys-item"),
    Attacker("another tenant, same name", {"sub": "bob", "tenant": "bolt"}, "mallorys-item"),
    Attacker("in a group without rules", {"sub": "eve", "tenant": "acme", "groups": ["reader", "bob"]}, "eves-item"),
)
KEY_OF_DIARY = {"tenant_id": "acme", "user_id": "bob", "day": BOBS["day"]}
KEYS = RecordModels(SCHEMA[Item], EXTERNAL_KEYS).keys
MATCHES: tuple[dict[str, str], ...] = ({}, {"if-match": "*"}, {"if-match": '"x"'}, {"if-none-match": "*"})


def key_of(gate: Gate, item_id: str) -> str:
    record = gate.parts.store.get(Item, item_id)
    assert record is not None
    return KEYS.text(record.key)


def attacks(document: Document, attacker: Attacker, keys: Mapping[str, str]) -> Iterator[Request]:
    """All that somebody tries, in order."""
    for each in document.operations:
        is_item = "/items" in each.path
        target = {"key": keys["bobs-item"] if is_item else "bobs-audit", "name": BOBS["name"]}
        own = {"key": keys[attacker.own]}
        for kind, values in (("all of it", attacker.writes), ("of mine", {**attacker.writes, **_mine(attacker)})):
            plain = document.request(each, values, kind, path_values=target)
            matches = MATCHES if each.parameters("header") and each.method != "GET" else MATCHES[:1]
            yield from (replace(plain, headers={**plain.headers, **more}) for more in matches)
        yield from foreign_writes(
            document.request(each, BOBS, "write", path_values=target), each, document, keys, attacker.own
        )
        if each.method == "GET":
            yield from _reads(document.request(each, BOBS, "read", path_values=target), each)
        if each.method == "GET" and is_item and "{key}" in each.path:
            expand = "realm,see,seeAll,seeBySlug"
            yield document.request(each, BOBS, "expand", path_values=own).with_query("expand", expand)
        if each.method == "PATCH" and is_item:
            for name, value in attacker.writes.items():
                change = document.request(each, {}, "lead to it", path_values=own).with_json({name: value})
                yield change
                yield replace(change, kind="put back").with_json({name: None})
        if each.media_type and each.method == "POST":
            yield from _asked(document.request(each, BOBS, "query"), each, document, keys, attacker)


def _mine(attacker: Attacker) -> dict[str, Any]:
    return {"userId": attacker.claims["sub"], "tenantId": attacker.claims["tenant"], "itemId": None}


def _reads(request: Request, each: Described) -> Iterator[Request]:
    for parameter in each.parameters("query"):
        name = parameter["name"]
        prop, _, test = name.partition(".")
        if prop not in BOBS:
            continue
        value = str(BOBS[prop])
        for text in (value, value[:6] if test else value.upper()):
            yield replace(request.with_query(name, text), kind="condition")
            yield replace(request.with_query("tenantId", "acme").with_query(name, text), kind="condition")
            yield replace(request.with_query("lookup", prop).with_query(name, text), kind="lookup")
    for index in ("byTitle", "titles", "mine", "audits", "none"):
        for limit in ("1", "100"):
            asked = request.with_query("index", index).with_query("limit", limit)
            yield replace(asked, kind="index")
            yield replace(asked.with_query("tenantId", "acme").with_query("userId", "bob"), kind="index")
    yield replace(request.with_query("expand", "realm,see,seeAll,seeBySlug"), kind="expand")


def _asked(
    request: Request, each: Described, document: Document, keys: Mapping[str, str], attacker: Attacker
) -> Iterator[Request]:
    members = document.members(each.body)
    if "conditions" in members:
        for conditions in ({}, {"tenantId": "acme"}, {"tenantId": "acme", "userId": "bob"}, {"userId": "bob"}):
            for index in ("byTitle", "titles", "mine", "audits", None):
                asked = {"conditions": conditions} | ({} if index is None else {"index": index})
                yield replace(request, kind="index").with_json(asked)
                for more in MORE if index in INDEXES and len(conditions) == 1 else ():
                    yield replace(request, kind=f"query with {next(iter(more))}").with_json({**asked, **more})
    if "keys" in members:
        listed = list(keys.values()) if each.collection == "items" else [bobs_keys(keys)[each.collection]]
        yield replace(request, kind="batch").with_json({"keys": listed})
        expand = ["realm", "see", "seeAll", "seeBySlug"]
        yield replace(request, kind="expand").with_json({"keys": [keys[attacker.own]], "expand": expand})
    if "puts" in members:
        mine = {**attacker.writes, **_mine(attacker)}
        listed = [bobs_keys(keys)[each.collection]]
        yield replace(request, kind="batch").with_json({"deletes": listed})
        shown = {n: v for n, v in mine.items() if v is not None and n in document.members(_item(document, members))}
        for puts in ([shown], [{**shown, "key": keys["bobs-item"]}], [{**shown, "itemId": "bobs-item"}]):
            yield replace(request, kind="batch").with_json({"puts": puts})


def _item(document: Document, members: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = members["puts"]["items"]
    return schema


INDEXES = ("byTitle", "titles", "audits", None)
MORE: tuple[dict[str, Any], ...] = (
    {"filter": {"property": "title", "beginsWith": MARK}},
    {"filter": {"property": "note", "beginsWith": MARK}},
    {"filter": {"property": "userId", "eq": "bob"}},
    {"properties": ["title", "note"]},
    {"properties": ["hashKey", "_counted"]},
    {"expand": ["realm", "see", "seeAll", "seeBySlug"]},
    {"hydrate": True},
    {"stats": True},
    {"budget": 1},
    {"limit": 1},
    {"reverse": True},
    {"run": True},
)


@pytest.mark.parametrize("attacker", ATTACKERS, ids=lambda each: each.name)
def test_what_is_somebody_elses_is_answered_as_what_is_not_there(attacker: Attacker) -> None:
    with closing(fortress(with_bobs=True)) as gate:
        keys = {name: key_of(gate, name) for name in ("bobs-item", attacker.own)}
        requests = list(attacks(gate.document, attacker, keys))
        told = sent(gate, attacker, requests)
        bobs = gate.parts.store.get(Item, "bobs-item")
        operations = {each.name for each in gate.document.operations}
        number = gate.parts.store.take(Item, "num", within={"tenant_id": "acme", "realm_name": "bobs-realm"})
    assert list(number) == [3], "nobody took a number of his"
    assert bobs is not None
    assert (bobs.note, bobs.title) == (BOBS["note"], BOBS["title"]), "nobody changed it"
    without = answered_without_bobs(attacker, requests)
    met: Counter[str] = Counter()
    for request, seen, unseen in zip(requests, told, without, strict=True):
        assert seen == unseen, request
        met[request.kind] += 1
        met["refused" if seen.status >= 400 else "answered"] += 1
    few = {name: met[name] for name, floor in FLOORS.items() if met[name] < floor}
    assert few == {}, met
    assert {each.operation for each in requests} == operations


@pytest.mark.parametrize("attacker", ATTACKERS, ids=lambda each: each.name)
def test_what_is_damaged_of_somebody_elses_is_answered_as_what_is_not_there(attacker: Attacker) -> None:
    """Whose a record is that can't be read is not known, so that it is nobody's for those who see some alone."""
    with closing(fortress(with_bobs=True)) as gate:
        keys = {name: key_of(gate, name) for name in ("bobs-item", attacker.own)}
        requests = list(attacks(gate.document, attacker, keys))
        assert damage_bobs(gate) >= 3
        told = sent(gate, attacker, requests)
    without = answered_without_bobs(attacker, requests)
    for request, seen, unseen in zip(requests, told, without, strict=True):
        assert seen == unseen, request


@pytest.mark.parametrize("attacker", ATTACKERS, ids=lambda each: each.name)
def test_mutations_of_somebody_elses_are_answered_as_of_what_is_not_there(attacker: Attacker) -> None:
    told: list[list[Told]] = []
    with closing(fortress(with_bobs=True, graphql=GraphQL())) as gate:
        requests = list(foreign_mutations({"bobs-item": key_of(gate, "bobs-item")}))
        told.append(sent(gate, attacker, requests))
        bobs = [gate.parts.store.get(Item, "bobs-item"), gate.parts.store.get(Diary, KEY_OF_DIARY)]
    assert [getattr(each, "visits", None) for each in bobs] == [0, BOBS["visits"]], "nobody changed them"
    with closing(fortress(with_bobs=False, graphql=GraphQL())) as gate:
        told.append(sent(gate, attacker, requests))
    met: Counter[str] = Counter()
    for request, seen, unseen in zip(requests, *told, strict=True):
        assert seen == unseen, request
        assert MARK not in seen.body, request
        (error,) = json.loads(seen.body)["errors"]
        assert error["path"] == ["asked"], request
        met[error["extensions"]["code"]] += 1
        met[request.kind] += 1
    assert met["not_found"] >= 20, met
    assert met["upsert"] >= 8, met
    assert met["mutation"] >= 20, met


@pytest.mark.parametrize("with_bobs", [True, False])
def test_what_is_stored_changes_no_description(with_bobs: bool) -> None:
    with closing(fortress(with_bobs=with_bobs)) as gate:
        assert described(gate.api) == gate.api.openapi


def damage_bobs(gate: Gate) -> int:
    """Damage every record of Bob's, one of them so that it does not say whose it is, and give how many there were."""
    bobs = [item for item in gate.parts.table.run(Scan(consistent=True)).items if item.get("userId") == "bob"]
    for number, item in enumerate(bobs):
        change: dict[str, Any] = {"rev": 7, "seeIds": 5, "motto": 5}
        gate.parts.table.run(PutItem({**item, **change, **({} if number else {"userId": [5]})}))
    return len(bobs)


@pytest.mark.parametrize("target", ["/v1/items", "/v1/items?lookup=label&label=eve"])
def test_ones_own_damaged_record_is_none_in_lists_and_by_its_key(target: str) -> None:
    attacker = ATTACKERS[0]
    with closing(fortress(with_bobs=True)) as gate:
        key, token = key_of(gate, "eves-item"), gate.token(attacker.claims)
        stored = gate.parts.table.run(Scan(consistent=True)).items
        (item,) = [each for each in stored if each.get("itemId") == "eves-item" and "title" in each]
        gate.parts.table.run(PutItem({**item, "rev": 7}))
        listed = gate.tell(Request("GET", target.partition("?")[0], target.partition("?")[2]), token)
        alone = gate.tell(Request("GET", f"/v1/items/{key}"), token)
    assert ("unreadable" in listed.body, alone.code) == (False, "not_found")


FLOORS = {
    "all of it": 50,
    "of mine": 50,
    "condition": 20,
    "lookup": 10,
    "index": 100,
    "expand": 10,
    "batch": 6,
    "lead to it": 10,
    "upsert": 20,
    "what was there": 6,
    "add": 9,
    "patches": 3,
    "together": 20,
    "check": 20,
    "query with filter": 50,
    "query with hydrate": 20,
    "query with stats": 20,
    "refused": 300,
    "answered": 60,
}


def answered_without_bobs(attacker: Attacker, requests: list[Request]) -> list[Told]:
    """The answers where Bob has no records: once for an attacker, who sends the same in each test."""
    if attacker.name not in _without:
        with closing(fortress(with_bobs=False)) as gate:
            _without[attacker.name] = requests, sent(gate, attacker, requests)
    before, told = _without[attacker.name]
    assert before == requests
    return told


_without: dict[str, tuple[list[Request], list[Told]]] = {}


def sent(gate: Gate, attacker: Attacker, requests: list[Request]) -> list[Told]:
    """The answers to all requests, one after the other."""
    token = gate.token(attacker.claims)
    return [gate.tell(each, token) for each in requests]
