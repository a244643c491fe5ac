"""A fault as a value and as text: its place, what is wrong, and the fix.

Errors are made of these (see `errors`, which names them too).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Fault:
    """A fault, with its place and its fix."""

    where: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.where}: {with_fix(self.message, self.fix)}"


@dataclass(frozen=True)
class FieldFault:
    """A property that failed validation: its path, what was wrong, and pydantic's type of the error."""

    location: tuple[str | int, ...]
    message: str
    type: str


UNREADABLE_CODES = {
    "another_entity": "its key is another entity's",
    "wrong_key": "its key is not the one that its properties make",
    "wrong_revision": "its revision is not a text",
    "invalid": "it does not fit its entity",
    "not_answerable": "it has no JSON form",
    "too_large": "it does not fit into an answer, alone or with the records that it leads to",
    "lookup_damaged": "the lookup record that leads to it is damaged",
    "counter_damaged": "its counter is damaged",
    "answer_damaged": "the answer that is kept for it is damaged",
    "counting_damaged": "what says by which relations it is counted is damaged",
    "events_damaged": "what is kept of the events about it is damaged",
    "sums_damaged": "what is remembered of it for a read model is damaged",
    "unknown_version": "its form is of a version that this program does not have",
    "not_upgraded": "an upgrade of its stored form failed, or changed what a key, a lookup or a relation is made of",
}
"""The codes of faults of a stored record, with the text of each."""


@dataclass(frozen=True)
class Unreadable:
    """A stored record that can't be read, and the reason, without any of its values. `key` is its identity by stored
    name, empty if its key can't be read either; `code` is one of `UNREADABLE_CODES`; `properties` are the properties at
    fault that are not private, each with what is wrong. `position`, in a page or a batch, is the number of items before
    it. `stored_key` is the table's own key, for whoever looks into the table."""

    entity: str
    key: Mapping[str, Any]
    code: str
    properties: tuple[str, ...] = ()
    position: int | None = None
    collection: str = ""
    stored_key: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """A unique name of the record: its collection and its key, or the table's key if that can't be read."""
        return "/".join([self.collection, *map(str, self.key.values() if self.key else self.stored_key)])

    @property
    def place(self) -> str:
        """The entity and the key as one text."""
        shown = "/".join(str(part)[:200] for part in self.key.values())
        return f"{self.entity} {shown}" if shown else self.entity

    @property
    def message(self) -> str:
        named = f": {', '.join(self.properties)}" if self.properties else ""
        return f"a stored {self.entity} can't be read, since {UNREADABLE_CODES[self.code]}{named}"

    @property
    def fix(self) -> str:
        return _FIXES.get(self.code, "put it whole, delete it, or let the entity take what is stored")


_FIXES = MappingProxyType(
    {
        "another_entity": "remove the item, or its keys in the indexes of this entity, with the table's own tools",
        "wrong_key": "put the record that its properties are of, and remove the item with the table's own tools",
        "not_answerable": "let its properties and computed fields have a JSON form, whatever is stored",
        "too_large": "expand fewer relations, ask for fewer properties, or read what it leads to by key",
        "lookup_damaged": "put the record whole that the value is of, or fill the lookup again",
        "counter_damaged": "set the counter with the table's own tools, to the highest number that was given, or to "
        "how many records belong to it",
        "counting_damaged": "set `_counted` with the table's own tools to the relations whose parents count it",
        "answer_damaged": "use a new key, once it is known what became of the request",
        "unknown_version": "read and write it with the program that wrote it, or deploy that here too",
        "not_upgraded": "let the upgrade take what is stored and leave such properties as they are; or put it whole",
        "events_damaged": "remove the item with the table's own tools, and send its events again",
        "sums_damaged": "remove the item with the table's own tools, and rebuild the read model",
    }
)


def location_text(location: Sequence[str | int]) -> str:
    """A path in a document as text: `puts[1].name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


def use_one_of(names: Iterable[str], *, what: str) -> str:
    """The fix for an unknown name: the existing names, of `what` kind."""
    listed = ", ".join(names)
    return f"use one of {listed}" if listed else f"leave it out, or declare it: there is no {what} here"


def with_fix(message: str, fix: str) -> str:
    """A message and its fix as sentences. A message that is a list ends with a line break."""
    if not fix:
        return message
    end = "" if message.endswith((".", "!", "?", ":", "\n")) else "."
    return f"{message}{end}{'' if message.endswith(chr(10)) else ' '}Fix: {fix}"
