"""How long an answer may be, where a function returns it as a text in a JSON object of at most 6 MB in all."""

from __future__ import annotations

import json

MAX_PAGE_BYTES = 5 * 1024 * 1024
"""What the records of an answer may take."""


def carried_bytes(text: bytes) -> int:
    """The bytes of JSON text where an answer is itself a text in a JSON object, as a function returns it: quotes and
    backslashes are escaped, and what is not ASCII may be."""
    return len(json.dumps(text.decode())) - 1
