"""What the desk promises."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.testing import Client
from support_desk import Conversation, Message


@pytest.fixture
def ann(client: Client) -> Client:
    """A caller of the tenant Acme, whose desk is open."""
    ann = client.as_caller("ann", tenant="acme")
    ann.post("/v1/tenants", {"name": "Acme"}).expect(201)
    return ann


@pytest.fixture
def eve(client: Client) -> Client:
    """A caller of another tenant."""
    eve = client.as_caller("eve", tenant="bolt")
    eve.post("/v1/tenants", {"name": "Bolt"}).expect(201)
    return eve


def ask(caller: Client, subject: str, **more: object) -> dict[str, Any]:
    """A new conversation."""
    made: dict[str, Any] = caller.post("/v1/conversations", {"subject": subject, **more}).expect(201).json
    return made


def found(caller: Client, **parameters: Any) -> list[str]:
    """The subjects of the conversations that a list has."""
    return [each["subject"] for each in caller.get("/v1/conversations", **parameters).expect(200).json["items"]]


def test_each_tenant_has_numbers_of_its_own(ann: Client, eve: Client) -> None:
    assert [ask(ann, "One")["num"], ask(ann, "Two")["num"], ask(eve, "Other")["num"]] == [1, 2, 1]
    assert found(ann, lookup="num", num=2) == ["Two"]
    assert found(eve, lookup="num", num=1) == ["Other"]
    assert found(eve, lookup="num", num=2) == []


def test_a_reply_is_in_its_conversation_and_may_close_it(ann: Client, eve: Client) -> None:
    asked = ask(ann, "It hums")["conversationId"]
    ann.post(f"/v1/replies/{asked}", {"text": "Unplug it."}).expect(201)
    ann.clock.advance(minutes=1)
    said = ann.post(f"/v1/replies/{asked}", {"text": "Good.", "state": "closed"}).expect(201)
    assert ann.get(said.location or "").json["author"] == "ann"
    thread = ann.get("/v1/messages", conversationId=asked).json["items"]
    assert [each["text"] for each in thread] == ["Good.", "Unplug it."]
    assert (found(ann, state="open"), found(ann, state="closed")) == ([], ["It hums"])
    eve.post(f"/v1/replies/{asked}", {"text": "Mine."}).expect(404)


def test_no_two_members_of_a_tenant_have_one_address(ann: Client, eve: Client) -> None:
    member = {"address": "Bob@example.org", "name": "Bob"}
    ann.post("/v1/members", member).expect(201)
    again = ann.post("/v1/members", {**member, "address": "bob@EXAMPLE.org"}).expect(409)
    assert again.json["where"] == "address"
    eve.post("/v1/members", member).expect(201)


def test_an_invitation_makes_a_member_once_and_not_when_it_has_expired(ann: Client) -> None:
    soon = ann.clock.now_ms // 1000 + 3600
    codes = [
        ann.post("/v1/invitations", {"address": f"{name}@example.org", "name": name, "expires": soon}).json["code"]
        for name in ("bob", "cid")
    ]
    assert ann.post(f"/v1/acceptances/{codes[0]}").expect(201).json["name"] == "bob"
    ann.post(f"/v1/acceptances/{codes[0]}").expect(404)
    ann.clock.advance(hours=1)
    ann.post(f"/v1/acceptances/{codes[1]}").expect(404)


def test_tags_and_conversations_lead_to_each_other(ann: Client) -> None:
    tag = ann.post("/v1/tags", {"name": "Billing"}).expect(201).json
    ann.post("/v1/tags", {"name": "billing"}).expect(409)
    asker = {"name": "Ida", "address": "ida@example.org"}
    made = ann.post("/v1/conversations", {"subject": "Twice", "tagIds": [tag["tagId"]], "customer": asker}).expect(201)
    ask(ann, "Without")
    assert ann.get(made.location, expand="tags").json["expanded"]["tags"] == [tag]
    (listed,) = ann.get(f"/v1/tags.conversations/{tag['tagId']}").expect(200).json["items"]
    assert (listed["subject"], listed["customer"]) == ("Twice", asker)


def test_messages_are_unread_until_their_conversation_is_read_or_deleted_with_them(ann: Client, eve: Client) -> None:
    def unread(caller: Client) -> dict[str, int]:
        return {each["memberId"]: each["messages"] for each in caller.get("/v1/unreads").expect(200).json["items"]}

    asked = ask(ann, "It hums", memberIds=["bob", "cid"])["conversationId"]
    bob = ann.as_caller("bob", tenant="acme")
    for caller in (ann, ann, bob):
        caller.post(f"/v1/replies/{asked}", {"text": "Unplug it."}).expect(201)
    assert unread(ann) == {"ann": 1, "bob": 2, "cid": 3}
    assert bob.post(f"/v1/readings/{asked}").expect(200).json["messages"] == 0
    ann.post(f"/v1/replies/{asked}", {"text": "Well?"}).expect(201)
    assert unread(ann) == {"ann": 1, "bob": 1, "cid": 4}
    assert sorted(found(ann, lookup="follower", memberIds="bob")) == ["It hums"]
    eve.post(f"/v1/readings/{asked}").expect(404)
    assert unread(eve) == {}
    ann.post("/v1/unreads", {"memberId": "ann", "conversationId": asked}).expect(405)
    ann.delete(f"/v1/conversations/{asked}").expect(204)
    assert list(ann.database.records(Message, tenant_id="acme", conversation_id=asked)) == []
    assert unread(ann) == {"ann": 0, "bob": 0, "cid": 0}


def test_conversations_lie_in_four_shards(ann: Client) -> None:
    for number in range(30):
        ask(ann, f"Question {number}")
    conversation = ann.database.schema[Conversation]
    found = list(ann.database.records(Conversation, tenant_id="acme", state="open", index="byState"))
    assert len({conversation.make_key(each)["hashKey"].partition(" ")[0] for each in found}) == 4
