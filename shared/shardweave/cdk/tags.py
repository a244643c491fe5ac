"""Tags of a deployment's resources, by which bills are split: the choice `tags`, besides `service` and `stage`.

Format: `name=value`, by commas.
"""

from __future__ import annotations

import re

from ..errors import ConfigurationError

MOST_TAGS = 40
_NAME = re.compile(r"(?!aws:)[\w .:/+@-]{1,128}", re.ASCII | re.IGNORECASE)
_VALUE = re.compile(r"[\w .:/=+@-]{0,256}", re.ASCII)
_OWN = ("service", "stage")


def tags_of(text: str) -> dict[str, str]:
    """The tags of the choice, by name. Raises ConfigurationError."""
    parts = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    found = {name: value for name, _, value in parts}
    whole = all(equals and _NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, equals, value in parts)
    if not whole or len(found) < len(parts) or len(found) > MOST_TAGS or any(name in found for name in _OWN):
        raise ConfigurationError(
            f"must be tags: each name=value, once, {MOST_TAGS} at most, of letters, digits, spaces and "
            f"_.:/=+@-; {' and '.join(_OWN)} are set already, and names do not begin with aws:.",
            where="context `tags`",
            fix="use some like -c tags=team=orders,costCenter=4711",
        )
    return found
