"""Every route of every service that declares tenants, by somebody of another tenant, or of none: with a tenant's
records and without them the answer is the same, and nothing of them is changed. What a tenant spends, no other pays
for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest

from shardweave.api.rate_limit import Rates
from shardweave.service.files import service_names
from shardweave.table.operations import Scan
from tests.attack.fortress import MARK, fortress
from tests.attack.gate import Gate, Told, described
from tests.attack.requests import Described, Request
from tests.attack.worlds import SHIPPED, shipped

VICTIM = "00000000-0000-4000-8000-00000000000a"
OTHER = "00000000-0000-4000-8000-00000000000b"
ID, SECOND = "00000000-0000-4000-8000-00000000000c", "00000000-0000-4000-8000-00000000000d"
DONE_BY_NAME = ("_doctor", "_reshard", "_events", "_explorer", "_shards", "explorer", "openapi.json")
MADE_UP = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[\w-]{21}\b")
"""What a service names records by itself differs from world to world."""


def has_tenants(name: str) -> bool:
    with closing(shipped(name)) as gate:
        return bool(gate.parts.access.claims)


TENANTED = [name for name in SHIPPED if has_tenants(name)]


@dataclass(frozen=True)
class Attacker:
    """Somebody with a token; `tenant` is what it says of each claim that tenants are told by."""

    name: str
    tenant: str | None
    more: Mapping[str, Any]

    def token(self, gate: Gate) -> str:
        claims = {} if self.tenant is None else dict.fromkeys(gate.parts.access.claims, self.tenant)
        return gate.token({"sub": "eve", **claims, **self.more})


ATTACKERS = (
    Attacker("another tenant", OTHER, {}),
    Attacker("another tenant, same name", OTHER, {"sub": "victim"}),
    Attacker("another tenant's administrator", OTHER, {"groups": ["admin", VICTIM]}),
    Attacker("no tenant", None, {}),
    Attacker("a tenant of several", None, {"tenant": [OTHER, VICTIM]}),
    Attacker("a tenant that is written like it", f" {VICTIM}", {}),
)


def test_every_service_that_ships_is_attacked() -> None:
    assert set(SHIPPED) == set(service_names())
    assert TENANTED


def properties(gate: Gate, tenant: str) -> dict[str, Any]:
    """A value of each property that is text or an id, and of what tells tenants apart."""
    found: dict[str, Any] = {}
    for entity in gate.parts.schema.entities.values():
        for name, each in entity.properties.items():
            if each.annotation in (str, str | None):
                found[name] = f"{MARK} {name}"
            if each.annotation in (UUID, UUID | None):
                found[name] = ID
        found |= dict.fromkeys(entity.claims, tenant)
    return {**found, "key": tenant, "targetId": SECOND}


def live(gate: Gate) -> tuple[dict[str, Any], Counter[str]]:
    """Let somebody of a tenant do all that can be done there, but for deleting and merging: what their records say
    then, and how many each operation made."""
    token = Attacker("victim", VICTIM, {"sub": "victim"}).token(gate)
    values, made = properties(gate, VICTIM), Counter[str]()
    second = {name: SECOND if value == ID else value for name, value in values.items()}
    for each in gate.document.operations:
        if each.method in ("POST", "PUT") and not any(part in each.path for part in (*DONE_BY_NAME, "merge")):
            for said in (values, second):
                told = gate.tell(gate.document.request(each, said, "live"), token)
                made[each.name] += told.status == 201
    return values, made


def attacks(gate: Gate, attacker: Attacker, values: Mapping[str, Any]) -> Iterator[Request]:
    """All that somebody tries against what they know all values of."""
    own = {**values, **{name: attacker.tenant or OTHER for name, value in values.items() if value == VICTIM}}
    for each in gate.document.operations:
        for kind, said in (("theirs", values), ("as mine", own)):
            plain = gate.document.request(each, said, kind, path_values=values)
            yield plain
            yield replace(gate.document.request(each, said, f"{kind}, at my place", path_values=own))
            if each.method in ("PATCH", "PUT", "DELETE"):
                yield replace(plain, headers={**plain.headers, "if-match": "*"}, kind="condition")
        yield from _reads(gate, each, values)


def _reads(gate: Gate, each: Described, values: Mapping[str, Any]) -> Iterator[Request]:
    plain = gate.document.request(each, values, "read", path_values=values)
    for parameter in each.parameters("query") if each.method == "GET" else ():
        prop, _, _ = parameter["name"].partition(".")
        if prop in values:
            yield replace(plain.with_query(parameter["name"], str(values[prop])), kind="condition")
    members = gate.document.members(each.body) if each.media_type and each.method == "POST" else {}
    asks = "conditions" in members or each.method == "GET"
    for index in (None, *(index.name for index in gate.parts.schema.layout.indexes)) if asks else ():
        if each.method == "GET":
            yield replace(plain if index is None else plain.with_query("index", index), kind="index")
            continue
        for conditions in ({}, {name: value for name, value in values.items() if value == VICTIM}):
            asked = {"conditions": conditions} | ({} if index is None else {"index": index})
            yield replace(plain, kind="index").with_json(asked)
    if "keys" in members or "puts" in members:
        key = gate.document.example({"type": "object", "properties": {name: {} for name in values}}, values)
        yield replace(plain, kind="batch").with_json({"keys" if "keys" in members else "deletes": [key]})


def settled(told: Told, sent: Request) -> tuple[Any, ...]:
    """An answer without names that were made up for it."""

    def without(text: str) -> str:
        known = sent.path + sent.query + sent.body.decode() + VICTIM + OTHER
        return MADE_UP.sub(lambda each: each[0] if each[0] in known else "made up", text)

    return told.status, tuple((name, without(text)) for name, text in told.headers), without(told.body)


def victims(gate: Gate) -> list[Any]:
    """What is stored of the tenant, or counted in its name."""
    return sorted(str(sorted(item.items())) for item in gate.parts.table.run(Scan()).items if VICTIM in str(item))


@pytest.mark.parametrize("attacker", ATTACKERS, ids=lambda each: each.name)
@pytest.mark.parametrize("name", TENANTED)
def test_another_tenants_records_are_answered_as_if_there_were_none(name: str, attacker: Attacker) -> None:
    with closing(shipped(name)) as gate:
        values, made = live(gate)
        assert {each.token for each in gate.parts.schema.entities.values() if each.claims and not each.read_only} <= {
            re.sub("^(create|put)", "", operation).lower() for operation, times in made.items() if times
        }
        before = victims(gate)
        assert len(before) > 3
        requests = list(attacks(gate, attacker, values))
        token = attacker.token(gate)
        told = [gate.tell(each, token) for each in requests]
        assert victims(gate) == before
        operations = {each.name for each in gate.document.operations}
    with closing(shipped(name)) as gate:
        without = [gate.tell(each, token) for each in requests]
    met: Counter[str] = Counter()
    for request, seen, unseen in zip(requests, told, without, strict=True):
        assert settled(seen, request) == settled(unseen, request), request
        met[request.kind] += 1
        met["refused" if seen.status >= 400 else "answered"] += 1
    assert {each.operation for each in requests} == operations
    few = {kind: met[kind] for kind, floor in FLOORS.items() if met[kind] < floor}
    assert few == {}, met


@pytest.mark.parametrize("name", TENANTED)
def test_what_is_stored_changes_no_description(name: str) -> None:
    with closing(shipped(name)) as gate:
        live(gate)
        assert described(gate.api) == gate.api.openapi


FLOORS = {"theirs": 20, "as mine": 20, "condition": 20, "index": 30, "batch": 4, "refused": 50}


# -- what a tenant may ask for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fortress", *TENANTED])
def test_a_tenant_that_has_spent_its_minute_leaves_every_route_to_the_others(name: str) -> None:
    rates = Rates(requests=150)
    with closing(fortress(with_bobs=True, rates=rates) if name == "fortress" else shipped(name, rates=rates)) as gate:
        spender, another = (Attacker("", tenant, {}).token(gate) for tenant in (VICTIM, OTHER))
        counted = [each for each in gate.document.operations if not any(part in each.path for part in DONE_BY_NAME)]
        assert 10 < len(counted) < 150
        request = gate.document.request(counted[0], {}, "spend")
        while gate.tell(request, spender).status != 429:
            pass
        before = gate.parts.table.run(Scan()).items
        for each in counted:
            request = gate.document.request(each, properties(gate, VICTIM), "spent")
            refused = gate.tell(request, spender)
            assert (refused.status, refused.code) == (429, "rate_exceeded"), request
            assert 1 <= int(dict(refused.headers)["retry-after"]) <= 60
        assert gate.parts.table.run(Scan()).items == before, "what is refused writes nothing"
        for each in counted:
            assert gate.tell(gate.document.request(each, {}, "not spent"), another).status != 429, each.name
        for each in gate.document.operations:
            if each not in counted:
                assert gate.tell(gate.document.request(each, {}, "not counted"), spender).status != 429, each.name
