"""Writes that name what is somebody else's by its key, in every form that a key has in a body: changes, additions,
upserts and those that return what was there, one by one, in a transaction, in a batch, and in GraphQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.attack.fortress import BOBS, MARK
from tests.attack.requests import JSON, Described, Document, Request

NAMED_BY_OTHERS = ("realms", "diaries")
"""The collections whose keys a client makes up. Those of items are made by the service, of records that are there: an
upsert at such a key says no more than its key does."""
CHANGES: Mapping[str, dict[str, Any]] = {
    "realms": {"motto": MARK},
    "diaries": {"text": MARK},
    "badges": {"colour": MARK},
    "audits": {"text": MARK},
    "items": {"title": MARK},
    "ledgers": {"total": 1},
}


def bobs_keys(keys: Mapping[str, str]) -> dict[str, Any]:
    """What names a record of Bob's, or of his tenant, in a body, by collection."""
    return {
        "realms": {"tenantId": "acme", "name": BOBS["name"]},
        "diaries": {"tenantId": "acme", "userId": "bob", "day": BOBS["day"]},
        "badges": {"tenantId": "acme", "badgeId": BOBS["badgeId"]},
        "audits": BOBS["auditId"],
        "ledgers": {},
        "items": keys["bobs-item"],
    }


def foreign_writes(
    request: Request, each: Described, document: Document, keys: Mapping[str, str], own: str
) -> Iterator[Request]:
    """All of them that an operation takes. `request` is one that fits it, `own` the attacker's item."""
    named, collection = bobs_keys(keys), each.collection
    if each.method == "PATCH" and collection in NAMED_BY_OTHERS:
        for patch in ({}, {"visits": 1}, CHANGES[collection]):
            yield replace(request.with_query("upsert", "true"), kind="upsert").with_json(patch)
    if any(parameter["name"] == "returning" for parameter in each.parameters("query")):
        yield replace(request.with_query("returning", "old"), kind="what was there")
    members = document.members(each.body) if each.media_type and each.method == "POST" else {}
    if "amounts" in members:
        yield from _additions(request, named[collection], collection in NAMED_BY_OTHERS)
    if "patches" in members:
        patched = {"key": named[collection], "patch": CHANGES[collection]}
        yield replace(request, kind="patches").with_json({"patches": [patched]})
    if "operations" in members:
        mine = {"update": "items", "key": keys[own], "patch": {"title": "mine"}}
        for kind, operation in _operations(named):
            for operations in ([operation], [mine, operation]):
                yield replace(request, kind=kind).with_json({"operations": operations})


def _additions(request: Request, key: Any, is_named: bool) -> Iterator[Request]:
    for amount in (1, -1, 2**70):
        asked = {"key": key, "amounts": {"visits": amount}}
        yield replace(request, kind="add").with_json(asked)
        if is_named:
            yield replace(request, kind="upsert").with_json({**asked, "upsert": True})


def _operations(named: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The operations of a transaction on each record, each with the kind of the attack."""
    for collection in CHANGES:
        key, changed = (
            named[collection],
            (
                {"update": collection, "patch": CHANGES[collection]},
                {"add": collection, "amounts": {"visits": 1}},
            ),
        )
        for operation in changed:
            for rev in ({}, {"rev": "x"}):
                yield "together", {**operation, "key": key, **rev}
            if collection in NAMED_BY_OTHERS:
                yield "upsert", {**operation, "key": key, "upsert": True}
        yield "together", {"delete": collection, "key": key}
        for exists in ({}, {"exists": True}, {"exists": False}, {"rev": "x"}):
            yield "check", {"check": collection, "key": key, **exists}


MUTATED: Mapping[str, tuple[str, str]] = {
    "realms": ("Realm", 'id: "acme", sort: "bobs-realm"'),
    "diaries": ("Diary", 'id: "acme/bob", sort: "monday"'),
    "items": ("Item", "id: %s"),
    "ledgers": ("Ledger", ""),
}
"""How GraphQL calls what can be written, and names what is Bob's."""


def foreign_mutations(keys: Mapping[str, str]) -> Iterator[Request]:
    """Changes, additions, upserts and removals in GraphQL; alone, and behind one that is answered."""
    for collection, (name, key) in MUTATED.items():
        named = key % json.dumps(keys["bobs-item"]) if "%" in key else key
        changed = ", ".join(f"{each}: {json.dumps(value)}" for each, value in CHANGES[collection].items())
        amounts = "total" if collection == "ledgers" else "visits"
        writes = [(f"update{name}", f"patch: {{{changed}}}")]
        writes += [(f"addTo{name}", f"amounts: {{{amounts}: {amount}}}") for amount in (1, -1, 2**70)]
        for field, content in writes:
            for kind, more in (("mutation", ""), ("mutation", 'rev: "x"'), ("upsert", "upsert: true")):
                if kind == "upsert" and collection not in NAMED_BY_OTHERS:
                    continue
                yield _mutation(kind, f"{field}({_joined(named, content, more)}) {{ rev {amounts} }}")
        yield _mutation("mutation", f"delete{name}{f'({named})' if named else ''}")


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _mutation(kind: str, field: str) -> Request:
    text = f"mutation {{ known: __typename asked: {field} }}"
    made = Request("POST", "/graphql", headers={"content-type": JSON}, kind=kind, operation="graphql")
    return made.with_json({"query": text})
