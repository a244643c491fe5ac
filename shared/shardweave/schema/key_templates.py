"""Templates of keys that are composed of properties, as other libraries and hand-made tables have them.

    USER#${userId}              text and properties
    ${email:lower}              in lower case; `upper` too
    ${number:6}                 a whole number, filled with zeros to that width

A template has no text if one of its properties has no value, since the attribute is left out then. A text is parsed by
the literal parts; a parsed value is only trusted if the template gives the same text again (see `old_forms`).

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from ..errors import ValueRefused
from ..table.values import Item, Value

_SLOT = re.compile(r"\$\{([^}:]+)(?::([^}]*))?\}")
_FORMS = {"lower": str.lower, "upper": str.upper}


@dataclass(frozen=True)
class Slot:
    """The place of a property in a template, with its form: `lower`, `upper` or a width, empty for none."""

    name: str
    form: str = ""

    def text(self, value: Value) -> str:
        """The text of a value. Raises ValueRefused."""
        text = _plain(self.name, value)
        if self.form.isdecimal():
            return text.zfill(int(self.form))
        return _FORMS[self.form](text) if self.form else text


@dataclass(frozen=True)
class Template:
    """One template. `source` is its text."""

    source: str

    @cached_property
    def parts(self) -> tuple[str | Slot, ...]:
        """Literal texts and slots, in order. Raises ValueRefused for a form that there is not."""
        return tuple(_parts(self.source))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The properties in it."""
        return tuple(part.name for part in self.parts if isinstance(part, Slot))

    def render(self, values: Item) -> str | None:
        """The text for some properties; None if one has no value."""
        if any(values.get(name) is None for name in self.names):
            return None
        return "".join(part if isinstance(part, str) else part.text(values[part.name]) for part in self.parts)

    def parse(self, text: object) -> Mapping[str, str] | None:
        """The texts of the properties in a text; None if it does not have this form."""
        found = self._pattern.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return None
        return {name: found[f"p{at}"] for at, name in enumerate(dict.fromkeys(self.names))}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        places: dict[str, str] = {}
        text = ""
        for part in self.parts:
            if isinstance(part, str):
                text += re.escape(part)
            elif part.name in places:
                text += f"(?P={places[part.name]})"
            else:
                places[part.name] = f"p{len(places)}"
                text += f"(?P<{places[part.name]}>.+?)"
        return re.compile(text, re.DOTALL)


def _parts(source: str) -> Iterator[str | Slot]:
    end = 0
    for found in _SLOT.finditer(source):
        if found.start() > end:
            yield source[end : found.start()]
        name, form = found[1].strip(), found[2] or ""
        if form and form not in _FORMS and not (form.isdecimal() and len(form) < 3):
            raise ValueRefused(
                f"a property in a template has no form {form[:20]!r}", where=name, fix="use lower, upper, or a width"
            )
        yield Slot(name, form)
        end = found.end()
    if end < len(source):
        yield source[end:]


def _plain(name: str, value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, str)):
        return str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    raise ValueRefused("a key is made of texts and numbers", where=name, fix="leave it out of the template")
