"""Every route of every service, by who is not who they say, or says nothing: 401, and nothing is done."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping

import pytest

from shardweave.table.operations import Scan
from tests.attack.fortress import BOBS
from tests.attack.gate import FORGED, HOUR, Gate
from tests.attack.worlds import WORLDS, claims_of, opened

OPERATORS_ONLY = ("/_doctor", "/_reshard/", "/_events/", "/_explorer", "/_shards/", "/explorer")
"""Parts of the paths that are for operators alone."""


def part(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def false_tokens(gate: Gate, claims: Mapping[str, object]) -> dict[str, str]:
    good = gate.token(claims)
    header, content, signature = good.removeprefix("Bearer ").split(".")
    root = part({**claims, "groups": ["admin", "operators"], "iat": 0, "exp": 9_999_999_999})
    return {
        "forged signature": gate.token({**claims, "groups": ["admin", "operators"]}, secret=FORGED),
        "claims of another": f"Bearer {header}.{root}.{signature}",
        "no signature": f"Bearer {header}.{content}.",
        "algorithm none": f"Bearer {part({'alg': 'none', 'typ': 'JWT'})}.{root}.",
        "expired": gate.token(claims, seconds=1),
        "of the future": gate.token(claims, seconds=-HOUR),
        "another scheme": "Basic ZXZlOmV2ZQ==",
        "empty": "Bearer ",
        "cut": good[:-1],
        "longer": good + "A",
        "no text of tokens": "Bearer \xff.\x00.é",
    }


@pytest.mark.parametrize("name", WORLDS)
def test_nobody_gets_in_with_a_false_token(name: str) -> None:
    met: Counter[str] = Counter()
    with opened(name) as gate:
        before = gate.parts.table.run(Scan()).items
        for each in gate.document.operations:
            request = gate.document.request(each, BOBS, "stranger")
            for kind, token in false_tokens(gate, claims_of(name)).items():
                told = gate.tell(request, token)
                assert (told.status, told.code) == (401, "unauthenticated"), (kind, request)
                met[kind] += 1
        assert gate.parts.table.run(Scan()).items == before
        assert gate.tell(request, gate.token(claims_of(name))).status != 401, "the true one is let in"
    assert min(met.values()) == len(gate.document.operations) >= 30, met


@pytest.mark.parametrize("name", WORLDS)
def test_nobody_gets_in_without_a_token_where_a_service_knows_its_callers(name: str) -> None:
    met: Counter[str] = Counter()
    with opened(name) as gate:
        restricts = gate.parts.access.restricts
        before = gate.parts.table.run(Scan()).items
        for each in gate.document.operations:
            operators_only = any(part in each.path for part in OPERATORS_ONLY)
            if each.is_open or not (restricts or operators_only):
                continue
            told = gate.tell(gate.document.request(each, BOBS, "no token"))
            assert (told.status, told.code) == (401, "unauthenticated"), each.name
            met[each.method] += 1
        assert gate.parts.table.run(Scan()).items == before
    assert met["GET"] >= 2
    assert met["POST"] >= 10


@pytest.mark.parametrize("name", WORLDS)
def test_operators_routes_are_for_operators(name: str) -> None:
    with opened(name) as gate:
        before = gate.parts.table.run(Scan()).items
        claims = claims_of(name)
        wrong = [gate.token({**claims, **more}) for more in ({}, {"groups": ["admin"]}, {"groups": ["operators2"]})]
        met = 0
        for each in gate.document.operations:
            if not any(part in each.path for part in OPERATORS_ONLY):
                continue
            request = gate.document.request(each, BOBS, "no operator")
            for token in wrong:
                told = gate.tell(request, token)
                expected = (403, "forbidden") if "/_events/" in each.path else (404, "route_not_found")
                assert (told.status, told.code) == expected, request
                met += 1
        assert gate.parts.table.run(Scan()).items == before
        assert met >= 12
