"""A day's work at the issue tracker."""

from __future__ import annotations

import asyncio
import json
import sys

from client import Client, Issue, Prefix, Problem

base_url, token, project_id = sys.argv[1:]
client = Client(base_url, headers=lambda: {"authorization": f"Bearer {token}"})
said: dict[str, object] = {}

# The morning: what there is in the project, page by page.
said["pages"] = [len(page.items) for page in client.issues.by_grid_num(projectId=project_id, limit=2).pages()]

# An issue comes in, and is sent twice by a client that lost the answer.
made = client.issues.create(
    {"projectId": project_id, "title": "Rust below deck", "state": "open", "priority": "high"}, idempotency_key="day-1"
)
again = client.issues.create(
    {"projectId": project_id, "title": "Rust below deck", "state": "open", "priority": "high"}, idempotency_key="day-1"
)
issue_id = made.record["issueId"]
said["once"] = issue_id == again.record["issueId"] and made.rev == again.rev

# Somebody takes it; somebody else has the old one at hand, and is told.
taken = client.issues.update(issue_id, {"assignee": "ann"}, rev=made.rev)
try:
    client.issues.update(issue_id, {"assignee": "bob"}, rev=made.rev)
except Problem as problem:
    said["conflict"] = [problem.code, problem.status]
said["assignee"] = taken.record.get("assignee")

# A field of the project's own, and its value.
said["fields"] = client.declare_custom_field({"projectId": project_id, "name": "pressure", "kind": "number"})[
    "customFields"
]
said["custom"] = client.set_custom_values({"issueId": issue_id, "values": {"pressure": "2.5"}})["custom"]


# What is open, by title; the grid, by the field.
async def titles() -> list[str]:
    """The titles that begin so."""
    return [each["title"] async for each in client.issues.by_grid_title(projectId=project_id, title=Prefix("R"))]


said["titles"] = asyncio.run(titles())
said["grid"] = [
    each["title"] for each in client.issue_grid(projectId=project_id, sort="pressure", limit=2).page().items
]

# The evening: it is done, and gone.
closed: Issue = client.issues.update(issue_id, {"state": "closed"}).record
said["state"] = closed["state"]
client.issues.delete(issue_id)
said["gone"] = client.issues.get(issue_id)
try:
    client.issues.create({"projectId": project_id, "title": ""})
except Problem as problem:
    said["faults"] = [each["where"] for each in problem.errors]
print(json.dumps(said))
