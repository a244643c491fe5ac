"""The event (payload format 2.0) of a request, for serving the API without API Gateway."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from .http import decode_path


def event_of(
    method: str,
    target: str,
    query: str,
    headers: Mapping[str, str],
    body: bytes,
    authorizer: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The event of a request with this path, as it was sent; `authorizer` is the authorizer's result. Raises
    MalformedRequest."""
    path = decode_path(target)
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": query,
        "headers": dict(headers),
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
        "requestContext": {"http": {"method": method, "path": path}, "stage": "$default", "authorizer": authorizer},
    }


def authorizer_of(claims: Mapping[str, Any]) -> dict[str, Any]:
    """The authorizer's result for a token with these claims."""
    return {"jwt": {"claims": {name: claim_text(value) for name, value in claims.items()}, "scopes": None}}


def claim_text(value: Any) -> str:
    """A claim in API Gateway's form: a list is `[a b]`."""
    if isinstance(value, list):
        return f"[{' '.join(claim_text(each) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def verified_token(claims: Mapping[str, Any]) -> str:
    """A token with these claims and an arbitrary signature, which is not checked after the authorizer."""
    return f"e30.{base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b'=').decode()}.c2lnbmVk"
