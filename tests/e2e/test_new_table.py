"""A new stack whose API may not scan: the lookups of its partitioned entities are read without a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from shardweave.cdk.emulator import Emulator
from tests.e2e.conftest import deployed
from tests.e2e.issuer import AUDIENCE, Issuer


def test_a_lookup_is_read_before_and_after_the_first_write(
    start_emulator: Callable[..., Emulator], issuer: Issuer
) -> None:
    """Every right is enforced, also that of the function that decides it."""
    emulator = start_emulator(enforce_iam=True)
    stack = deployed(emulator, "issue_tracker", issuer=issuer.url, audience=AUDIENCE, deployWith="credentials")
    api = stack.api(token=issuer.token(tenant=str(uuid4())))

    def numbered(project: str) -> Any:
        reply = api.get("/v1/issues", lookup="num", projectId=project, num="1")
        assert reply.status == 200, reply.body
        return [issue["num"] for issue in reply.document["items"]]

    assert numbered(str(uuid4())) == []
    for path, document in (("/v1/tenants", {"name": "Acme"}), ("/v1/projects", {"name": "Bridge"})):
        made = api.call("POST", path, document)
        assert made.status == 201, made.body
    project = str(made.document["projectId"])
    assert api.call("POST", "/v1/issues", {"projectId": project, "title": "Paint"}).status == 201
    assert numbered(project) == [1]
