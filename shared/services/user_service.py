"""The user service: people who sign in, and their e-mail addresses, in one table with 11 indexes.

Users are spread over 4 shards (`user!0` to `user!3`), e-mails lie in one (`email!`). Names are searched in a canonical
form (no case, accents or punctuation), which this service derives on every write; the library knows nothing of it.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from shardweave.codecs import Timestamp
from shardweave.entity import (
    Entity,
    HashKey,
    RangeKey,
    nanoid,
    timestamp_property,
    unique_property,
    updated_property,
)
from shardweave.key_format import ORDERED, KeyFormat
from shardweave.schema import Index, Schema
from shardweave.sharding import ShardBump

_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i"})
_MARKS_MATTER_FROM = "\u0530"
"""In the scripts from here on a mark is part of the letter; before (Latin, Greek, Cyrillic) it is an accent."""


def canonical_name(name: str) -> str:
    """A name as it is searched: `Gómez-Juárez-Álvarez` -> `gomezjuarezalvarez`. Letters of every script stay."""
    kept = []
    base = ""
    for character in unicodedata.normalize("NFKD", name.casefold()):
        if not unicodedata.combining(character):
            base = character
            if character.isalnum() or unicodedata.category(character).startswith("M"):
                kept.append(character)
        elif base >= _MARKS_MATTER_FROM:
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept).translate(_LETTERS))


def canonical_email(address: str) -> str:
    """An address as it is stored: trimmed and in lower case, since no mail system in use tells case apart."""
    address = unicodedata.normalize("NFC", address.strip()).lower()
    local, at, domain = address.rpartition("@")
    if not (at and local and domain) or any(character.isspace() for character in address):
        raise ValueError("an e-mail address is name@domain, without spaces")
    return address


Name = Annotated[str, Field(min_length=1, max_length=200)]
Canonical = Annotated[str, Field(min_length=1, max_length=200)]


class User(Entity, token="user", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """A person who signs in, and who credits a beneficiary."""

    user_id: str = unique_property(default_factory=nanoid, min_length=1, max_length=200)
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    beneficiary_id: Annotated[str, Field(min_length=1, max_length=200)]
    first_name: Name
    first_name_canonical: Canonical
    last_name: Name
    last_name_canonical: Canonical
    phone: Annotated[str, Field(min_length=1, max_length=40)] | None = None

    user_beneficiary_hash_key = HashKey("beneficiary_id")
    user_hash_key = HashKey("user_id")
    first_name_range_key = RangeKey("first_name_canonical", "last_name_canonical", "created")
    last_name_range_key = RangeKey("last_name_canonical", "first_name_canonical", "created")

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Derive the canonical names from the names, whatever was given for them."""
        return values | {
            f"{name}Canonical": canonical_name(values[name])
            for name in ("firstName", "lastName")
            if isinstance(values.get(name), str)
        }

    @model_validator(mode="before")
    @classmethod
    def _fill_canonical(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        filled = dict(values)
        for name, stored in (("first_name", "firstName"), ("last_name", "lastName")):
            given = filled.get(stored, filled.get(name))
            if isinstance(given, str) and f"{stored}Canonical" not in filled and f"{name}_canonical" not in filled:
                filled[f"{stored}Canonical"] = canonical_name(given)
        return filled


class Email(Entity, token="email"):
    """An address that a user signs in with."""

    email: Annotated[str, AfterValidator(canonical_email)] = unique_property(max_length=254)
    user_id: Annotated[str, Field(min_length=1, max_length=200)]
    created: Timestamp = timestamp_property()

    user_hash_key = HashKey("user_id")


INDEXES = (
    Index("created", "hash_key", "created"),
    Index("firstName", "hash_key", "first_name_range_key"),
    Index("lastName", "hash_key", "last_name_range_key"),
    Index("phone", "hash_key", "phone"),
    Index("updated", "hash_key", "updated"),
    Index("userBeneficiaryCreated", "user_beneficiary_hash_key", "created"),
    Index("userBeneficiaryFirstName", "user_beneficiary_hash_key", "first_name_range_key"),
    Index("userBeneficiaryLastName", "user_beneficiary_hash_key", "last_name_range_key"),
    Index("userBeneficiaryPhone", "user_beneficiary_hash_key", "phone"),
    Index("userBeneficiaryUpdated", "user_beneficiary_hash_key", "updated"),
    Index("userCreated", "user_hash_key", "created"),
)


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    return Schema(entities=[User, Email], indexes=INDEXES, key_format=key_format)
