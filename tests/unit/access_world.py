"""Fixtures for tests of access: two tenants on one table, and what each of them may not know of the other.

Team      its tenant is in its identity, so two tenants may have teams of one name
Task      its ids are made up by the service; it belongs to a team, has a parent task that nothing enforces, numbers, a
          unique slug, a label that many tasks may have, and a private note
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from shardweave.access import Allow, claim_property, private_property
from shardweave.api.app import Api
from shardweave.api.http import Response
from shardweave.api.lambda_event import authorizer_of, event_of, verified_token
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Lookup, Sequence, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp
from tests.unit.api_world import api_of, check_answer, checked_headers
from tests.unit.lambda_context import Context


class Team(Entity, token="team", partition="tenant_id", sort="name"):
    """A team."""

    tenant_id: str = claim_property("tenant")
    name: str
    motto: str | None = None


class Task(Entity, token="task", shard_bumps=[ShardBump(0, char_bits=1, chars=1)]):
    """A task."""

    task_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    created: Timestamp = timestamp_property()
    team_name: str
    num: int = 0
    slug: str | None = None
    label: str | None = None
    title: str = ""
    parent_id: str | None = None
    related_ids: list[str] = Field(default_factory=list)
    note: str | None = private_property(default=None)

    tenant_hash_key = HashKey("tenant_id")
    team_hash_key = HashKey("tenant_id", "team_name")
    title_range_key = RangeKey("title")
    num_range_key = RangeKey("num")

    numbering = Sequence("num", within=("tenant_id", "team_name"))
    slugs = Unique("slug", within="tenant_id")
    labels = Lookup("label", within="tenant_id")
    team = belongs_to(Team, by=("tenant_id", "team_name"), enforced=True)
    parent = belongs_to("task", by="parent_id")
    related = has_many("task", by="related_ids")


TENANTS = Schema(
    entities=[Team, Task],
    indexes=[
        Index("byTitle", "tenant_hash_key", "title_range_key"),
        Index("byTeam", "team_hash_key", "num_range_key"),
        Index("titles", "team_hash_key", "title_range_key", projection=("title", "note")),
    ],
)


class Report(
    Entity,
    token="report",
    access=[
        Allow("get", "list", "query", "count", "explain", "batchGet", groups="reader"),
        Allow("*", groups="admin"),
        Allow("create", "get", "list", "update", "put", "delete", "batchWrite", owner="user_id"),
    ],
):
    """A report, which one user writes."""

    report_id: str = unique_property(default_factory=nanoid)
    user_id: str
    subject: str
    draft: bool = False

    user_hash_key = HashKey("user_id")
    subject_hash_key = HashKey("subject")


class Memo(Entity, token="memo"):
    """Nobody has any right to these."""

    memo_id: str = unique_property()
    report_id: str | None = None

    report = belongs_to(Report, by="report_id")


RULES = Schema(
    entities=[Report, Memo],
    indexes=[
        Index("byUser", "user_hash_key", "range_key"),
        Index("bySubject", "subject_hash_key", "range_key", groups=("admin", "librarian")),
        Index("mySubjects", "subject_hash_key", "user_id", owner="user_id"),
        Index("unexposed", "hash_key", "user_id", exposed=False),
    ],
)


@dataclass
class Person:
    """Somebody with a token, who speaks to an API."""

    api: Api
    claims: Mapping[str, Any] = field(default_factory=dict)

    def ask(
        self, method: str, target: str, document: Any = None, *, context: Context | None = None, **headers: str
    ) -> Response:
        """Header names are given with `_` for `-`."""
        path, _, query = target.partition("?")
        media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        sent = {"content-type": media_type, **{name.replace("_", "-"): text for name, text in headers.items()}}
        sent.setdefault("authorization", f"Bearer {verified_token(self.claims)}")
        body = b"" if document is None else json.dumps(document).encode()
        authorizer = authorizer_of(self.claims) if self.claims else {}
        event = event_of(method, path, query, sent, body, authorizer)
        answer = self.api.resolve(event, context)
        check_answer(self.api, event, answer)
        return Response(answer["statusCode"], answer["body"].encode(), checked_headers(answer["headers"]))

    def get(self, target: str, **headers: str) -> Response:
        return self.ask("GET", target, **headers)

    def post(self, target: str, document: Any, **headers: str) -> Response:
        return self.ask("POST", target, document, **headers)

    def made(self, collection: str, **properties: Any) -> dict[str, Any]:
        """A record that is made, as it is answered."""
        answer = self.post(f"/v1/{collection}", properties)
        assert answer.status == 201, answer.body
        record: dict[str, Any] = json.loads(answer.body)
        return record


def person(api: Api, name: str = "ann", *groups: str, **claims: str) -> Person:
    """Somebody with these groups and claims."""
    return Person(api, {"iss": "https://i", "sub": name, "groups": list(groups), **claims})


def two_tenants() -> tuple[Person, Person]:
    """Somebody of Acme and somebody of Bolt, whose tokens are otherwise the same."""
    api = api_of(TENANTS)
    return person(api, tenant="acme"), person(api, tenant="bolt")
