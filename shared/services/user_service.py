"""The user service: people who sign in, and their e-mail addresses, in one table with 11 indexes.

Users are spread over 4 shards (`user!0` to `user!3`), e-mails lie in one (`email!`). Names are searched in a canonical
form (no case, accents or punctuation), which this service derives on every write; the library knows nothing of it.
`POST /v1/sign-up` makes a user and the first e-mail address together: both, or neither. `GET /v1/user-search` finds
users by the beginning of their first or last name, in one order.
"""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from shardweave.api.collection import created
from shardweave.api.keys import ROOT
from shardweave.api.messages import Response
from shardweave.api.models import RecordModels, validated
from shardweave.api.once import ONCE, ONCE_ERRORS, carried_out
from shardweave.api.operation import Answer, Body, Call, Operation, Parameter
from shardweave.api.pages import PAGING, Pages, paging
from shardweave.api.query_routes import QUERY_ERRORS
from shardweave.codecs import Timestamp
from shardweave.entity import (
    CanonicalBegin,
    Entity,
    HashKey,
    RangeKey,
    nanoid,
    timestamp_property,
    unique_property,
    updated_property,
)
from shardweave.errors import AlreadyExists, ValueRefused
from shardweave.key_format import ORDERED, KeyFormat
from shardweave.query.spec import BranchSpec, Prefix, QuerySpec
from shardweave.schema import Index, Schema
from shardweave.service import Parts
from shardweave.sharding import ShardBump
from shardweave.store import Create
from shardweave.store.operations import Written

_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i"})
_MARKS_MATTER_FROM = "\u0530"
"""In the scripts from here on a mark is part of the letter; before (Latin, Greek, Cyrillic) it is an accent."""


def canonical_name(name: str) -> str:
    """A name as it is searched: `Gómez-Juárez-Álvarez` -> `gomezjuarezalvarez`. Letters of every script stay."""
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


# -- routes of its own ------------------------------------------------------------------------------------------------


def operations(parts: Parts) -> tuple[Operation, ...]:
    """The routes that this service adds to those of its collections."""
    return (sign_up(parts), user_search(parts))


# -- sign-up ----------------------------------------------------------------------------------------------------------


class SignUp(BaseModel):
    """What a person gives to sign up."""

    model_config = ConfigDict(extra="forbid")

    email: Address
    first_name: Name = Field(alias="firstName")
    last_name: Name = Field(alias="lastName")
    beneficiary_id: Id = Field(alias="beneficiaryId")
    phone: Phone | None = Field(default_factory=lambda: None)


def sign_up(parts: Parts) -> Operation:
    """A new user with an e-mail address."""
    models, emails = (RecordModels(parts.schema[each], parts.external_keys) for each in (User, Email))

    def answer() -> type[BaseModel]:
        return create_model(
            "SignedUp",
            __doc__="The records that were made.",
            user=(models.read, ...),
            email=(emails.read, ...),
        )

    def run(call: Call) -> Response:
        given = validated(SignUp, call.document)
        user_id, address = nanoid(), given.pop("email")
        records = [
            Create({**given, "userId": user_id}, User),
            Create({"email": address, "userId": user_id}, Email),
        ]
        try:
            return carried_out(parts.store, call, records, signed_up)
        except AlreadyExists:
            raise AlreadyExists(
                "The e-mail address is in use.", where="email", fix="sign in with it, or give another"
            ) from None

    def signed_up(made: Sequence[Written]) -> Response:
        new_user, new_email = (written.record for written in made if written.record is not None)
        body = b'{"user":' + models.json(new_user) + b',"email":' + emails.json(new_email) + b"}"
        return replace(
            created(models, new_user, body), places=(models.keys.path(new_user), emails.keys.path(new_email))
        )

    return Operation(
        "POST",
        f"{ROOT}/sign-up",
        "signUp",
        "A new user with an e-mail address",
        run,
        Answer(201, "The user and the e-mail as they are stored.", answer, {"Location": "The user's path."}),
        description="Both records are written in one transaction.",
        tag="sign-up",
        header_parameters=(ONCE,),
        body=Body(SignUp),
        errors=(AlreadyExists, *ONCE_ERRORS),
    )


# -- search by name ---------------------------------------------------------------------------------------------------


def name_search(name: str) -> tuple[BranchSpec, ...]:
    """The branches of "first or last name begins with this", however it is written. Raises ValueRefused."""
    begin = canonical_name(name)
    if not begin:
        raise ValueRefused("it has no letter and no digit", where="name", fix="give the beginning of a name")
    return (
        BranchSpec({"firstNameCanonical": Prefix(begin)}, "firstName"),
        BranchSpec({"lastNameCanonical": Prefix(begin)}, "lastName"),
    )


def user_search(parts: Parts) -> Operation:
    """Users by the beginning of either name."""
    user = parts.schema[User]
    models = RecordModels(user, parts.external_keys)
    pages = Pages(models, parts.queries, parts.access)

    def run(call: Call) -> Response:
        spec = QuerySpec(user.token, branches=name_search(call.query["name"]), **paging(call.query))
        return pages.listed(pages.run(spec, call, operation="query"))

    return Operation(
        "GET",
        f"{ROOT}/user-search",
        "searchUser",
        "Users whose first or last name begins with a text",
        run,
        Answer(200, "The page, each user once.", lambda: models.page),
        description="Case, accents and punctuation do not matter. It is the beginning of one of the two: a full "
        "name, `Mary Smith`, is not found. The order is that of the name that was found: a user "
        "who is found by both stands where the lower one belongs.",
        tag="users",
        query_parameters=(Parameter("name", "How the name begins.", required=True), *PAGING),
        errors=QUERY_ERRORS,
    )


def sample_data(day: dt.date) -> Iterator[Entity]:
    """Users and their e-mails, looking back from a day."""
    from local.sample_data import user_service_records

    return user_service_records(day)
