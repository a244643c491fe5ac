"""Waves: how several index changes become deployments that each change one index. Pure.

DynamoDB adds or removes one index at a time, and an index that is being filled can't be read. So each new index is
first added, hidden from queries; when all are filled, the code that uses them is deployed; then each old one, which
nothing reads any more, is removed. Every wave can be repeated; after an interruption the plan is made anew from what is
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infra.manifest import index_changes
from shardweave.errors import ConfigurationError, SchemaError
from shardweave.manifest import index_faults
from shardweave.table.layout import IndexLayout

MOST_INDEXES = 20


@dataclass(frozen=True)
class Wave:
    """One deployment. `indexes` is what the table has after it; `hidden` is not read yet."""

    meaning: str
    indexes: tuple[IndexLayout, ...]
    hidden: tuple[str, ...] = ()


def plan_waves(there: Sequence[IndexLayout], wanted: Sequence[IndexLayout]) -> list[Wave]:
    """The deployments that lead from the indexes that are there to those that are wanted. Raises SchemaError for an
    index that would change in place, ConfigurationError when there is no room for old and new ones."""
    before, after = {index.name: index for index in there}, {index.name: index for index in wanted}
    broken = list(index_faults(before, after))
    if broken:
        raise SchemaError(broken)
    changes = index_changes(before, after)
    if len(before) + len(changes.create) > MOST_INDEXES:
        raise ConfigurationError(
            f"{len(before)} indexes are there and {len(changes.create)} new ones come before old ones go, but a table "
            f"has {MOST_INDEXES} at most.",
            where="indexes",
            fix="deploy without the old ones first, then add the new ones",
        )
    waves, table = [], list(there)
    for number, name in enumerate(changes.create, 1):
        table = [*table, after[name]]
        waves.append(Wave(f"adding the index {name} ({number} of {len(changes.create)})", tuple(table), changes.create))
    waves.append(Wave("deploying everything else", tuple(table)))
    for number, name in enumerate(changes.delete, 1):
        table = [index for index in table if index.name != name]
        waves.append(Wave(f"removing the index {name} ({number} of {len(changes.delete)})", tuple(table)))
    return waves
