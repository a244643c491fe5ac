"""Every route of every service, with what nobody sends who means well: in every parameter texts that would be something
else one layer below, members that no caller may set, bodies of another kind. Each is refused, or is a text like others;
none is a fault of the service, shows what is somebody else's, or writes what is not its sender's."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from shardweave.table.operations import Scan
from shardweave.table.values import Item as Stored
from tests.attack.fortress import BOBS, MARK, SCHEMA, Item, fortress
from tests.attack.gate import Gate
from tests.attack.requests import Described, Document, Request
from tests.attack.test_foreign_records import key_of
from tests.attack.worlds import WORLDS, claims_of, opened

TEXTS = {
    "key delimiters": "acme!0 |x#y.*!3f",
    "a shard": "bobs-item!0",
    "a bar": "acme |bob",
    "NUL": "a\x00b",
    "half a character": "\ud800",
    "last character": "\U0010ffff\uffff",
    "a huge number": "9" * 400,
    "infinite": "1e999",
    "no number": "NaN",
    "negative": "-1",
    "a path": "../../bobs-item",
    "an expression": "attribute_exists(hashKey) OR #a = :b",
    "SQL": "' OR 1=1 --",
    "JSON": '{"S":"x"}',
    "long": "x" * 3000,
    "empty": "",
    "a line": "a\r\nx-request-id: y",
    "a percent": "%2e%2f%00",
}
INTERNAL = (
    "hashKey",
    "rangeKey",
    "_counted",
    "_mark",
    "tenantHashKey",
    "titleRangeKey",
    "mineHashKey",
    "__proto__",
    "note\x00",
    "ttl",
    "owner",
)
"""Attributes of stored items, and names that mean something elsewhere: no member of any body."""


def everything(gate: Gate) -> list[Stored]:
    return sorted(gate.parts.table.run(Scan()).items, key=repr)


def injections(document: Document, each: Described, text: str) -> Iterator[Request]:
    """A text in each parameter of an operation, and in each member of its body."""
    plain = document.request(each, {}, "query")
    for parameter in each.parameters("query"):
        yield plain.with_query(parameter["name"], text)
    for parameter in each.parameters("path"):
        yield replace(document.request(each, {}, "path", path_values={parameter["name"]: _sendable(text)}))
    for parameter in each.parameters("header"):
        printable = "".join(letter for letter in text if " " <= letter <= "ÿ")
        yield replace(plain, kind="header", headers={**plain.headers, parameter["name"]: printable})
    if each.media_type:
        given = json.loads(plain.body)
        for name in document.members(each.body):
            for value in (text, [text]):
                yield replace(plain, kind="body").with_json({**given, name: value})


def _sendable(text: str) -> str:
    return text.encode(errors="ignore").decode() or "%00"


@pytest.mark.parametrize("name", WORLDS)
def test_no_text_is_anything_but_a_text(name: str) -> None:
    met: Counter[str] = Counter()
    with opened(name) as gate:
        token = gate.token(claims_of(name))
        texts = itertools.cycle(TEXTS.items())
        for each in gate.document.operations:
            if each.method == "DELETE" or "/_reshard/" in each.path:
                continue
            # All texts meet all kinds of places; each operation meets some of them.
            for kind, text in itertools.islice(texts, 4):
                for request in injections(gate.document, each, text):
                    told = gate.tell(request, token)
                    assert MARK not in told.body, request
                    met[kind] += 1
                    met[request.kind] += 1
                    met["refused" if told.status >= 400 else "taken"] += 1
    floors = dict.fromkeys(TEXTS, 5) | {"path": 10, "query": 50, "header": 20, "body": 100, "refused": 100}
    assert {place: met[place] for place, floor in floors.items() if met[place] < floor} == {}


@pytest.mark.parametrize("name", WORLDS)
def test_no_member_is_taken_that_is_none(name: str) -> None:
    met: Counter[str] = Counter()
    with opened(name) as gate:
        token, before = gate.token({**claims_of(name), "groups": ["admin", "operators"]}), everything(gate)
        for each in gate.document.operations:
            if not each.media_type:
                continue
            plain = gate.document.request(each, {}, "mass assignment")
            given = json.loads(plain.body)
            for member in INTERNAL:
                if member in gate.document.members(each.body):
                    continue
                told = gate.tell(plain.with_json({**given, member: "x"}), token)
                assert 400 <= told.status < 500, (each.name, member, told)
                met[member] += 1
        assert everything(gate) == before
    assert min(met.values()) >= 5


def bodies() -> Iterator[tuple[str, str | None, bytes]]:
    """Media types and bodies that are no JSON object."""
    for media_type in (
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "*/*",
    ):
        yield "media type", media_type, b"{}"
    for body in (b"", b"null", b"[]", b"1", b'"a"', b"{", b"\xff\xfe", b"\xef\xbb\xbf{}", b"{}{}", b'{"a":NaN}'):
        yield "no object", "application/json", body
    yield "deep", "application/json", b'{"a":' * 5000 + b"1" + b"}" * 5000
    yield "deep", "application/json", b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    yield "huge number", "application/json", b'{"a":' + b"9" * 5000 + b"}"
    yield "huge number", "application/json", b'{"a":1e999999999}'
    yield "twice", "application/json", b'{"a":1,"a":2}'


@pytest.mark.parametrize("name", WORLDS)
def test_no_body_is_taken_that_is_no_object_of_the_operation(name: str) -> None:
    met: Counter[str] = Counter()
    with opened(name) as gate:
        token, before = gate.token({**claims_of(name), "groups": ["admin", "operators"]}), everything(gate)
        for each in gate.document.operations:
            if not each.media_type:
                continue
            plain = gate.document.request(each, {}, "body")
            for kind, media_type, body in bodies():
                headers = {} if media_type is None else {"content-type": media_type}
                told = gate.tell(replace(plain, headers=headers, body=body), token)
                assert 400 <= told.status < 500, (each.name, kind, media_type, body[:20], told)
                if kind == "media type":
                    assert told.status == 415, (each.name, media_type, told)
                met[kind] += 1
        assert everything(gate) == before
    assert min(met.values()) >= 10


# -- what is sealed or signed -----------------------------------------------------------------------------------------

CLASSES = ("A", "z", "5", "-", "_", ".", "=", "+", "é", "")
"""One of each class of characters, and none at all."""


def altered(text: str) -> Iterator[str]:
    """A text with a character of another class, at every place; cut, longer, and turned round."""
    for place in range(len(text)):
        for other in CLASSES[place % 2 :: 2]:
            if other != text[place]:
                yield text[:place] + other + text[place + 1 :]
    yield from (text[: len(text) // 2], text + text, text + "A", text[::-1], text.swapcase(), "")


def test_an_altered_key_names_no_record() -> None:
    with closing(fortress(with_bobs=True)) as gate:
        key, before, met = key_of(gate, "eves-item"), everything(gate), 0
        token = gate.token({"sub": "eve", "tenant": "acme", "groups": ["admin"]})
        assert gate.tell(Request("GET", f"/v1/items/{key}"), token).status == 200
        for other in filter(None, altered(key)):
            sent = Request("GET", "/v1/items/x", operation="getItem")
            for method in ("GET", "DELETE"):
                path = replace(sent, method=method, path=f"/v1/items/{_percent(other)}")
                assert gate.tell(path, token).status in (400, 404), other
            met += 1
        assert everything(gate) == before
    assert met > 4 * len(key)


def test_an_altered_cursor_goes_on_nowhere() -> None:
    with closing(fortress(with_bobs=True)) as gate:
        for number in range(3):
            mine = {"tenantId": "acme", "userId": "eve", "realmName": "eves-realm", "title": f"t{number}"}
            gate.parts.store.create(mine, Item)
        eve, met = {"sub": "eve", "tenant": "acme"}, 0
        token = gate.token(eve)
        asked = Request("GET", "/v1/items", "index=mine&userId=eve&limit=1")
        cursor = sealed(gate, asked, token)
        assert gate.tell(asked.with_query("nextToken", cursor), token).status == 200
        for other in altered(cursor):
            told = gate.tell(asked.with_query("nextToken", other), token)
            assert (told.status, told.code) == (400, "invalid_cursor"), other
            met += 1
        for claims in ({**eve, "sub": "bob"}, {**eve, "tenant": "bolt"}, {**eve, "iss": "else"}):
            assert gate.tell(asked.with_query("nextToken", cursor), gate.token(claims)).status == 400
        elsewhere = Request("GET", "/v1/realms", "limit=1").with_query("nextToken", cursor)
        assert gate.tell(elsewhere, token).status == 400
    assert met > 4 * len(cursor)


def sealed(gate: Gate, request: Request, token: str) -> str:
    found = gate.tell(request, token, raw=True).body
    cursor: str = json.loads(found)["nextToken"]
    return cursor


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


# -- what the caller may write, and nothing else ----------------------------------------------------------------------


def test_nobody_writes_what_is_not_theirs_to_write() -> None:
    """Of an own record: whose it is, its tenant, what the store keeps."""
    entity = SCHEMA[Item]
    with closing(fortress(with_bobs=True)) as gate:
        token, key = gate.token({"sub": "eve", "tenant": "acme"}), key_of(gate, "eves-item")
        kept = ("hashKey", "rangeKey", "tenantId", "userId", "itemId", "created", "_counted", "num")

        def own() -> dict[str, object]:
            (item,) = (each for each in everything(gate) if each.get("itemId") == "eves-item" and "userId" in each)
            return {name: item[name] for name in kept if name in item}

        before, met = own(), 0
        changes: list[tuple[str, object]] = [(name, BOBS.get(name, 7)) for name in entity.properties]
        changes += [(name, "x") for name in INTERNAL] + [("rev", "x"), ("key", key[::-1]), ("tenantId", "bolt")]
        for name, value in changes:
            for method in ("PATCH", "PUT"):
                media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
                request = Request(method, f"/v1/items/{key}", headers={"content-type": media_type})
                gate.tell(request.with_json({"title": "t", "realmName": "eves-realm", "num": 0, name: value}), token)
                assert {**own(), "num": 0, "_counted": 0} == {**before, "num": 0, "_counted": 0}, (method, name)
                met += 1
    assert met >= 50
