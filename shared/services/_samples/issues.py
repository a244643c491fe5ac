"""Sample data of the issue tracker: two tenants with a small project each, and a big project that is generated.

The small ones are the same on every day: they are what the documentation follows. The big one has 2,000 issues with
all four custom fields; its words and choices come from a fixed seed, its times are counted back from the midnight (UTC)
that begins a given day. Its issues come in the order of their numbers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from uuid import UUID, uuid5

from services.issue_tracker.records import Issue, Priority, Project, State, Tenant
from shardweave import Entity

from .names import LOCALES
from .seeded_random import Chance

SEED = 20_250_104
BIG = 2_000
DAYS = 400

_NAMES = UUID("6f1d7a34-2f0a-4f39-9a55-3c3f4f2b7c10")
_FOUNDED = 1_700_000_000_000
_DAY_MS = 24 * 60 * 60 * 1000

ACME = Tenant(tenant_id=uuid5(_NAMES, "acme"), created=_FOUNDED, name="ACME Engineering")
BIG_MEDIA = Tenant(tenant_id=uuid5(_NAMES, "big-media"), created=_FOUNDED, name="Big Media")

BRIDGE = Project(
    tenant_id=ACME.tenant_id, project_id=uuid5(_NAMES, "bridge"), created=_FOUNDED, name="Forth Rail Bridge"
)
NEWS = Project(tenant_id=BIG_MEDIA.tenant_id, project_id=uuid5(_NAMES, "news"), created=_FOUNDED, name="The Daily News")
TUNNEL = Project(
    tenant_id=ACME.tenant_id,
    project_id=uuid5(_NAMES, "tunnel"),
    created=_FOUNDED,
    name="Long Tunnel",
    custom_fields={"section": "text1", "contractor": "text2", "depth": "number1", "inspected": "date1"},
)

_TOLD = (
    (BRIDGE, 1, "Needs Painting", State.OPEN),
    (BRIDGE, 2, "Check for rust", State.CLOSED),
    (BRIDGE, 3, "Girder needs replacing", State.OPEN),
    (NEWS, 1, "Launch new newspaper!", State.CLOSED),
    (NEWS, 2, "Hire reporter for showbiz desk", State.OPEN),
)

_THINGS = ("Cable", "Drain", "Emergency phone", "Fan", "Lining", "Pump", "Rail joint", "Signal", "Sump", "Track bed")
_FAULTS = ("corroded", "is loose", "leaks", "makes a noise", "needs a survey", "needs replacing", "overheats", "sticks")
_SECTIONS = ("North portal", "Shaft 1", "Shaft 2", "Cross passage", "Sea section", "South portal")
_CONTRACTORS = ("Bauer & Söhne", "Forget Frères", "Hill Works", "Østby")


def issue_tracker_samples(day: dt.date, big: int = BIG) -> Iterator[Entity]:
    """Tenants, projects, issues; `big` are those of the big project."""
    yield from (ACME, BIG_MEDIA, BRIDGE, NEWS, TUNNEL)
    for project, num, title, state in _TOLD:
        yield Issue(
            tenant_id=project.tenant_id,
            project_id=project.project_id,
            issue_id=uuid5(project.project_id, str(num)),
            num=num,
            title=title,
            state=state,
            created=_FOUNDED + num * _DAY_MS,
        )
    yield from generated_issues(TUNNEL, big, day)


def generated_issues(project: Project, count: int, day: dt.date) -> Iterator[Issue]:
    """Issues of a project with the custom fields of the big one, numbered from 1."""
    chance = Chance(SEED)
    people = [f"{chance.one_of(each.given)} {chance.one_of(each.family)}" for each in LOCALES for _ in range(5)]
    end = int(dt.datetime.combine(day, dt.time(), dt.UTC).timestamp() * 1000)
    step = DAYS * _DAY_MS // (count + 1)
    for num in range(1, count + 1):
        yield Issue(
            tenant_id=project.tenant_id,
            project_id=project.project_id,
            issue_id=uuid5(project.project_id, str(num)),
            num=num,
            title=f"{chance.one_of(_THINGS)} {chance.one_of(_FAULTS)}",
            state=State.CLOSED if chance.below(3) else State.OPEN,
            priority=chance.one_of(list(Priority)),
            reporter=chance.one_of(people),
            assignee=chance.one_of(people) if chance.below(5) else None,
            due=day + dt.timedelta(days=chance.below(120) - 40) if chance.below(2) else None,
            created=end - (count + 1 - num) * step + chance.below(step),
            custom_texts={
                **({"text1": chance.one_of(_SECTIONS)} if chance.below(10) else {}),
                **({"text2": chance.one_of(_CONTRACTORS)} if chance.below(4) == 0 else {}),
            },
            custom_numbers={"number1": Decimal(chance.below(1_200)) / 10} if chance.below(2) else {},
            custom_dates={"date1": day - dt.timedelta(days=chance.below(DAYS))} if chance.below(3) else {},
        )
