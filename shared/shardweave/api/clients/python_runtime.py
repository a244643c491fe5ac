"""What every client in Python has. A client begins with these lines."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import re
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

ProblemCode: TypeAlias = str
"""The codes of problems. A client lists them."""

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True)
class Between(Generic[V]):
    """A property lies between two values, both included; None leaves a side open."""

    low: V | None = None
    high: V | None = None


@dataclass(frozen=True)
class Prefix:
    """A property's text begins with this."""

    text: str


@dataclass(frozen=True)
class Stored(Generic[T]):
    """A record and its revision, which a write may require."""

    record: T
    rev: str | None


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of records."""

    items: list[T]
    next_token: str | None
    prev_token: str | None
    complete: bool


class Problem(Exception):
    """What the service said was wrong. `code` is its stable name."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document["detail"])
        self.code: ProblemCode = _code(document["type"])
        self.status: int = document["status"]
        self.where: str | None = document.get("where")
        self.fix: str | None = document.get("fix")
        self.errors: list[dict[str, str]] = document.get("errors", [])


def _code(name: str) -> Any:
    return name.removeprefix("urn:shardweave:error:")


class Unanswered(Exception):
    """No answer came, however often the request was sent."""


class Pages(Generic[T]):
    """Records page by page: iterating gives each record, `page()` one page, `pages()` all of them. `async for` reads
    in a thread."""

    def __init__(self, read: Callable[[str | None, str], Page[T]], first: str | None) -> None:
        self._read = read
        self._first = first

    def page(self, token: str | None = None) -> Page[T]:
        """One page: the first, or the one that a token asks for."""
        return self._read(token or self._first, "nextToken")

    def before(self, prev_token: str) -> Page[T]:
        """The page before another, by that one's `prev_token`."""
        return self._read(prev_token, "prevToken")

    def pages(self) -> Iterator[Page[T]]:
        """All pages from the first on."""
        token = self._first
        while True:
            page = self._read(token, "nextToken")
            yield page
            token = page.next_token
            if token is None:
                return

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items

    async def __aiter__(self) -> AsyncIterator[T]:
        token = self._first
        while True:
            page = await asyncio.to_thread(self._read, token, "nextToken")
            for item in page.items:
                yield item
            token = page.next_token
            if token is None:
                return


@dataclass(frozen=True)
class Answer:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Send = Callable[[str, str, Mapping[str, str], "bytes | None"], Answer]
"""Sends a request: method, address, headers, body. Raises OSError where no answer comes."""


def send_by_urllib(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
    """Sends a request over a connection of its own."""
    request = urllib.request.Request(url, body, dict(headers), method=method)  # noqa: S310 - it is the caller's address
    try:
        try:
            answer = urllib.request.urlopen(request, timeout=60)  # noqa: S310 - alike
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return Answer(answer.status, _lower(answer.headers), answer.read())
    except http.client.HTTPException as error:
        raise OSError("the answer broke off, or is not HTTP") from error


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): text for name, text in headers.items()}


