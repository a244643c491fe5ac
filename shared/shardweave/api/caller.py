"""Who sends a request: the one place that says so.

An authorizer has verified what is read here (API Gateway's, or the local server's); without one the caller is
`anonymous`. `scope` is whose idempotency keys are meant: two callers with different scopes know nothing of each
other's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ANONYMOUS = "anonymous"


@dataclass(frozen=True)
class Caller:
    """A principal, and the tenant that it acts for (empty where there are none)."""

    principal: str = ANONYMOUS
    tenant: str = ""

    @property
    def scope(self) -> str:
        return json.dumps([self.tenant, self.principal])


def caller_of(event: Mapping[str, Any]) -> Caller:
    """The caller of an event (payload format 2.0): a token's issuer and subject, or the ARN of who signed."""
    authorizer = (event.get("requestContext") or {}).get("authorizer") or {}
    claims = (authorizer.get("jwt") or {}).get("claims") or {}
    signer = (authorizer.get("iam") or {}).get("userArn")
    if claims.get("sub"):
        return Caller(f"{claims.get('iss', '')} {claims['sub']}")
    return Caller(signer) if signer else Caller()
