"""A parameter of an operation, with its description for OpenAPI."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A query, path or header parameter. `annotation` is the type that describes its value, `default` what a query
    parameter that is not given stands for (None: nothing); given, it is as if it were not."""

    name: str
    description: str
    annotation: Any = str
    default: Any = None
    required: bool = False

    @cached_property
    def default_text(self) -> str | None:
        """The default as it is written in a query string."""
        return self.default if self.default is None or isinstance(self.default, str) else json.dumps(self.default)


@dataclass(frozen=True)
class ParameterFamily:
    """Query parameters that begin alike, and of which there are more than can be listed: `prefix` ends with a point,
    and `rest` stands for what follows it in a description."""

    prefix: str
    rest: str
    description: str

    def has(self, name: str) -> bool:
        """Whether a parameter belongs to it."""
        return name.startswith(self.prefix) and name != self.prefix

    @property
    def shown(self) -> str:
        """It, as a name in a text for people."""
        return f"{self.prefix}{self.rest}"
