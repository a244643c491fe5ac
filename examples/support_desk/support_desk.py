"""A support desk: what customers ask the tenants of one service, and what members answer.

Everything is a tenant's, and the tenant is a claim of the caller's token. Routes of its own reply to a conversation and
accept an invitation, each in one transaction, and find a conversation by its number.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, computed_field

from shardweave import (
    ORDERED,
    Create,
    Database,
    Delete,
    Entity,
    Event,
    HashKey,
    Index,
    KeyFormat,
    Lookup,
    ReadModel,
    Schema,
    Sequence,
    ShardBump,
    Timestamp,
    Unique,
    Update,
    UpdateRecord,
    belongs_to,
    claim_property,
    errors,
    has_many,
    nanoid,
    timestamp_property,
    ttl_property,
    unique_property,
    updated_property,
)
from shardweave.routing import Caller, JsonModel, Writes, get, post, writes

Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Address = Annotated[str, Field(max_length=254, pattern="^[^@ ]+@[^@ ]+$")]


class Tenant(Entity, token="tenant"):
    """Whose desk it is."""

    tenant_id: str = claim_property("tenant", unique=True)
    name: Name


class Member(Entity, token="member", partition="tenant_id"):
    """Somebody who answers."""

    tenant_id: str = claim_property("tenant")
    member_id: str = unique_property(default_factory=nanoid)
    address: Address
    name: Name

    addresses = Unique("address", within="tenant_id", canonical=str.casefold)
    tenant = belongs_to(Tenant, by="tenant_id", enforced=True)


class Invitation(Entity, token="invitation", partition="tenant_id"):
    """An address that may become a member's, until it expires."""

    tenant_id: str = claim_property("tenant")
    code: str = unique_property(default_factory=nanoid)
    address: Address
    name: Name
    expires: int | None = ttl_property()


class Tag(Entity, token="tag"):
    """What conversations are about."""

    tag_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    name: Name

    names = Unique("name", within="tenant_id", canonical=str.casefold)


class Conversation(
    Entity, token="conversation", partition="tenant_id", shard_by="conversation_id", shard_bumps=[ShardBump(0, 2, 1)]
):
    """What a customer asked, and all that follows."""

    tenant_id: str = claim_property("tenant")
    conversation_id: str = unique_property(default_factory=nanoid)
    num: int = Field(0, ge=0)
    updated: Timestamp = updated_property()
    subject: Name
    state: Literal["open", "closed"] = "open"
    tag_ids: list[str] = Field(default_factory=list)

    numbering = Sequence("num", within="tenant_id")
    numbers = Unique("num", within="tenant_id")
    tenant = belongs_to(Tenant, by="tenant_id", enforced=True)
    tags = has_many(Tag, by="tag_ids")

    state_hash_key = HashKey("tenant_id", "state")


class Message(Entity, token="message", partition=("tenant_id", "conversation_id"), sort=("created", "message_id")):
    """What somebody said."""

    tenant_id: str = claim_property("tenant")
    conversation_id: str
    created: Timestamp = timestamp_property()
    message_id: str = unique_property(default_factory=nanoid)
    author: Name
    text: Text

    of_conversation = Lookup("conversation_id", within="tenant_id")
    conversation = belongs_to(Conversation, by=("tenant_id", "conversation_id"), enforced=True, on_delete="cascade")


class Counter(Entity, token="counter", partition="tenant_id", sort=("member_id", "conversation_id"), read_only=True):
    """What a member has not seen of a conversation."""

    tenant_id: str = claim_property("tenant")
    member_id: str
    conversation_id: str
    arrived: int = 0
    seen: int = 0

    @computed_field
    def unread(self) -> int:
        """How many messages that is."""
        return max(0, self.arrived - self.seen)


class MessageArrived(Event):
    """Members have one message more to see."""

    type: Literal["MessageArrived"] = "MessageArrived"
    tenant_id: str
    conversation_id: str
    member_ids: set[str] = Field(max_length=30)


class MessagesSeen(Event):
    """A member has seen so many messages of a conversation in all."""

    type: Literal["MessagesSeen"] = "MessagesSeen"
    tenant_id: str
    conversation_id: str
    member_id: str
    seen: int = Field(ge=0)


def count_unread(event: MessageArrived | MessagesSeen) -> list[UpdateRecord]:
    """What an event means to the counters."""
    of = {"tenant_id": event.tenant_id, "conversation_id": event.conversation_id}
    if isinstance(event, MessagesSeen):
        return [UpdateRecord(Counter, {**of, "member_id": event.member_id}, {"seen": event.seen})]
    return [UpdateRecord(Counter, {**of, "member_id": each}, add={"arrived": 1}) for each in sorted(event.member_ids)]


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    by_state = Index("byState", hash_key="state_hash_key", range_key="updated")
    unread = ReadModel("unread", (MessageArrived, MessagesSeen), writes=(Counter,), project=count_unread)
    entities: list[type[Entity]] = [Tenant, Member, Invitation, Tag, Conversation, Message, Counter]
    return Schema(entities, [by_state], key_format=key_format, projections=[unread])


class Reply(JsonModel):
    """What is said, and whether that ends the conversation."""

    text: Text
    closes: bool = False


@post("/v1/replies/{conversation_id}", tag="messages", errors=(errors.NotFound,))
def reply(conversation_id: str, given: Reply, caller: Caller) -> Writes[Message]:
    """Say something in a conversation."""
    said = Create({"conversation_id": conversation_id, "author": caller.subject, "text": given.text}, Message)
    change = Update(Conversation, conversation_id, {"state": "closed" if given.closes else "open"})
    return writes(said, change, answer=lambda message, conversation: message)


@get("/v1/numbers/{num}", tag="conversations")
def numbered(num: int, database: Database) -> Conversation | None:
    """The conversation of a number."""
    return database.get_by(Conversation, "num", num)


@post("/v1/acceptances/{code}", tag="members", errors=(errors.NotFound,))
def accept(code: str, database: Database) -> Writes[Member]:
    """Turn an invitation into a member."""
    found = database.get(Invitation, code)
    if found is None:
        raise errors.NotFound("there is no such invitation", where="code", fix="ask for another one")
    return writes(Create({"address": found.address, "name": found.name}, Member), Delete(Invitation, code))
