"""What a reply can be trusted for.

A reply is whole when it is the one of which its checksum was made, and an error is a refusal, after which nothing was
carried out, only in a whole reply in DynamoDB's own form.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

UNAVAILABLE_CODES = frozenset(
    {
        "InternalServerError",
        "InternalServerErrorException",
        "InternalFailure",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "RequestTimeout",
        "RequestTimeoutException",
    }
)
"""The codes of errors that say nothing of what was carried out, whatever their status."""


def is_whole(response: Mapping[str, Any]) -> bool:
    """Whether a reply's body is the one of which its checksum was made."""
    checksum = response["headers"].get("x-amz-crc32")
    return checksum is None or checksum == str(zlib.crc32(response["body"]))


def readable(response: Mapping[str, Any]) -> dict[str, Any] | None:
    """The JSON object in a reply's body, or None when the reply is broken."""
    if not is_whole(response):
        return None
    try:
        body = json.loads(response["body"].decode())
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def is_refusal(response: Mapping[str, Any], parsed: Mapping[str, Any]) -> bool:
    """Whether a reply says that the request was not carried out: an error of the caller's (4xx) in a reply that arrived
    whole, as DynamoDB gives it. One that is too large (413) may be refused by anyone on the way."""
    status = response["status_code"]
    if not 400 <= status < 500 or not is_whole(response):
        return False
    if status == 413:
        return True
    code = parsed.get("Error", {}).get("Code", "")
    return readable(response) is not None and code not in UNAVAILABLE_CODES
