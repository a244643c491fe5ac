"""A parameter of an operation, with its description for OpenAPI."""

from __future__ import annotations

import json
from dataclasses import dataclass
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

    @property
    def default_text(self) -> str | None:
        """The default as it is written in a query string."""
        return self.default if self.default is None or isinstance(self.default, str) else json.dumps(self.default)