class Transport:
    """Sends requests, again where that may help. A write carries a key, so that it is done once."""

    def __init__(
        self,
        base_url: str,
        headers: Callable[[], Mapping[str, str]],
        attempts: int,
        send: Send,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers, self._attempts, self._send, self._pause = headers, attempts, send, pause

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: object = None,
        *,
        key: str | None = None,
        rev: str | None = None,
        once: bool = False,
    ) -> Answer:
        """The answer to a request. Raises Problem, Unanswered."""
        own: dict[str, str] = {}
        if body is not None:
            own["content-type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        if once:
            own["idempotency-key"] = key or str(uuid.uuid4())
        if rev is not None:
            own["if-match"] = f'"{rev}"'
        given = {name: _text(value) for name, value in query.items() if value is not None}
        url = self._base_url + path + (f"?{urlencode(given, quote_via=quote)}" if given else "")
        sent = None if body is None else json.dumps(body).encode()
        attempts = self._attempts if once or method == "GET" else 1
        for attempt in range(1, attempts + 1):
            wait = random.random() * 0.1 * 2**attempt
            try:
                answer = self._send(method, url, {**self._headers(), **own}, sent)
            except OSError as error:
                if attempt == attempts:
                    raise Unanswered("the service did not answer") from error
            else:
                if answer.status < 400:
                    return answer
                if attempt == attempts or answer.status not in (429, 503):
                    raise Problem(_document(answer))
                wait = max(wait, _seconds(answer.headers.get("retry-after", "")))
            self._pause(wait)
        raise AssertionError("the last attempt ends")

    def asked(self, method: str, path: str, query: Mapping[str, Any], body: object = None, **more: Any) -> Any:
        """The JSON of an answer, None where it has none."""
        answer = self.ask(method, path, query, body, **more)
        return _json(answer) if answer.body else None

    def stored(self, method: str, path: str, body: object, key: str | None, rev: str | None = None) -> Stored[Any]:
        """The record that a write leaves."""
        return _stored(self.ask(method, path, {}, body, key=key, rev=rev, once=True))

    def found(self, path: str) -> Stored[Any] | None:
        """The record of a path, None where there is none."""
        try:
            return _stored(self.ask("GET", path, {}))
        except Problem as problem:
            if problem.code == "not_found":
                return None
            raise

    def pages(self, path: str, index: str | None, given: Mapping[str, Any]) -> Pages[Any]:
        """The pages of a list."""
        options = {name: given[each] for each, name in _OPTIONS.items() if each in given}
        conditions = {"index": index}
        for name, value in given.items():
            if name not in _OPTIONS and name != "filter":
                conditions |= _condition(name.removesuffix("_"), value)
        for name, value in given.get("filter", {}).items():
            found = _condition(f"filter.{name}", value)
            conditions |= {each.removesuffix(".eq"): bound for each, bound in found.items()}
        return self.listed(path, {**conditions, **options})

    def listed(self, path: str, query: Mapping[str, Any]) -> Pages[Any]:
        """The pages of a path."""

        def read(token: str | None, word: str) -> Page[Any]:
            found = self.asked("GET", path, {**query, "nextToken": None, word: token})
            return Page(found["items"], found["nextToken"], found.get("prevToken"), found["complete"])

        return Pages(read, query.get("nextToken"))


_OPTIONS = {"reverse": "reverse", "limit": "limit", "next_token": "nextToken"}
_UNSAFE = re.compile(r"[?#%\\\x00-\x1f\x7f]|(^|/)(\.{0,2})(/|$)")


def _condition(name: str, value: object) -> dict[str, Any]:
    if isinstance(value, Prefix):
        return {f"{name}.prefix": value.text}
    if isinstance(value, Between):
        return {f"{name}.from": value.low, f"{name}.to": value.high}
    return {f"{name}.eq": value}


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _seconds(text: str) -> float:
    """The pause that an answer asks for, 0 where it says it as a date."""
    return float(text) if text.isascii() and text.isdecimal() else 0


def _json(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError:
        document = {"type": "internal_error", "status": answer.status, "detail": "the answer is not JSON"}
        raise Problem(document) from None


def _stored(answer: Answer) -> Stored[Any]:
    tag = answer.headers.get("etag")
    return Stored(_json(answer), None if tag is None else tag.removeprefix("W/")[1:-1])


def _document(answer: Answer) -> Mapping[str, Any]:
    try:
        found = json.loads(answer.body)
        if isinstance(found, dict) and "type" in found and "detail" in found:
            return {"status": answer.status, **found}
    except ValueError:
        pass
    return {"type": "internal_error", "status": answer.status, "detail": "the answer is no problem document"}


def record_path(collection: str, *parts: object) -> str:
    """The path of a record."""
    return "/".join([collection, *(quote(_key_part(_text(each)), safe="") for each in parts)])


def _key_part(key: str) -> str:
    """A key as a part of a path: what would not arrive is written in another form."""
    if _UNSAFE.search(key) or "/" in key:
        return "=" + quote(key, safe="").replace(".", "%2E")
    return key
