"""Signature Version 4 for requests to DynamoDB and Secrets Manager: the head of each request, with its signature.

The signature is the same as botocore's for the same headers. The signing key derived from the secret changes once a day
and is cached; the cache is one tuple, which is replaced in one assignment, so that threads need no lock.
"""

from __future__ import annotations

import hmac
import re
import time
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from ....errors import ConfigurationError

USER_AGENT = "shardweave"

_PLAIN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True)
class Service:
    """A service that takes JSON: its name in hosts and signatures, in variables of the environment, in the target of a
    request, and its form of JSON."""

    name: str
    variable: str
    target: str
    content_type: str


DYNAMODB = Service("dynamodb", "DYNAMODB", "DynamoDB_20120810", "application/x-amz-json-1.0")
SECRETS_MANAGER = Service("secretsmanager", "SECRETS_MANAGER", "secretsmanager", "application/x-amz-json-1.1")


@dataclass(frozen=True)
class Credentials:
    """The credentials of signatures. Only the key's id is ever shown."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("access_key", "secret_key", "token"):
            value = getattr(self, name)
            if not (value is None and name == "token") and not _PLAIN.fullmatch(value):
                raise ConfigurationError(
                    "AWS credentials hold visible ASCII characters only, without blanks or line breaks",
                    where=name,
                    fix="set them again",
                )


class Signer:
    """Signs for one host and region of a service."""

    def __init__(self, credentials: Credentials, region: str, host: str, service: Service = DYNAMODB) -> None:
        for name, value in (("region", region), ("host", host)):
            if not _PLAIN.fullmatch(value):
                raise ConfigurationError("it holds what no name may hold", where=name, fix="set it again")
        self._region = region
        self._host = host
        self._service = service
        self._state = self._of_day(credentials, "")

    def replace(self, credentials: Credentials) -> None:
        """Sign with other credentials from now on."""
        self._state = self._of_day(credentials, "")

    def head(self, operation: str, body: bytes, now: float) -> bytes:
        """The head of a request, signed at `now` (epoch seconds)."""
        moment = _moment(int(now))
        state = self._state
        if state[0] != moment[:8]:
            self._state = state = self._of_day(state[1], moment[:8])
        _, _, key, scope, authorization, token_line, signed_token, names = state
        target, content_type = f"{self._service.target}.{operation}", self._service.content_type
        canonical = (
            f"POST\n/\n\ncontent-type:{content_type}\nhost:{self._host}\nx-amz-date:{moment}\n{signed_token}"
            f"x-amz-target:{target}\n\n{names}\n{sha256(body).hexdigest()}"
        )
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        return (
            f"POST / HTTP/1.1\r\nHost: {self._host}\r\nAccept-Encoding: identity\r\nX-Amz-Target: {target}\r\n"
            f"Content-Type: {content_type}\r\nUser-Agent: {USER_AGENT}\r\nX-Amz-Date: {moment}\r\n{token_line}"
            f"Authorization: {authorization}{signature}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()

    def _of_day(self, credentials: Credentials, day: str) -> _State:
        key = f"AWS4{credentials.secret_key}".encode()
        for part in (day, self._region, self._service.name, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        token = credentials.token
        scope = f"{day}/{self._region}/{self._service.name}/aws4_request"
        names = f"content-type;host;x-amz-date;{'x-amz-security-token;' if token else ''}x-amz-target"
        return (
            day,
            credentials,
            key,
            scope,
            f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature=",
            f"X-Amz-Security-Token: {token}\r\n" if token else "",
            f"x-amz-security-token:{token}\n" if token else "",
            names,
        )


@lru_cache(2)
def _moment(seconds: int) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(seconds))


_State = tuple[str, Credentials, bytes, str, str, str, str, str]
"""The day, whose key it is, the day's key, its scope, and the texts that are the same for all requests of the day."""
