"""The caller of a request to the local server: the claims of a development token, as an authorizer of API Gateway would
return them.

A request without a token is anonymous and may do what a service without rules allows everybody, since only this machine
reaches the server. A request with an invalid, changed or expired token is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..access.tokens import decode_token
from ..api.lambda_event import authorizer_of
from ..errors import Unauthenticated
from ..schema.entity import now_ms

_SCHEME = "bearer"


@dataclass(frozen=True)
class LocalAuthorizer:
    """Verifies development tokens. `clock` gives epoch milliseconds."""

    secret: bytes
    clock: Callable[[], int] = now_ms

    def authorize(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """The authorizer's part of an event, empty without a token. Raises Unauthenticated."""
        given = headers.get("authorization")
        if given is None:
            return {}
        scheme, _, token = given.partition(" ")
        if scheme.lower() != _SCHEME:
            raise Unauthenticated("must be a bearer token", where="authorization", fix="send `Bearer` and the token")
        claims = decode_token(token.strip(), self.secret, now=self.clock() // 1000)
        return authorizer_of(claims)
