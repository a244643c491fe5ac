"""One thing that is wrong, as a value and as text: its place, what is wrong with it, and what to do.

Errors are made of these (see `errors`, which names them too).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing wrong, with its place and its fix."""

    where: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.where}: {with_fix(self.message, self.fix)}"


@dataclass(frozen=True)
class FieldFault:
    """One property that failed validation: its path, what was wrong, and pydantic's type of the error."""

    location: tuple[str | int, ...]
    message: str
    type: str


def location_text(location: Sequence[str | int]) -> str:
    """A path in a document as text: `puts[1].name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


def use_one_of(names: Iterable[str], *, what: str) -> str:
    """The fix of a name that is not known: the names that there are, of `what` kind."""
    listed = ", ".join(names)
    return f"use one of {listed}" if listed else f"leave it out, or declare it: there is no {what} here"


def with_fix(message: str, fix: str) -> str:
    """A message and its fix as sentences; a message that is a list ends with a line's end."""
    if not fix:
        return message
    end = "" if message.endswith((".", "!", "?", ":", "\n")) else "."
    return f"{message}{end}{'' if message.endswith(chr(10)) else ' '}Fix: {fix}"
