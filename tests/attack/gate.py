"""The entrance of a service as the network sees it: tokens are verified, and then the request is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shardweave.access.tokens import encode_token
from shardweave.api.app import Api
from shardweave.api.problems import MEDIA_TYPE
from shardweave.local.asgi import AsgiApi
from shardweave.local.authorizer import LocalAuthorizer
from shardweave.service.build import Parts
from tests.attack.requests import Document, Request
from tests.unit.api_world import CODES, Clock

SECRET, FORGED = b"a" * 32, b"b" * 32
HOUR = 3600


@dataclass(frozen=True)
class Told:
    """An answer as its reader sees it, but for what names the request and its moment."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str

    @property
    def code(self) -> str:
        """The code of a refusal, empty of an answer that is none."""
        return json.loads(self.body)["type"].rpartition(":")[2].rpartition("/")[2] if self.status >= 400 else ""


@dataclass
class Gate:
    """One service. `runner` keeps the loop that its requests run in. To make a document takes longer than most tests:
    all gates `made_of` the same have that of the first."""

    api: Api
    parts: Parts
    clock: Clock
    made_of: Hashable
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def __post_init__(self) -> None:
        authorizer = LocalAuthorizer(SECRET, self.clock)
        self._app = AsgiApi(self.api, {}, 1, authorize=authorizer.authorize)
        if self.made_of not in _documents:
            _documents[self.made_of] = described(self.api)
        self.api.openapi = _documents[self.made_of]
        self.document = Document(json.loads(self.api.openapi))

    def close(self) -> None:
        self._app.close()
        self.runner.close()
        self.parts.queries.close()
        self.parts.table.close()

    def token(self, claims: Mapping[str, Any], *, secret: bytes = SECRET, seconds: int = HOUR) -> str:
        return "Bearer " + encode_token(claims, secret, now=self.clock() // 1000 - 10, seconds=seconds)

    def tell(self, request: Request, authorization: str | None = None, *, raw: bool = False) -> Told:
        """The answer, `raw` with what is sealed in it. What holds for every answer is checked here."""
        headers = {"host": "localhost", **request.headers}
        if authorization is not None:
            headers["authorization"] = authorization
        status, found, body = self.runner.run(self._ask(request, headers))
        text = body.decode()
        assert found["x-request-id"], request
        assert found["cache-control"] == "no-store", request
        assert found["x-content-type-options"] == "nosniff", request
        kept = sorted((name, value) for name, value in found.items() if name not in _OF_THE_MOMENT)
        told = Told(status, tuple(kept), text if raw else _settled(text))
        assert status < 500, (request, text)
        if status >= 400:
            assert found["content-type"] == MEDIA_TYPE, request
            assert told.code in CODES, (request, text)
        return told

    async def _ask(self, request: Request, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        scope = {
            "type": "http",
            "method": request.method,
            "raw_path": request.path.encode("latin-1"),
            "query_string": request.query.encode("latin-1"),
            "headers": [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()],
        }
        sent: list[Mapping[str, Any]] = []

        async def receive() -> Mapping[str, Any]:
            return {"type": "http.request", "body": request.body, "more_body": False}

        async def send(message: Mapping[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        found = {name.decode("latin-1"): text.decode("latin-1") for name, text in sent[0]["headers"]}
        return sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent[1:])


def described(api: Api) -> bytes:
    """The API's document, made anew."""
    made: bytes = Api.openapi.func(api)
    return made


_documents: dict[Hashable, bytes] = {}
_OF_THE_MOMENT = ("x-request-id", "etag", "content-length")
_SEALED = ("nextToken", "prevToken")
_SPENT = ("milliseconds", "elapsedMs")


def _settled(text: str) -> str:
    """A body without what differs between two worlds in which all is the same: of a sealed token, that there is one."""
    try:
        return json.dumps(_each_settled(json.loads(text)), sort_keys=True)
    except ValueError:
        return text


def _each_settled(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "sealed" if name in _SEALED and each else 0 if name in _SPENT else _each_settled(each)
            for name, each in value.items()
        }
    return [_each_settled(each) for each in value] if isinstance(value, list) else value
