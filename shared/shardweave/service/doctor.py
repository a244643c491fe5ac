"""Examining a deployed table: what is not as the schema says.

A check reads the table and gives faults, each with its place and its fix; it changes nothing. Checks are named and run
one after the other until time is short; those that were not run are in the report, to go on with.

    layout   the table and every index of the schema are there, active, with the keys and the projection that the schema
             gives them; and no others, since each costs a write for every write
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import ConfigurationError, Fault
from ..table import Table
from ..table.layout import IndexLayout, TableLayout
from ..table.operations import Describe, TableDescription

SOUND = ("ACTIVE", "UPDATING")


@dataclass(frozen=True)
class Report:
    """What checks found. `remaining`: those that there was no time for."""

    faults: tuple[Fault, ...]
    remaining: tuple[str, ...]


def examine(table: Table, checks: Sequence[str] = (), *, hurry: Callable[[], bool] = lambda: False) -> Report:
    """Run checks (all of them when none is named). `hurry` says that none should be begun any more."""
    names = tuple(checks) or tuple(CHECKS)
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise ConfigurationError(
            f"there is no check {', '.join(unknown)}", where="checks", fix=f"use some of {', '.join(CHECKS)}"
        )
    faults: list[Fault] = []
    for position, name in enumerate(names):
        if hurry():
            return Report(tuple(faults), names[position:])
        faults += CHECKS[name](table)
    return Report(tuple(faults), ())


def check_layout(table: Table) -> Iterator[Fault]:
    """Whether the table looks as its layout says."""
    return layout_faults(table.layout, table.run(Describe()))


def layout_faults(layout: TableLayout, found: TableDescription) -> Iterator[Fault]:
    """What is different between a layout and a table's description."""
    if found.status not in SOUND:
        yield Fault("table", f"it is {found.status}.", "wait until it is ACTIVE")
    there = {index.name: index for index in found.indexes}
    for wanted in layout.indexes:
        where, index = f"index {wanted.name}", there.pop(wanted.name, None)
        if index is None:
            yield Fault(where, "the table does not have it.", "deploy this schema's stack")
        elif _shape(index) != _shape(wanted):
            fix = "give the schema's index another name, deploy, and then remove the old one"
            yield Fault(where, "its keys or projection are not those of the schema.", fix)
        elif (state := found.index_states.get(wanted.name, "")) not in SOUND:
            yield Fault(where, f"it is {state}, so queries through it fail.", "wait until it is ACTIVE")
    for name in there:
        yield Fault(f"index {name}", "the schema does not have it.", "deploy this schema's stack, which removes it")


def _shape(index: IndexLayout) -> tuple[object, ...]:
    projection = index.projection if isinstance(index.projection, str) else frozenset(index.projection)
    return index.hash_key, index.range_key, projection


CHECKS: Mapping[str, Callable[[Table], Iterator[Fault]]] = {"layout": check_layout}
