"""What the desk promises."""

from __future__ import annotations

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


def ask(caller: Client, subject: str, **more: object) -> dict[str, object]:
    """A new conversation."""
    made: dict[str, object] = caller.post("/v1/conversations", {"subject": subject, **more}).expect(201).json
    return made


def test_each_tenant_has_numbers_of_its_own(ann: Client, eve: Client) -> None:
    assert [ask(ann, "One")["num"], ask(ann, "Two")["num"], ask(eve, "Other")["num"]] == [1, 2, 1]
    assert ann.get("/v1/numbers/2").expect(200).json["subject"] == "Two"
    assert eve.get("/v1/numbers/1").expect(200).json["subject"] == "Other"
    eve.get("/v1/numbers/2").expect(404)


def test_a_reply_is_in_its_conversation_and_may_close_it(ann: Client, eve: Client) -> None:
    asked = ask(ann, "It hums")["conversationId"]
    ann.post(f"/v1/replies/{asked}", {"text": "Unplug it."}).expect(201)
    ann.clock.advance(minutes=1)
    said = ann.post(f"/v1/replies/{asked}", {"text": "Good.", "closes": True}).expect(201)
    assert ann.get(said.location or "").json["author"] == "ann"
    thread = ann.get("/v1/messages", conversationId=asked).json["items"]
    assert [each["text"] for each in thread] == ["Unplug it.", "Good."]
    assert ann.get("/v1/conversations", state="open").json["items"] == []
    assert [each["subject"] for each in ann.get("/v1/conversations", state="closed").json["items"]] == ["It hums"]
    eve.post(f"/v1/replies/{asked}", {"text": "Mine."}).expect(404)


def test_a_conversation_goes_with_its_messages(ann: Client) -> None:
    made = ann.post("/v1/conversations", {"subject": "Spam"}).expect(201)
    key = made.json["conversationId"]
    ann.post(f"/v1/replies/{key}", {"text": "No."}).expect(201)
    ann.delete(made.location or "").expect(204)
    assert list(ann.database.records(Message, tenant_id="acme", conversation_id=key)) == []


def test_no_two_members_of_a_tenant_have_one_address(ann: Client, eve: Client) -> None:
    member = {"address": "Bob@example.org", "name": "Bob"}
    ann.post("/v1/members", member).expect(201)
    again = ann.post("/v1/members", {**member, "address": "bob@EXAMPLE.org"}).expect(409)
    assert again.problem is not None
    assert again.problem.where == "address"
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


def test_tags_are_shown_with_their_conversations(ann: Client) -> None:
    tag = ann.post("/v1/tags", {"name": "Billing"}).expect(201).json
    ann.post("/v1/tags", {"name": "billing"}).expect(409)
    made = ann.post("/v1/conversations", {"subject": "Twice", "tagIds": [tag["tagId"]]}).expect(201)
    assert ann.get(made.location or "", expand="tags").json["expanded"]["tags"] == [tag]


def test_events_count_what_is_unread(ann: Client, eve: Client) -> None:
    def event(kind: str, number: int, **more: object) -> None:
        said = {"type": kind, "eventId": str(number), "position": number, "tenantId": "acme", "conversationId": "c"}
        ann.post("/v1/_events/unread", {**said, **more}).expect(200)

    for number in (1, 2, 2, 4):
        event("MessageArrived", number, memberIds=["ann", "bob"])
    event("MessagesSeen", 3, memberId="ann", seen=2)
    counted = {each["memberId"]: each["unread"] for each in ann.get("/v1/counters").json["items"]}
    assert counted == {"ann": 1, "bob": 3}
    assert eve.get("/v1/counters").json["items"] == []
    ann.post("/v1/counters", {"memberId": "ann", "conversationId": "c"}).expect(405)


def test_conversations_lie_in_four_shards(ann: Client) -> None:
    for number in range(30):
        ask(ann, f"Question {number}")
    conversation = ann.database.schema[Conversation]
    found = list(ann.database.records(Conversation, tenant_id="acme", state="open", index="byState"))
    assert len({conversation.make_key(each)["hashKey"].partition(" ")[0] for each in found}) == 4
