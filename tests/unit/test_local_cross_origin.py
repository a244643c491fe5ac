"""Pages of a named origin use the local server in a browser; those of others read nothing and change nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from shardweave.errors import ConfigurationError
from shardweave.local.asgi import AsgiApi
from shardweave.local.cross_origin import NamedOrigins, origin_of
from tests.unit.api_world import user_service
from tests.unit.test_local_bounds import USER, ask, code_of

NAMED, SECOND, OTHER = "http://localhost:3000", "https://app.example.com", "http://localhost:3001"


@pytest.fixture
def app() -> Iterator[AsgiApi]:
    service = user_service()
    made = AsgiApi(service.api, {}, 2, origins=NamedOrigins(frozenset({NAMED, SECOND})))
    yield made
    made.close()
    service.close()


@pytest.mark.parametrize("origin", [NAMED, SECOND])
def test_a_page_of_a_named_origin_asks_first_and_then_writes_and_reads_the_answer(app: AsgiApi, origin: str) -> None:
    asked = {"access_control_request_method": "PATCH", "access_control_request_headers": "authorization, if-match"}
    allowed = asyncio.run(ask(app, "OPTIONS", "/v1/users/u", origin=origin, **asked))
    assert (allowed["status"], allowed["json"]) == (204, None)
    assert "PATCH" in allowed["headers"]["access-control-allow-methods"]
    assert allowed["headers"]["access-control-allow-headers"] == "authorization, if-match"
    made = asyncio.run(ask(app, "POST", body=USER, origin=origin, sec_fetch_site="cross-site"))
    assert made["status"] == 201
    for answer in (allowed, made):
        assert answer["headers"]["access-control-allow-origin"] == origin
        assert answer["headers"]["vary"] == "Origin"
        assert "access-control-allow-credentials" not in answer["headers"]
    exposed = {name.strip().lower() for name in made["headers"]["access-control-expose-headers"].split(",")}
    assert {"etag", "location", "retry-after", "x-request-id"} <= exposed


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("GET", "/nowhere", b"", "route_not_found"),
        ("GET", "/v1/users/nobody", b"", "not_found"),
        ("POST", "/v1/users", b"{", "malformed_request"),
        ("POST", "/v1/users", b"x" * 7_000_000, "body_too_large"),
    ],
)
def test_it_can_read_why_a_request_was_refused(app: AsgiApi, method: str, path: str, body: bytes, code: str) -> None:
    answer = asyncio.run(ask(app, method, path, body, origin=NAMED, content_length=str(len(body))))
    assert answer["status"] >= 400
    assert answer["headers"]["access-control-allow-origin"] == NAMED
    assert code_of(answer) == code


@pytest.mark.parametrize("origin", [OTHER, "null", "*", f"{NAMED}/", NAMED.upper(), f"{NAMED}.example.com"])
def test_to_any_other_nothing_is_allowed(app: AsgiApi, origin: str) -> None:
    asked = asyncio.run(ask(app, "OPTIONS", origin=origin, access_control_request_method="POST"))
    read = asyncio.run(ask(app, "GET", origin=origin))
    write = asyncio.run(ask(app, "POST", body=USER, origin=origin, sec_fetch_site="cross-site"))
    assert code_of(write) == "forbidden"
    for answer in (asked, read, write):
        assert not [name for name in answer["headers"] if name.startswith("access-control-")]
        assert answer["headers"]["vary"] == "Origin"


def test_without_a_named_origin_an_answer_is_the_same_whoever_asks() -> None:
    service = user_service()
    app = AsgiApi(service.api, {}, 2)
    answer = asyncio.run(ask(app, "GET", origin=NAMED))
    assert not {"vary", "access-control-allow-origin"} & set(answer["headers"])
    app.close()
    service.close()


@pytest.mark.parametrize("names", ["x\r\nset-cookie: a=b", "", "a b", "content-type,,x"])
def test_names_of_headers_that_are_none_are_not_allowed(app: AsgiApi, names: str) -> None:
    asked = {"access_control_request_method": "POST", "access_control_request_headers": names}
    answer = asyncio.run(ask(app, "OPTIONS", origin=NAMED, **asked))
    assert "access-control-allow-headers" not in answer["headers"]


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        (NAMED, NAMED),
        ("HTTP://LocalHost:3000", NAMED),
        ("http://localhost:80", "http://localhost"),
        ("https://app.example.com:443", SECOND),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("http://[::1]", "http://[::1]"),
    ],
)
def test_an_origin_is_taken_as_browsers_write_it(text: str, origin: str) -> None:
    assert origin_of(text) == origin


@pytest.mark.parametrize(
    "text",
    [
        *(
            "*",
            "null",
            "",
            "localhost:3000",
            "http://",
            "http://*",
            "http://a/",
            "http://a?x",
            "http://a#",
            "http://u@a",
        ),
        *("ftp://a", "http://a:x", "http://a:99999", "http://a:", "http://a b", "http://ä.de", "http://a\r\nx: y"),
    ],
)
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is no origin"):
        origin_of(text)
