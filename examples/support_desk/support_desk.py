"""A support desk: what customers ask the tenants of one service, and what members answer.

Everything is a tenant's, and the tenant is a claim of the caller's token. Routes of its own reply to a conversation,
read it and accept an invitation, each in one transaction. What members have not read is counted from the messages.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from shardweave import (
    ORDERED,
    Create,
    Database,
    Delete,
    Entity,
    HashKey,
    Index,
    KeyFormat,
    Lookup,
    ReadModel,
    Reset,
    Schema,
    Sequence,
    ShardBump,
    Timestamp,
    Unique,
    Update,
    UpdateRecord,
    belongs_to,
    claim_property,
    desc,
    errors,
    has_many,
    nanoid,
    timestamp_property,
    ttl_property,
    unique_property,
    updated_property,
)
from shardweave.routing import Caller, JsonModel, Writes, post, writes

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
    conversations = has_many("conversation", via="tags")


class Customer(BaseModel):
    """Who asks."""

    name: Name
    address: Address


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
    customer: Customer | None = None
    tag_ids: set[str] = Field(default_factory=set)
    member_ids: set[str] = Field(default_factory=set)

    numbering = Sequence("num", within="tenant_id")
    numbers = Unique("num", within="tenant_id")
    with_tag = Lookup("tag_ids", within="tenant_id", name="tag")
    of_member = Lookup("member_ids", within="tenant_id", name="follower")
    tenant = belongs_to(Tenant, by="tenant_id", enforced=True)
    tags = has_many(Tag, by="tag_ids")

    state_hash_key = HashKey("tenant_id", "state")


class Message(
    Entity, token="message", partition=("tenant_id", "conversation_id"), sort=(desc("created"), "message_id")
):
    """What somebody said, and the members who have to read it."""

    tenant_id: str = claim_property("tenant")
    conversation_id: str
    created: Timestamp = timestamp_property()
    message_id: str = unique_property(default_factory=nanoid)
    author: Name
    text: Text
    to: set[str] = Field(default_factory=set, max_length=100)

    of_conversation = Lookup("conversation_id", within="tenant_id")
    conversation = belongs_to(Conversation, by=("tenant_id", "conversation_id"), enforced=True, on_delete="cascade")


class Unread(Entity, token="unread", partition="tenant_id", sort=("member_id", "conversation_id"), read_only=True):
    """What a member has not read of a conversation."""

    tenant_id: str = claim_property("tenant")
    member_id: str
    conversation_id: str
    messages: int = 0


def unread(message: Message) -> list[UpdateRecord]:
    """What a message adds to the numbers of those whom it is for."""
    of = {"tenant_id": message.tenant_id, "conversation_id": message.conversation_id}
    return [UpdateRecord(Unread, {**of, "member_id": each}, add={"messages": 1}) for each in message.to]


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    by_state = Index("byState", hash_key="state_hash_key", range_key=desc("updated"))
    counts = ReadModel("unread", records=(Message,), writes=(Unread,), project=unread)
    entities: list[type[Entity]] = [Tenant, Member, Invitation, Tag, Conversation, Message, Unread]
    return Schema(entities, [by_state], key_format=key_format, read_models=[counts])


class Reply(JsonModel):
    """What is said, and the state of the conversation from then on."""

    text: Text
    state: Literal["open", "closed"] = "open"


@post("/v1/replies/{conversation_id}", tag="messages", errors=(errors.NotFound,))
def reply(conversation_id: str, given: Reply, caller: Caller, database: Database) -> Writes[Message]:
    """Say something in a conversation, and follow it from now on."""
    asked, own = database.get(Conversation, conversation_id), {caller.subject}
    to = asked.member_ids - own if asked else set()
    said = {"conversation_id": conversation_id, "author": caller.subject, "text": given.text, "to": to}
    change = Update(Conversation, conversation_id, lambda it: {"state": given.state, "member_ids": it.member_ids | own})
    return writes(Create(said, Message), change, answer=lambda message, conversation: message)


@post("/v1/readings/{conversation_id}", tag="unreads", status=200)
def read(conversation_id: str, caller: Caller) -> Writes[Unread]:
    """Everything in a conversation has been read."""
    return writes(Reset(Unread, {"member_id": caller.subject, "conversation_id": conversation_id}))


@post("/v1/acceptances/{code}", tag="members", errors=(errors.NotFound,))
def accept(code: str, database: Database) -> Writes[Member]:
    """Turn an invitation into a member."""
    found = database.get(Invitation, code)
    if found is None:
        raise errors.NotFound("there is no such invitation", where="code", fix="ask for another one")
    return writes(Create({"address": found.address, "name": found.name}, Member), Delete(Invitation, code))
