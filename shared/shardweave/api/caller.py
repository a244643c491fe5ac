"""Who sends a request: the one place that reads it from an event.

An authorizer has verified what is read here (API Gateway's, or the local server's); without one the caller is
`anonymous`. API Gateway gives every claim as a text, and a list as `[a b]`: so are groups read, from the claim `groups`
or `cognito:groups`. Whoever signed with AWS credentials has no claims, and the group `role/NAME` where it is a role's
session.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..access.caller import ANONYMOUS, Caller

__all__ = ["ANONYMOUS", "Caller", "caller_of"]

GROUP_CLAIMS = ("groups", "cognito:groups")
_ROLE_SESSION = re.compile(r"arn:[\w-]+:sts::\d*:assumed-role/([^/]+)/.*")


def caller_of(event: Mapping[str, Any]) -> Caller:
    """The caller of an event (payload format 2.0): a token's issuer and subject, or the ARN of who signed."""
    authorizer = (event.get("requestContext") or {}).get("authorizer") or {}
    claims = (authorizer.get("jwt") or {}).get("claims") or {}
    signer = (authorizer.get("iam") or {}).get("userArn")
    if claims.get("sub"):
        texts = {str(name): value for name, value in claims.items() if isinstance(value, str)}
        groups = frozenset(group for name in GROUP_CLAIMS for group in _listed(texts.get(name, "")))
        return Caller(f"{claims.get('iss', '')} {claims['sub']}", "", str(claims["sub"]), texts, groups)
    if not signer:
        return Caller()
    role = _ROLE_SESSION.fullmatch(signer)
    return Caller(signer, "", signer, {}, frozenset({f"role/{role[1]}"} if role else ()))


def _listed(text: str) -> list[str]:
    """The members of a claim that is a list or one text."""
    if text.startswith("[") and text.endswith("]"):
        return [each for each in re.split(r"[\s,]+", text[1:-1]) if each]
    return [text] if text else []
