"""Whether a table looks as the schema says: it and every index are there, active, with the keys and the projection that
the schema gives them; and no others, since each costs a write for every write. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Fault
from ..table.layout import IndexLayout, TableLayout
from ..table.operations import TableDescription

SOUND = ("ACTIVE", "UPDATING")


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
