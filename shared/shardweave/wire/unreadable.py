"""Unreadable stored records in answers and logs.

    "unreadable": [{"entity": "user", "key": "u1", "code": "invalid", "properties": ["name (missing)"], "position": 3}]

An answer has this member only if there are any. It contains nothing of a record except its key. A log has one line for
each, in which the key is a hash, as in the audit trail.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..errors import RecordUnreadable, Unreadable
from ..errors.fault_text import UNREADABLE_CODES
from ..values.json_types import left_out

UNREADABLE = "unreadable"
KEY_DIGITS = 16


class UnreadableRecord(BaseModel):
    """A stored record that can't be read."""

    model_config = ConfigDict(defer_build=True)

    entity: str = Field(description="Whose record it is.")
    key: Any = Field(description="What names it; null where its key can't be read either.")
    code: Literal[tuple(UNREADABLE_CODES)] = Field(description="A stable word for what is wrong.")  # type: ignore[valid-type]
    properties: list[str] = left_out("The properties at fault, each with what is wrong.")
    position: int = left_out("How many items of the answer stand before it; in a batch, which of the keys it is.")


TOLD: Any = (list[UnreadableRecord], left_out("Stored records on the way that can't be read; left out without any."))
"""The member of an answer, as a field of its model."""


def logged(found: Unreadable) -> dict[str, str]:
    """The log line of an unreadable record."""
    return {"entity": found.entity, "key": key_hash(found.name), "code": found.code}


def unreadable_in(failure: BaseException | None) -> tuple[Unreadable, ...]:
    """The unreadable record in an error, if it has one."""
    return (failure.record,) if isinstance(failure, RecordUnreadable) else ()


def key_hash(name: str) -> str:
    """The hash of a record in the audit trail; `name` is its collection and its key, separated by a slash."""
    return sha256(name.encode(errors="surrogatepass")).hexdigest()[:KEY_DIGITS]
