"""A club: a service whose writes are as composite as the library makes them, to be killed in the middle of.

Member    moved between shards; unique by handle and by number inside the team, found by team
Email     leads to a member, who must exist

`POST /v1/sign-up` makes a member and an e-mail together.
"""

from __future__ import annotations

from collections.abc import Sequence as Row

from pydantic import BaseModel, ConfigDict, Field

from shardweave.api.http import Response
from shardweave.api.idempotency import ONCE, ONCE_ERRORS, carried_out
from shardweave.api.operation import Answer, Body, Call, Operation
from shardweave.errors import AlreadyExists
from shardweave.keys.key_format import ORDERED, KeyFormat
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Lookup, Sequence, Unique, belongs_to
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.service.build import Parts
from shardweave.store import Create
from shardweave.store.operations import Written
from shardweave.values.codecs import Timestamp
from shardweave.wire.record_keys import ROOT
from shardweave.wire.record_models import validated


class Member(Entity, token="member", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """Somebody in a team."""

    member_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    team: str
    num: int = Field(0, ge=0)
    handle: str | None = None
    note: str

    numbering = Sequence("num", within="team")
    num_lookup = Unique("num", within="team")
    handle_lookup = Unique("handle")
    team_lookup = Lookup("team")

    team_hash_key = HashKey("team")
    note_range_key = RangeKey("note")


class Email(Entity, token="email"):
    """Where a member is written to."""

    address: str = unique_property()
    created: Timestamp = timestamp_property()
    member_id: str

    member = belongs_to(Member, by="member_id", enforced=True)


INDEXES = (
    Index("created", "hash_key", "created"),
    Index("updated", "hash_key", "updated"),
    Index("teamNote", "team_hash_key", "note_range_key"),
)


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    return Schema(entities=[Member, Email], indexes=INDEXES, key_format=key_format)


class SignUp(BaseModel):
    """A new member with an address."""

    model_config = ConfigDict(extra="forbid")

    member_id: str = Field(alias="memberId")
    address: str
    team: str
    note: str


class SignedUp(BaseModel):
    """Whose address it is now."""

    address: str
    member: str


def operations(parts: Parts) -> tuple[Operation, ...]:
    """The routes that this service adds to those of its collections."""

    def run(call: Call) -> Response:
        given = validated(SignUp, call.document)
        address = given.pop("address")

        def signed_up(made: Row[Written]) -> Response:
            del made
            signed = SignedUp(address=address, member=given["memberId"])
            return Response.json(201, signed.model_dump_json().encode())

        new = [Create(given, Member), Create({"address": address, "memberId": given["memberId"]}, Email)]
        return carried_out(parts.store, call, new, signed_up)

    return (
        Operation(
            "POST",
            f"{ROOT}/sign-up",
            "signUp",
            "A new member with an address",
            run,
            Answer(201, "Whose address it is.", lambda: SignedUp),
            tag="sign-up",
            header_parameters=(ONCE,),
            body=Body(SignUp),
            errors=(AlreadyExists, *ONCE_ERRORS),
        ),
    )
