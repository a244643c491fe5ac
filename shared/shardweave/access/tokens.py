"""Development tokens: claims that the local server believes, since it has signed them.

Format: a JSON Web Token (RFC 7519) with HMAC-SHA-256, `header.claims.signature`, each in base64url without padding.
The header is always the same text, so no token can choose how it is verified. `sub`, `iat` and `exp` are there; time
is epoch seconds. They are for one machine: a deployed service takes those of its issuer only.

Costs: one HMAC. Pure.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from typing import Any

from ..errors import Unauthenticated

ISSUER = "local"
MAX_CHARACTERS = 8192
SECRET_BYTES = 32
GROUPS = "groups"


def encode_token(claims: Mapping[str, Any], secret: bytes, *, now: int, seconds: int) -> str:
    """A token with these claims that ends after so many seconds."""
    content = {"iss": ISSUER, "sub": "developer", **claims, "iat": now, "exp": now + seconds}
    text = f"{_HEADER}.{_text(json.dumps(content, separators=(',', ':')).encode())}"
    return f"{text}.{_text(_signature(text, secret))}"


def decode_token(token: str, secret: bytes, *, now: int) -> dict[str, Any]:
    """The claims of a token. Raises Unauthenticated for one that is not ours, was changed, or has ended."""
    signed, _, signature = token.rpartition(".")
    header, _, content = signed.partition(".")
    if len(token) > MAX_CHARACTERS or header != _HEADER:
        raise _refused("the token is not one of this server")
    try:
        if not hmac.compare_digest(_signature(signed, secret), _bytes(signature)):
            raise _refused("the token is not one of this server")
        claims = json.loads(_bytes(content))
    except (binascii.Error, ValueError):
        raise _refused("the token is not one of this server") from None
    if not claims["iat"] - LEEWAY_SECONDS <= now < claims["exp"]:
        raise _refused("the token has ended, or is of another clock")
    found: dict[str, Any] = claims
    return found


LEEWAY_SECONDS = 60


def _refused(message: str) -> Unauthenticated:
    return Unauthenticated(message, where="authorization", fix="make one: shardweave token --claim NAME=VALUE")


def _signature(text: str, secret: bytes) -> bytes:
    return hmac.digest(secret, text.encode(), "sha256")


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    found = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if _text(found) != text:
        raise ValueError("not canonical")
    return found


_HEADER = _text(b'{"alg":"HS256","typ":"JWT"}')
