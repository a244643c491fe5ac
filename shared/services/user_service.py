"""The user service: people who sign in, and their e-mail addresses, in one table with 11 indexes.

Users are spread over 4 shards (`user!0` to `user!3`), e-mails lie in one (`email!`). Names are searched in a canonical
form (no case, accents or punctuation), which this service derives on every write; the library knows nothing of it.
`POST /v1/sign-up` makes a user and the first e-mail address together: both, or neither. `GET /v1/user-search` finds
users by the beginning of their first or last name, in one order.
"""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from shardweave import (
    ORDERED,
    CanonicalBegin,
    Create,
    Entity,
    GraphQL,
    HashKey,
    Index,
    KeyFormat,
    RangeKey,
    Schema,
    ShardBump,
    Timestamp,
    branch,
    errors,
    nanoid,
    prefix,
    timestamp_property,
    unique_property,
    updated_property,
)
from shardweave.routing import JsonModel, Listed, Writes, get, listed, post, writes

_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i"})
_MARKS_MATTER_FROM = "\u0530"
"""In the scripts from here on a mark is part of the letter; before (Latin, Greek, Cyrillic) it is an accent."""


def canonical_name(name: str) -> str:
    """A name as it is searched: `Gómez-Juárez-Álvarez` -> `gomezjuarezalvarez`. Letters of every script stay."""
    if name.isascii():
        return "".join(filter(str.isalnum, name.lower()))
    kept = []
    base = ""
    # Taking compatibility forms apart may bring capitals to light, and those again such forms.
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name.casefold()).casefold())
    for character in plain:
        if not unicodedata.combining(character):
            base = character
            if character.isalnum() or unicodedata.category(character).startswith("M"):
                kept.append(character)
        elif base >= _MARKS_MATTER_FROM:
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept).translate(_LETTERS))


def canonical_email(address: str) -> str:
    """An address as it is stored: trimmed and in lower case, since no mail system in use tells case apart."""
    address = canonical_text(address.strip())
    local, at, domain = address.rpartition("@")
    if not (at and local and domain) or any(map(_is_unseen, address)):
        raise ValueError("an e-mail address is name@domain, without spaces and control characters")
    return address


def _is_unseen(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) == "Cc"


def canonical_text(text: str) -> str:
    """Any part of an address as it is stored."""
    return unicodedata.normalize("NFC", text).lower()


Address = Annotated[str, AfterValidator(canonical_email), Field(max_length=254)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Phone = Annotated[str, Field(min_length=1, max_length=40)]
Id = Annotated[str, Field(min_length=1, max_length=200)]
Canonical = Annotated[str, Field(json_schema_extra={"readOnly": True})]
"""Derived from a Name; it may be longer, and empty for a name without letters and digits."""


class User(Entity, token="user", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """A person who signs in, and who credits a beneficiary."""

    user_id: str = unique_property(default_factory=nanoid, min_length=1, max_length=200)
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    beneficiary_id: Id
    first_name: Name
    first_name_canonical: Canonical
    last_name: Name
    last_name_canonical: Canonical
    phone: Phone | None = None

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

    email: Annotated[str, AfterValidator(canonical_email), CanonicalBegin(canonical_text)] = unique_property(
        max_length=254
    )
    user_id: Id
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


graphql = GraphQL()


# -- routes of its own ------------------------------------------------------------------------------------------------


class SignUp(JsonModel):
    """What a person gives to sign up."""

    email: Address
    first_name: Name
    last_name: Name
    beneficiary_id: Id
    phone: Phone | None = Field(default_factory=lambda: None)


@post("/v1/sign-up", tag="sign-up", errors=(errors.AlreadyExists,))
def sign_up(given: SignUp) -> Writes[tuple[User, Email]]:
    """A new user with an e-mail address.

    Both records are written in one transaction."""
    user = {"user_id": nanoid(), **given.model_dump(exclude={"email"}, exclude_unset=True)}
    email = {"user_id": user["user_id"], "email": given.email}
    taken = errors.AlreadyExists("The e-mail address is in use.", where="email", fix="sign in with it, or give another")
    return writes(Create(user, User), Create(email, Email), refusals={errors.AlreadyExists: taken})


@get("/v1/user-search", tag="users")
def search_user(name: Annotated[str, Field(description="How the name begins.")]) -> Listed[User]:
    """Users whose first or last name begins with a text.

    Case, accents and punctuation do not matter. It is the beginning of one of the two: a full name, `Mary Smith`, is
    not found. The order is that of the name that was found: a user who is found by both stands where the lower one
    belongs."""
    begin = canonical_name(name)
    if not begin:
        raise errors.ValueRefused("it has no letter and no digit", where="name", fix="give the beginning of a name")
    by_first = branch(index="firstName", first_name_canonical=prefix(begin))
    by_last = branch(index="lastName", last_name_canonical=prefix(begin))
    return listed(User, branches=[by_first, by_last])


def sample_data(day: dt.date) -> Iterator[Entity]:
    """Users and their e-mails, looking back from a day."""
    from services._samples.users import user_service_records

    return user_service_records(day)
