"""The issue tracker on a new table in memory, with the small projects of its sample data."""

from __future__ import annotations

import datetime as dt
import io
from typing import Any

from services._samples.issues import ACME, TUNNEL, issue_tracker_samples
from services.issue_tracker.records import Issue, Project, Tenant
from shardweave.local.loading import load
from shardweave.service.build import Service, Settings, build
from shardweave.table.embedded import EmbeddedTable
from tests.unit.access_world import Person, person
from tests.unit.api_world import CURSOR_KEYS, NOW, Clock, json_of
from tests.unit.openapi_answers import described_by

DAY = dt.datetime.fromtimestamp(NOW / 1000, dt.UTC).date()


def issue_service() -> Service:
    clock = Clock()
    service = build(
        Settings(cursor_keys=CURSOR_KEYS, service="issue_tracker"),
        open_table=lambda layout: EmbeddedTable(layout, clock=lambda: clock() / 1000),
        clock=clock,
    )
    described_by(service.api, "issue_tracker")
    return service


def load_told(*, generated: int = 0) -> Person:
    """Somebody of ACME; the service has the small projects, and some issues of the big one."""
    service = issue_service()
    load_samples(service, generated=generated)
    return somebody(service, ACME)


def somebody(service: Service, tenant: Tenant) -> Person:
    """Somebody of a tenant."""
    return person(service.api, tenant=str(tenant.tenant_id))


def load_samples(service: Service, *, generated: int = 0) -> None:
    samples = [each for each in issue_tracker_samples(DAY) if not _is_left_out(each, generated)]
    load(service.parts.store, samples, "", io.StringIO())


def grid(client: Person, project: Project, sort: str, **more: Any) -> dict[str, Any]:
    """A page of a project's grid."""
    given = "".join(f"&{name}={value}" for name, value in more.items())
    answer = client.get(f"/v1/issue-grid?projectId={project.project_id}&sort={sort}{given}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = json_of(answer)
    return found


def issue_of(client: Person, project: Project, num: int) -> dict[str, Any]:
    """The issue of a number."""
    (found,) = [issue for issue in grid(client, project, "num")["items"] if issue["num"] == num]
    return dict(found)


def numbers(page: dict[str, Any]) -> list[int]:
    return [issue["num"] for issue in page["items"]]


def _is_left_out(each: object, generated: int) -> bool:
    return isinstance(each, Issue) and each.project_id == TUNNEL.project_id and each.num > generated
