"""The issue tracker: issues, numbered inside their projects, in grids that can be sorted by any column.

    Tenant    whose projects these are
    Project   what issues are about, with the custom fields that they have there
    Issue     something to be done: UUID, number, title, state, priority, people, dates
    Merge     one project's issues on their way to another project

The claim `tenant` of a caller's token is the tenant's id: no request sees or changes anything of another tenant.
`GET /v1/issue-grid` shows a project's issues sorted by any one column either way, at the same cost for every page, and
filtered where that is asked; `GET /v1/issue-grid/explain` shows how it is read.
`POST /v1/custom-fields` declares a custom field of a project, `POST /v1/custom-values` sets an issue's values by name.
`POST /v1/project-merges` moves all issues of one project to another: they get new numbers and keep their ids.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from shardweave import ORDERED, Entity, GraphQL, KeyFormat, Schema

from .custom_fields import declare_custom_field, set_custom_values
from .grid import explain_issue_grid, issue_grid
from .merging import merge_projects
from .records import INDEXES, Issue, Merge, Project, Tenant

__all__ = [
    "declare_custom_field",
    "explain_issue_grid",
    "issue_grid",
    "merge_projects",
    "sample_data",
    "schema",
    "set_custom_values",
]


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    return Schema(entities=[Tenant, Project, Issue, Merge], indexes=INDEXES, key_format=key_format)


graphql = GraphQL()


def sample_data(day: dt.date) -> Iterator[Entity]:
    """Tenants with projects of issues, looking back from a day."""
    from services._samples.issues import issue_tracker_samples

    return issue_tracker_samples(day)
