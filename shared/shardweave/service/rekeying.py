"""What brings records of a service in, for its commands and its operators' requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api.operation import Operation
from ..api.operators import Operators
from ..api.parts import Parts
from ..maintenance.rekeying import OldTable, Rekey
from ..reshard.coordinator import Coordinator
from ..reshard.leased_maps import LeasedMaps, guards_inside_writes
from ..reshard.phases import Waits
from ..schema.entity_type import EntityType
from ..schema.old_forms import OldForm
from ..schema.schema import Schema
from ..store import Store
from ..store.store import new_token
from ..table import Table

NO_WAITS = Waits(lease_ms=0, accepted_ms=0, request_ms=0, clocks_ms=0)
"""A table that checks the state inside its writes needs no waits."""


def rekey_of(
    schema: Schema,
    table: Table,
    form: OldForm,
    waits: Waits,
    clock: Callable[[], int],
    *,
    leases: Waits,
    old_table: OldTable | None = None,
    rate: int = 0,
) -> Rekey:
    """What brings an entity's records in. `leases` are the waits of the stage's other processes."""
    maps = LeasedMaps(table, leases, clock=clock, forms={form.entity.token: form}, bringing=True)
    store = Store(schema, table, clock=clock, maps=maps)
    coordinator = Coordinator(table, waits, new_token=new_token, clock=clock)
    return Rekey(store.parts, coordinator, form, clock, waits, old_table=old_table, rate=rate)


def rekey_operations(
    parts: Parts, waits: Waits, operators: Operators, clock: Callable[[], int]
) -> tuple[Operation, ...]:
    """The operations on the entities whose old form the service knows."""
    from ..api.routes.rekey import RekeyRoutes

    forms = {} if parts.maps is None else parts.maps.forms
    guarded = guards_inside_writes(parts.table)

    def made(entity: EntityType[Any]) -> Rekey:
        used = NO_WAITS if guarded else waits
        return rekey_of(parts.schema, parts.table, forms[entity.token], used, clock, leases=waits)

    routes = RekeyRoutes(made, operators, runs=guarded)
    return tuple(each for form in forms.values() for each in routes.operations(form.entity))
