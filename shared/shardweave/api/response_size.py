"""The size of answers: a Lambda function returns an answer as a text in a JSON object of at most 6 MB."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ..query.page_budget import fitting
from ..query.spec import CutBy

MAX_PAGE_BYTES = 5 * 1024 * 1024
"""The maximum bytes of the records of an answer."""
_PLAIN = bytes(code for code in range(0x20, 0x7F) if code not in b'"\\')
"""ASCII characters that take one byte in JSON text too."""

MOST_ESCAPED = 3
"""The maximum factor by which escaping enlarges a JSON text: a character of two or four bytes is escaped as six or
twelve."""


@dataclass(frozen=True)
class Carried:
    """The JSON text of a record in an answer. It is measured once, when its size is first asked for."""

    text: bytes

    @cached_property
    def size(self) -> int:
        return carried_bytes(self.text)


@dataclass(frozen=True)
class Texts:
    """The JSON texts of records, or only of the first ones: then `short_of` says which limit was reached."""

    texts: list[Carried]
    short_of: CutBy = ""


def fitting_page(records: Iterable[Carried], most: int = MAX_PAGE_BYTES) -> int:
    """How many of the first records fit into an answer; at least one, if there is one."""
    return fitting((each.size for each in records), most)


def fills_more_than_an_answer(record: Carried) -> bool:
    """Whether an answer can't carry a record, even alone."""
    return len(record.text) * MOST_ESCAPED > MAX_PAGE_BYTES and record.size > MAX_PAGE_BYTES


def carried_texts(texts: Iterable[bytes | None]) -> list[tuple[None, Carried] | None]:
    """Each JSON text as an answer carries it, without a record; None where there is none, or where it fills more than
    an answer."""
    found = [None if text is None else Carried(text) for text in texts]
    return [None if each is None or fills_more_than_an_answer(each) else (None, each) for each in found]


def carried_bytes(text: bytes) -> int:
    """The bytes of JSON text where an answer is itself a text in a JSON object, as a function returns it: quotes and
    backslashes are escaped, and what is not ASCII may be."""
    special = text.translate(None, _PLAIN)
    if not special.strip(b'"\\'):
        return len(text) + len(special) + 1
    return len(json.dumps(text.decode())) - 1
