"""The caller of a request, from its event. No other module reads it.

An authorizer (API Gateway's, or the local server's) has verified the values; without one the caller is `anonymous`. API
Gateway writes every claim as one text, and a list as `[a b]`: names with spaces or commas can't be distinguished there,
nor a list from a text with brackets. So a claim that may be a list is read from the verified token in the event, and
only if the token corresponds to that text; otherwise it counts as missing. Groups are the claim `groups` or
`cognito:groups`, a list of names or one name. Callers who sign with AWS credentials have no claims; a role's session
has the group `role/NAME`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

from ..schema.caller import ANONYMOUS, Caller

__all__ = ["ANONYMOUS", "Caller", "caller_of"]

GROUP_CLAIMS = ("groups", "cognito:groups")
_SAME_TOKEN = ("iss", "sub", "jti")
_MAY_BE_A_LIST = ("[", "{", "map[")
_ROLE_SESSION = re.compile(r"arn:[\w-]+:sts::\d*:assumed-role/([^/]+)/.*")
_MADE_BY_FLATTENING = re.compile(r"[\s,\"'\[\]]+")


def caller_of(event: Mapping[str, Any]) -> Caller:
    """The caller of an event (payload format 2.0): a token's issuer and subject, or the ARN of who signed."""
    authorizer = (event.get("requestContext") or {}).get("authorizer") or {}
    flattened = (authorizer.get("jwt") or {}).get("claims") or {}
    signer = (authorizer.get("iam") or {}).get("userArn")
    if flattened.get("sub"):
        claims, unread = _claims(flattened, event.get("headers") or {})
        texts = {name: value for name, value in claims.items() if isinstance(value, str)}
        groups = frozenset(group for name in GROUP_CLAIMS for group in _names(claims.get(name)))
        principal, subject = f"{flattened.get('iss', '')} {flattened['sub']}", str(flattened["sub"])
        return Caller(principal, "", subject, texts, groups, unread)
    if not signer:
        return Caller()
    role = _ROLE_SESSION.fullmatch(signer)
    return Caller(signer, "", signer, {}, frozenset({f"role/{role[1]}"} if role else ()))


def _claims(flattened: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[dict[str, Any], frozenset[str]]:
    """The claims of the token, and the names of those that can't be parsed from their flattened text."""
    texts = {str(name): text for name, text in flattened.items() if isinstance(text, str)}
    claims: dict[str, Any] = {name: text for name, text in texts.items() if not text.startswith(_MAY_BE_A_LIST)}
    unread = texts.keys() - claims.keys()
    if unread:
        token = _token(headers)
        if all(token.get(name) == texts.get(name) for name in _SAME_TOKEN):
            claims |= {name: token[name] for name in unread if name in token and _gives(token[name], texts[name])}
    return claims, frozenset(unread - claims.keys())


def _token(headers: Mapping[str, str]) -> Mapping[str, Any]:
    """The claims in the request's token, empty if it has none. The authorizer has verified the token."""
    given = next((value for name, value in headers.items() if name.lower() == "authorization"), "")
    parts = given.rpartition(" ")[2].split(".")
    try:
        found = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, binascii.Error, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _gives(value: Any, text: str) -> bool:
    """Whether a text is the flattened form of a claim's value. The separators of lists may differ, the members not."""
    if isinstance(value, str):
        return value == text
    if not isinstance(value, list):
        return False
    members = "".join(each for each in value if isinstance(each, str))
    return _MADE_BY_FLATTENING.sub("", members) == _MADE_BY_FLATTENING.sub("", text)


def _names(value: Any) -> list[str]:
    """The members of a claim that is a list of names or one name."""
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed if isinstance(each, str) and each]
