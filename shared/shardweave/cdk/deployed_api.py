"""A client of a deployed API: each request carries a token, or is signed with AWS credentials.

`address` and `host` are separate, since an emulator answers for every API at one address.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

TIMEOUT_SECONDS = 40


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class DeployedApi:
    """An API at `address` (host and port) whose name is `host`. With neither token nor credentials, requests are
    anonymous."""

    address: str
    host: str
    token: str | None = None
    credentials: tuple[str, str] | None = field(default=None, repr=False)
    region: str = "us-east-1"

    def get(self, path: str, **query: str) -> Reply:
        return self.call("GET", path, query=query)

    def call(self, method: str, path: str, document: Any = None, *, query: Mapping[str, str] | None = None) -> Reply:
        """Send one request."""
        target = quote(path) + (f"?{urlencode(query)}" if query else "")
        body = b"" if document is None else json.dumps(document).encode()
        headers = {"Host": self.host} | ({"Content-Type": "application/json"} if body else {})
        headers |= self._signature(method, target, body, headers)
        connection = http.client.HTTPConnection(self.address, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def _signature(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
        if self.token is not None:
            return {"Authorization": f"Bearer {self.token}"}
        if self.credentials is None:
            return {}
        request = AWSRequest(method, f"http://{self.host}{target}", data=body, headers=dict(headers))
        SigV4Auth(Credentials(*self.credentials), "execute-api", self.region).add_auth(request)
        return {name: request.headers[name] for name in ("X-Amz-Date", "Authorization")}
