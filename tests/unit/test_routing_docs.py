"""The service of docs/own-routes.md does what the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from shardweave.testing import Client

GUIDE = Path(__file__).parents[2] / "docs" / "own-routes.md"


def test_the_guides_service_does_what_the_page_says() -> None:
    (text,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("services.tickets")
    sys.modules[module.__name__] = module
    exec(text, vars(module))
    with Client(module) as client:
        ann, eve = client.as_caller("ann", tenant="acme"), client.as_caller("eve", tenant="bolt")
        ticket = ann.post("/v1/tickets", {"title": "Broken"}).expect(201).json
        client.clock.advance(minutes=5)
        assert ann.get("/v1/oldest-ticket").expect(200).json == ticket
        assert eve.get("/v1/oldest-ticket").status == 404
        assert ann.get("/v1/waiting").json == {"openTickets": 1, "oldestMinutes": 5}
        eve.post(f"/v1/closings/{ticket['ticketId']}", {"text": "no"}).expect(404)
        closed = ann.post(f"/v1/closings/{ticket['ticketId']}", {"text": "mended"}).expect(200).json
        assert (closed["ticket"]["state"], closed["comment"]["author"]) == ("closed", "ann")
        assert ann.get("/v1/open-tickets").json["items"] == []
        assert len(ann.get("/v1/open-tickets", state="closed").json["items"]) == 1
        ann.delete("/v1/closed-tickets?tenant=acme").expect(403)
        client.as_caller("joe", tenant="bolt", groups=["cleaners"]).delete("/v1/closed-tickets?tenant=acme").expect(204)
        assert ann.get("/v1/open-tickets", state="closed").json["items"] == []
    del sys.modules[module.__name__]
