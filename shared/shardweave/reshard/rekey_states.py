"""The states of bringing a table in: an entity's records exist in an old form, and get their own keys while they are
used (see `maintenance.rekeying`).

    state       who writes                                                  Database reads and writes
    FOLLOW      programs in the old form; the rekey copies after them       no: ReshardRefused
    DUAL        Database in both forms, in one transaction; and, if need    yes, if it has the old form
                be, programs in the old form, whom the rekey follows
    FINISH      Database in both forms; nobody follows the old items any    yes, if it has the old form
                more, which are what the records are
    PURGE       Database, in its own form alone; the old items are left     yes
    UNDO        nobody but programs in the old form; the records are        no
                removed again

    FOLLOW -> DUAL -> FINISH -> PURGE -> (none)       DUAL -> FOLLOW -> UNDO -> (none)
    FOLLOW -> (none)       FOLLOW -> UNDO -> (none)   with the old items in another table

FINISH is between DUAL and PURGE since processes of two states work at once: in PURGE an old item says less than its
record, which a process of DUAL would take for another program's change, and undo.

The state is in the entity's control record, so every process uses a copy of it that is valid for one lease. Only
adjacent states are in use at the same time, if a state lasts `skew_ms` before its next one removes something.

Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import Conflict, ReshardRefused
from ..keys.sharding import ShardMap
from ..schema.entity_type import EntityType
from ..schema.old_forms import OldForm
from .phases import ReshardState, Waits

FOLLOW, DUAL, FINISH, PURGE, UNDO = "follow", "dual", "finish", "purge", "undo"
STATES = (FOLLOW, DUAL, FINISH, PURGE, UNDO)
FOLLOWING = {FOLLOW: (DUAL, UNDO), DUAL: (FOLLOW, FINISH), FINISH: (PURGE,), PURGE: ("",), UNDO: ("",)}
FOLLOWING_ELSEWHERE = {FOLLOW: ("", UNDO), UNDO: ("",)}
"""The states after each, with the old items in the same table and in another one."""


def form_in_use(
    entity: EntityType[Any], control: ReshardState, form: OldForm | None, *, bringing: bool
) -> OldForm | None:
    """The old form in which writes are repeated. Raises ReshardRefused for a process that must not read or write."""
    if control.rekey == PURGE:
        return None
    if form is not None and form.fingerprint != control.rekey_form:
        raise ReshardRefused(
            "its records are brought in from another old form",
            where=entity.token,
            fix="use the mapping with which it was started",
        )
    if bringing:
        return None
    if control.rekey not in (DUAL, FINISH):
        raise ReshardRefused(
            "its records are being brought in, and are still read and written in their old form",
            where=entity.token,
            fix="use the old program until `shardweave rekey switch`",
        )
    if form is None:
        raise ReshardRefused(
            "its records are being brought in, and every write has to be repeated in their old form",
            where=entity.token,
            fix="give the mapping: Database(schema, rekey=mapping)",
        )
    return form if control.rekey == DUAL else form.trailing


def begun(
    control: ReshardState | None, current: ShardMap, form: OldForm, old_table: str, waits: Waits, now_ms: int
) -> ReshardState:
    """The state of a new rekey. `old_table` is the name of the table of the old items, if it is another one. Raises
    Conflict while something else moves the entity's records, and while a run of an earlier rekey may still delete some.
    """
    if control is not None and (control.moving or control.rekey):
        what = "brought in already" if control.rekey else "being moved"
        raise Conflict(f"its records are {what}", where=form.entity.token, fix="let that end first")
    wait = 0 if control is None else settled_in_ms(control, waits, now_ms)
    if wait:
        raise Conflict(
            "the rekey before this one has ended just now, and a run of it may still be under way",
            where=form.entity.token,
            fix=f"try again in {-(-wait // 1000)} s",
        )
    version = 1 if control is None else control.version
    base = control or ReshardState(version, replace(current, version=version), entered_ms=now_ms, stepped_ms=now_ms)
    base = replace(base, rekey_from=old_table, rekey_form=form.fingerprint)
    return replace(base, rekey=FOLLOW, rekey_ms=now_ms, rekey_run="")


def passed_on(control: ReshardState, state: str, now_ms: int) -> ReshardState:
    """The control value in another state, in which no run has begun. Raises Conflict if that state does not follow the
    present one."""
    following = FOLLOWING_ELSEWHERE if control.rekey_from else FOLLOWING
    if state not in following.get(control.rekey, ()):
        at = f"it is in {control.rekey!r}" if control.rekey else "nothing is being brought in"
        raise Conflict(
            f"{at}, so it can't go to {state or 'its end'!r}", where="rekey", fix="see `shardweave rekey status`"
        )
    if not state:
        control = replace(control, rekey_form="", rekey_from="")
    return replace(control, rekey=state, rekey_ms=now_ms, rekey_run="")


def check_old_table(control: ReshardState, old_table: str) -> None:
    """Raises Conflict unless that is the table of the old items with which the rekey was started: in another one none
    would be found, and the records be taken for such as have lost theirs."""
    if not control.rekey or control.rekey_from == old_table:
        return
    began = f"with the old items in {control.rekey_from!r}" if control.rekey_from else "in one table"
    given = f"the old items in {old_table!r}" if old_table else "one table for both"
    fix = f"give --from {control.rekey_from}" if control.rekey_from else "leave out --from"
    raise Conflict(f"it was started {began}, and is asked to go on with {given}", where="rekey: --from", fix=fix)


def settled_in_ms(control: ReshardState, waits: Waits, now_ms: int) -> int:
    """How long it takes until every process knows the state."""
    return max(0, control.rekey_ms + waits.skew_ms - now_ms)
