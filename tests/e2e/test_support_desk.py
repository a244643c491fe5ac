"""examples/support_desk, deployed: a service that is named by its path, outside of those that ship."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardweave.cdk.deploy_local import how_to_call
from shardweave.cdk.emulator import Emulator
from shardweave.cdk.sources import ROOT
from tests.e2e.conftest import Deployed, deployed, eventually
from tests.e2e.issuer import AUDIENCE, Issuer

SERVICE = "examples/support_desk/support_desk.py"


@pytest.fixture(scope="module")
def stack(start_emulator: Callable[..., Emulator], issuer: Issuer) -> Deployed:
    assert (ROOT / SERVICE).is_file()
    return deployed(start_emulator(), SERVICE, issuer=issuer.url, audience=AUDIENCE)


def test_conversations_have_numbers_within_their_tenant_and_are_answered(stack: Deployed, issuer: Issuer) -> None:
    ann, eve = (stack.api(token=issuer.token(tenant=tenant)) for tenant in ("acme", "bolt"))
    made = []
    for each in (ann, eve):
        assert each.call("POST", "/v1/tenants", {"name": "A desk"}).status == 201
        made.append(each.call("POST", "/v1/conversations", {"subject": "It hums"}).document)
    assert [each["num"] for each in made] == [1, 1]
    path = f"/v1/replies/{made[0]['conversationId']}"
    assert eve.call("POST", path, {"text": "Mine."}).status == 404
    assert ann.call("POST", path, {"text": "Unplug it.", "state": "closed"}).status == 201
    states = [each.get("/v1/conversations", lookup="num", num="1").document["items"] for each in (ann, eve)]
    assert [each["state"] for (each,) in states] == ["closed", "open"]
    assert (
        ann.get("/v1/messages", conversationId=made[0]["conversationId"]).document["items"][0]["text"] == "Unplug it."
    )


def test_what_members_have_not_read_is_counted_by_the_function_of_the_stream(stack: Deployed, issuer: Issuer) -> None:
    ann = stack.api(token=issuer.token(tenant="cube"))
    assert ann.call("POST", "/v1/tenants", {"name": "A desk"}).status == 201
    asked = {"subject": "It hums", "memberIds": ["bob", "cid"]}
    path = f"/v1/replies/{ann.call('POST', '/v1/conversations', asked).document['conversationId']}"
    for text in ("Unplug it.", "Well?"):
        assert ann.call("POST", path, {"text": text}).status == 201

    def unread() -> dict[str, int]:
        return {each["memberId"]: each["messages"] for each in ann.get("/v1/unreads").document["items"]}

    assert eventually(lambda: unread() == {"bob": 2, "cid": 2}), unread()


def test_how_to_call_an_api_that_takes_tokens_is_said(stack: Deployed) -> None:
    said = how_to_call(stack.emulator, stack.outputs, ["conversation"])
    assert f"curl -s -H 'Authorization: Bearer TOKEN' -H 'Host: {stack.outputs['ApiId']}." in said
    assert stack.outputs["TableName"] in said
