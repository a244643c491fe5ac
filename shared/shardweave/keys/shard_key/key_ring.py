"""Key rings: named secrets as one text, and how a ring is turned.

Format, either of
    {"current": "k2", "secrets": {"k1": base64, "k2": base64, "k3": base64}, "turn": "..."}   oldest first
    at least 32 letters and digits, which whoever provides a deployment can make at random: a ring of that one key
`turn` names the last turn, so that one that is asked for again changes nothing.

A turn makes the key after the current one current, and adds a new one behind it. So a key is in the ring, and known to
every process that read the ring since, a whole turn before anything is made with it. A ring of one key has none to
take, and only gets its next one.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import ConfigurationError

FIRST = "k1"
MIN_BARE_CHARACTERS = 32


@dataclass(frozen=True)
class KeyRing:
    """Secrets by name, oldest first. `current` names the one that new things are made with; `turn` the last turn."""

    current: str
    secrets: Mapping[str, bytes] = field(repr=False)
    turn: str = ""

    def turned(self, turn: str, secret: bytes, *, keep: int | None) -> KeyRing:
        """The ring after a turn that adds `secret`. Of the keys before the current one, `keep` stay; None: all."""
        if turn == self.turn:
            return self
        names = list(self.secrets)
        position = min(names.index(self.current) + 1, len(names) - 1)
        stay = names if keep is None else names[max(0, position - keep) :]
        numbers = [int(name[1:]) for name in names if re.fullmatch("k[0-9]+", name)]
        added = f"k{max(numbers, default=len(names)) + 1}"
        return KeyRing(names[position], {**{name: self.secrets[name] for name in stay}, added: secret}, turn)


def encode_key_ring(ring: KeyRing) -> str:
    """The text that is kept where secrets are kept."""
    secrets = {name: base64.b64encode(secret).decode() for name, secret in ring.secrets.items()}
    return json.dumps({"current": ring.current, "secrets": secrets} | ({"turn": ring.turn} if ring.turn else {}))


def decode_key_ring(text: str, *, where: str = "key ring") -> KeyRing:
    """The inverse of `encode_key_ring`. Raises ConfigurationError, which does not show the text."""
    if len(text) >= MIN_BARE_CHARACTERS and text.isascii() and text.isalnum():
        return KeyRing(FIRST, {FIRST: text.encode()})
    ring: KeyRing | None
    try:
        found = json.loads(text)
        secrets = {name: base64.b64decode(secret, validate=True) for name, secret in found["secrets"].items()}
        ring = KeyRing(found["current"], secrets, found.get("turn", ""))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        ring = None
    if ring is None or ring.current not in ring.secrets:
        fix = 'give {"current": "id", "secrets": {"id": "base64"}}'
        raise ConfigurationError("they can't be read", where=where, fix=fix)
    return ring
