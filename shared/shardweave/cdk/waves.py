"""Waves: the deployments for several index changes, each with one change, and for a new stage. Pure.

DynamoDB adds or removes one index at a time, and an index that is being filled can't be read. So each new index is
first added, hidden from queries; when all are filled, the code that uses them is deployed; then each old one, which is
no longer read, is removed. Every wave can be repeated; after an interruption the waves are planned again from the
existing indexes.

A stage is created without protection and then protected: if its table could not be deleted, CloudFormation could not
roll back a failed creation, nor could the CDK delete the stack.

Format of the choice `waves`, with which one synthesis makes the templates of all: a JSON list of objects with `indexes`
and `hidden` (lists of names, whose layouts are in the choice `indexes`, else the schema's) and `protection`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..database.project import command_name
from ..errors import ConfigurationError, SchemaError
from ..schema.manifest import index_faults
from ..table.layout import IndexLayout
from .manifest import index_changes

MOST_INDEXES = 20


@dataclass(frozen=True)
class Wave:
    """One deployment. `indexes` are the table's indexes after it; `hidden` are those that are not read yet."""

    meaning: str
    indexes: tuple[IndexLayout, ...]
    hidden: tuple[str, ...] = ()
    protection: bool = True


def first_waves(wanted: Sequence[IndexLayout], *, protected: bool) -> list[Wave]:
    """The deployments for a new stage."""
    whole = Wave("making everything", tuple(wanted))
    if not protected:
        return [whole]
    protecting = replace(whole, meaning="protecting the stack and its table from being deleted")
    return [replace(whole, protection=False), protecting]


def wave_name(number: int) -> str:
    """The name of a wave's assembly in the app; the first has the number 1."""
    return f"Wave{number}"


def everything_else(indexes: Sequence[IndexLayout]) -> list[Wave]:
    """The only deployment if no index changes."""
    return [Wave("deploying everything else", tuple(indexes))]


def plan_waves(there: Sequence[IndexLayout], wanted: Sequence[IndexLayout]) -> list[Wave]:
    """The deployments that change the existing indexes to the wanted ones. Raises SchemaError for an index that would
    change in place, ConfigurationError if the table can't have old and new ones together."""
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
    waves += everything_else(table)
    for number, name in enumerate(changes.delete, 1):
        table = [index for index in table if index.name != name]
        waves.append(Wave(f"removing the index {name} ({number} of {len(changes.delete)})", tuple(table)))
    return waves


def encode_waves(waves: Sequence[Wave]) -> str:
    """The choice `waves`."""
    return json.dumps([_encode_wave(wave) for wave in waves], separators=(",", ":"))


def decode_waves(text: str, indexes: Sequence[IndexLayout]) -> tuple[Wave, ...]:
    """The waves in the choice, whose names are those of `indexes`; empty for an empty text. Raises
    ConfigurationError."""
    known = {index.name: index for index in indexes}
    try:
        given = json.loads(text or "[]")
        found = tuple(_decode_wave(each, known) for each in given)
        whole = [_encode_wave(wave) for wave in found] == given
    except (ValueError, KeyError, TypeError):
        whole, found = False, ()
    if not whole:
        raise ConfigurationError(
            "must be a list of waves.",
            where="context `waves`",
            fix=f"leave it out; `{command_name('deploy')}` gives it itself",
        )
    return found


def _encode_wave(wave: Wave) -> dict[str, object]:
    names = [index.name for index in wave.indexes]
    return {"indexes": names, "hidden": list(wave.hidden), "protection": wave.protection}


def _decode_wave(given: Mapping[str, Any], known: Mapping[str, IndexLayout]) -> Wave:
    indexes = tuple(known[name] for name in given["indexes"])
    hidden = tuple(known[name].name for name in given["hidden"])
    return Wave("", indexes, hidden, protection=bool(given["protection"]))
