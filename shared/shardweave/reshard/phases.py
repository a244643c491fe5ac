"""The phases of a re-shard: the maps in force in each phase, the transitions, and the minimum duration of each phase.

A re-shard moves every record of an entity from its shard spaces (O, `old`) to a new one (N, `new`). Each entity has one
`ReshardState`, with the phase:

    phase        writers                                      readers   leaves when
    STABLE       O                                            O         someone asks
    DUAL_OLD     one transaction on O and N, conditions on O  O         copied, swept, verified, indexes caught up
    DUAL_NEW     one transaction on O and N, conditions on N  N         soaked: every cursor on O is past its life
    NEW_ONLY     N                                            N         no process can still be in DUAL_NEW
    PURGE        N                                            N         O is empty, and stays so

    abort        DUAL_NEW -> DUAL_OLD -> STABLE, N emptied again

Guarantees, provided that each process checks the age of its copy of the state (`lease_ms`), only adjacent phases are in
use at the same time. A process may stop for any time between this check and its request, but a request is refused
`accepted_ms` after it was signed, and the clock that signed it may be fast by the same time. So after a phase has
lasted `skew_ms`, no request of the phase before it can be carried out.

A phase consists of steps. In each step with work, movers carry out work items (see `work_items`); a step is left when
all are done and their results are in order. Waits depend only on `now_ms`, which callers pass in.

Pure: values in, values out. Source of the protocol: a model of three writers and a repeatable mover that was searched
exhaustively; `docs/resharding.md` has the invariants, and which guard upholds which.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Conflict, ReshardRefused, ReshardUnreadable
from ..keys.sharding import ShardBump, ShardMap
from .targets import check_target, new_map

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS

MAX_ROUNDS = 40
"""The maximum number of rounds of steps in DUAL_OLD, after which recurring differences need the attention of an
operator."""


class Phase(enum.IntEnum):
    """The phase of a re-shard."""

    STABLE = 0
    DUAL_OLD = 1
    DUAL_NEW = 2
    NEW_ONLY = 3
    PURGE = 4


class ReshardStep(enum.Enum):
    """The step of a phase. Steps with work are COPY, SWEEP, VERIFY, INDEXES, MEND, EMPTY and CLEAN."""

    REST = "rest"
    COPY = "copy"
    """Each record of O gets an equal one in N."""
    SWEEP = "sweep"
    """Records of N that are not in O are removed from N."""
    SETTLE = "settle"
    """Wait until no process can be in the phase before."""
    VERIFY = "verify"
    """Compare O and N, in both directions, with independently computed keys."""
    INDEXES = "indexes"
    """Compare the entries of N's indexes with the records of N."""
    MEND = "mend"
    """Make O equal to N, in DUAL_NEW, after an operator has looked into the differences."""
    SOAK = "soak"
    """Wait until no cursor on the other space can be valid."""
    EMPTY = "empty"
    """Remove O."""
    QUIET = "quiet"
    """Wait, and check again whether anything was written to O since."""
    CLEAN = "clean"
    """Remove N after an abort."""

    @property
    def has_work(self) -> bool:
        return self in _WITH_WORK


_WITH_WORK = frozenset(
    {
        ReshardStep.COPY,
        ReshardStep.SWEEP,
        ReshardStep.VERIFY,
        ReshardStep.INDEXES,
        ReshardStep.MEND,
        ReshardStep.EMPTY,
        ReshardStep.CLEAN,
    }
)


@dataclass(frozen=True)
class Waits:
    """The times of the protocol, in milliseconds. Short times are only for local stages."""

    lease_ms: int = 10_000
    """The maximum age of a process's copy of the state."""
    accepted_ms: int = 15 * MINUTE_MS
    """For how long DynamoDB accepts a signed request."""
    request_ms: int = 30_000
    """The maximum duration of a request."""
    clocks_ms: int = 30 * MINUTE_MS
    """The maximum difference between the clocks of two coordinators: one records when a phase began, the other decides
    that it has lasted long enough. Both get their requests accepted, so each clock is correct to 15 minutes."""
    cursor_life_ms: int = 24 * HOUR_MS
    quiet_ms: int = 5 * MINUTE_MS
    """How long O must stay empty before the re-shard ends."""
    recheck_ms: tuple[int, ...] = (24 * HOUR_MS, 7 * 24 * HOUR_MS)
    """The times after the flip at which N is verified again."""

    @property
    def skew_ms(self) -> int:
        """The minimum duration of every phase, including STABLE."""
        return self.lease_ms + 2 * self.accepted_ms + self.request_ms + self.clocks_ms

    @property
    def soak_ms(self) -> int:
        """The minimum time for which a map stays readable after the last cursor on it was created."""
        return self.skew_ms + self.cursor_life_ms


@dataclass(frozen=True)
class ReshardState:
    """The state of one entity's re-shard. `version` grows with every start, also of re-shards that are aborted. `old`
    is the map in force before (in STABLE: the map in force), `new` the target map. Both are fixed when a re-shard
    starts.

    `entered_ms` is when the phase was entered, `stepped_ms` the step; `exposed_ms` when readers last used `new` before
    an abort took them back to `old`. `round` counts the steps of this phase. `started` is when the re-shard began, and
    `absorbed_until` when the last one did that ended in its new map, whose first shard space stands for every bump
    declared up to then; both in the unit of the entity's timestamp property. `placement` and `schema` are fingerprints
    of the declaration. `attention` is the reason why an operator is needed, and `concerned` has the hash and range keys
    of some of the records that it is about. `flipped_ms` and `rechecked` are for the verifications afterwards.
    `only_ms` is when NEW_ONLY was entered, from when on N's changes are the record's, and `former` the map that was
    left then, until the next start.
    """

    version: int
    old: ShardMap
    new: ShardMap | None = None
    phase: Phase = Phase.STABLE
    step: ReshardStep = ReshardStep.REST
    round: int = 0
    entered_ms: int = 0
    stepped_ms: int = 0
    aborting: bool = False
    exposed_ms: int | None = None
    started: int = 0
    absorbed_until: int | None = None
    placement: str = ""
    schema: str = ""
    attention: str = ""
    concerned: tuple[tuple[str, str], ...] = ()
    flipped_ms: int | None = None
    only_ms: int | None = None
    former: ShardMap | None = None
    rechecked: int = 0
    rate: int = 0
    """Records a second that one mover may write; 0 means no limit."""
    rekey: str = ""
    """How far its table is brought in (see `rekey_states`); empty if it is not."""
    rekey_form: str = ""
    """The fingerprint of the old form."""
    rekey_ms: int = 0
    """When that state began."""
    rekey_run: str = ""
    """The token of the run that began last in that state, and alone may write (see `maintenance.run_fence`)."""
    rekey_from: str = ""
    """The name of the table of the old items, if it is another one."""
    unknown: tuple[tuple[str, Any], ...] = ()
    """Unknown fields that another version wrote, by name."""

    @property
    def moving(self) -> bool:
        """Whether the entity's declaration must not change: a re-shard is in progress, or N is still being cleaned."""
        return self.phase is not Phase.STABLE or self.step is ReshardStep.CLEAN

    @property
    def current(self) -> ShardMap:
        """The map in force: readers use it, and writers' conditions are on it."""
        if self.phase in (Phase.STABLE, Phase.DUAL_OLD) or self.new is None:
            return self.old
        return self.new

    @property
    def mirror(self) -> ShardMap | None:
        """The map on which every write is repeated in the same transaction."""
        if self.phase is Phase.DUAL_OLD:
            return self.new
        return self.old if self.phase is Phase.DUAL_NEW else None

    @property
    def marked(self) -> ShardMap | None:
        """The map whose records get a mark when they are written: O, while N is written too."""
        return self.old if self.phase in (Phase.DUAL_OLD, Phase.DUAL_NEW) else None

    def readable(self, map_id: int) -> ShardMap | None:
        """The map named by a cursor, if all its records are still kept."""
        for each in (self.current, self.mirror):
            if each is not None and each.id == map_id:
                return each
        return None


@dataclass(frozen=True)
class StepResult:
    """The results of a step's work. `done`: all items are done. `repairable` differences are removed by copying or
    sweeping again; `strays` are records of other programs, which are only reported."""

    done: bool = False
    repairable: int = 0
    strays: int = 0
    left: int = 0
    """The number of records met in the space that is to be emptied."""
    caught: int = 0
    """The number of records of other programs that were copied meanwhile."""
    keys: tuple[tuple[str, str], ...] = ()
    """Hash and range key of some of the records that differ or are strays."""


# -- beginning --------------------------------------------------------------------------------------------------------


def map_in_force(declared: ShardMap, control: ReshardState | None) -> ShardMap:
    """The map in force, from the declared map and the state. Raises ReshardUnreadable if `narrow_bump` finds a bump."""
    if control is None:
        return declared
    if control.moving:
        return control.current
    if control.absorbed_until is None:
        return replace(declared, id=control.old.id, version=control.version)
    base = control.old.generations[0].space
    if narrow_bump(declared, control) is not None:
        raise ReshardUnreadable(
            f"a bump since the re-shard has no more than the {base.chars} characters of the space that it made",
            where="shard_bumps",
            fix="let it have more, or take it back; nothing is read or written until then",
        )
    first = ShardBump(0, base.char_bits, base.chars)
    return ShardMap.of_bumps((first, *_bumps_since(declared, control)), control.old.id, control.version)


def narrow_bump(declared: ShardMap, control: ReshardState) -> ShardBump | None:
    """The first bump declared since the last re-shard that is not wider than the new space. None during a re-shard."""
    base = control.old.generations[0].space
    since = () if control.moving else _bumps_since(declared, control)
    return next((bump for bump in since if bump.chars <= base.chars), None)


def _bumps_since(declared: ShardMap, control: ReshardState) -> tuple[ShardBump, ...]:
    until = control.absorbed_until
    return () if until is None else tuple(bump for bump in declared.bumps if bump.timestamp > until)


def started(
    control: ReshardState | None,
    current: ShardMap,
    target: ShardBump,
    *,
    now_ms: int,
    now: int,
    waits: Waits,
    placement: str,
    schema: str,
    rate: int = 0,
) -> ReshardState:
    """The state of a new re-shard. `now` is `now_ms` in the unit of the entity's timestamp property. Raises Conflict
    while another one is in progress, ReshardRefused if the target is not possible."""
    if control is not None and control.moving:
        raise under_way(control.aborting)
    if control is not None and control.rekey:
        raise Conflict(
            "its records are being brought in", where="entity", fix="let that end: `shardweave rekey status`"
        )
    if control is not None and now_ms - control.entered_ms < waits.skew_ms:
        raise Conflict(
            "the last re-shard ended too short a time ago for every process to know",
            where="entity",
            fix=f"try again in {-(-(control.entered_ms + waits.skew_ms - now_ms) // 1000)} s",
        )
    check_target(current, target, now)
    version = (0 if control is None else control.version) + 1
    old = replace(current, version=version)
    return ReshardState(
        version=version,
        old=old,
        new=new_map(current, target, now, version),
        phase=Phase.DUAL_OLD,
        step=ReshardStep.COPY,
        entered_ms=now_ms,
        stepped_ms=now_ms,
        started=now,
        absorbed_until=None if control is None else control.absorbed_until,
        placement=placement,
        schema=schema,
        rate=rate,
        unknown=() if control is None else control.unknown,
    )


def under_way(aborting: bool) -> Conflict:
    """The error that another re-shard is in progress."""
    what, fix = ("still being taken back", "let that end") if aborting else ("under way", "let it end, or abort it")
    return Conflict(f"a re-shard of the entity is {what}", where="entity", fix=fix)


def aborted(control: ReshardState, now_ms: int) -> ReshardState:
    """The state after an abort was requested. From DUAL_NEW it goes back to DUAL_OLD immediately. Raises ReshardRefused
    if the re-shard can't be aborted any more."""
    if control.phase not in (Phase.DUAL_OLD, Phase.DUAL_NEW):
        if control.aborting:
            raise ReshardRefused("it is being taken back already", where="entity", fix="let that end")
        what = "nothing is being moved" if control.phase is Phase.STABLE else f"it is in {control.phase.name.lower()}"
        raise ReshardRefused(f"{what}, and there is no way back", where="entity", fix="start one if none is under way")
    if control.phase is Phase.DUAL_NEW:
        control = replace(_entered(control, Phase.DUAL_OLD, ReshardStep.SETTLE, now_ms), exposed_ms=now_ms)
    else:
        control = _stepped(control, ReshardStep.SETTLE, now_ms)
    return replace(control, aborting=True, attention="", concerned=())


def resumed(control: ReshardState, now_ms: int, *, schema: str) -> ReshardState:
    """The state after an operator has resumed a stopped re-shard, with the current declaration: the stopped step begins
    again, or in DUAL_OLD the copying, since another declaration gives other attributes. In DUAL_NEW, O is first made
    equal to N, since readers use N. Raises ReshardRefused if nothing has stopped."""
    if not control.attention and control.schema == schema:
        raise ReshardRefused("nothing has stopped", where="entity", fix="see `shardweave reshard status`")
    step = control.step
    if control.phase is Phase.DUAL_OLD and not control.aborting:
        step = ReshardStep.COPY
    elif control.phase is Phase.DUAL_NEW and step is ReshardStep.VERIFY:
        step = ReshardStep.MEND
    return replace(_stepped(control, step, now_ms), attention="", concerned=(), schema=schema)


# -- going on ---------------------------------------------------------------------------------------------------------


def advanced(control: ReshardState, findings: StepResult, now_ms: int, waits: Waits) -> ReshardState | None:
    """The next state, None if a wait has not ended or the work is not done."""
    if control.phase is Phase.STABLE:
        return _from_stable(control, findings, now_ms, waits)
    if control.aborting:
        return _to_stable(control, now_ms, waits)
    follow = {
        Phase.DUAL_OLD: _from_dual_old,
        Phase.DUAL_NEW: _from_dual_new,
        Phase.NEW_ONLY: _from_new_only,
        Phase.PURGE: _from_purge,
    }[control.phase]
    return follow(control, findings, now_ms, waits)


def due_ms(control: ReshardState, waits: Waits) -> int | None:
    """The earliest end of the current wait, None if the step waits for work."""
    if control.aborting and control.phase is Phase.DUAL_OLD:
        return _abort_due(control, waits)
    if control.step in (ReshardStep.SETTLE, ReshardStep.CLEAN):
        return control.entered_ms + waits.skew_ms
    if control.step is ReshardStep.SOAK:
        return control.entered_ms + waits.soak_ms
    if control.step is ReshardStep.QUIET:
        return control.stepped_ms + max(waits.quiet_ms, waits.skew_ms)
    return None


def _from_dual_old(control: ReshardState, findings: StepResult, now_ms: int, waits: Waits) -> ReshardState | None:
    if control.step is ReshardStep.SETTLE:
        return _stepped(control, ReshardStep.VERIFY, now_ms) if now_ms >= control.entered_ms + waits.skew_ms else None
    if not findings.done:
        return None
    if control.step is ReshardStep.COPY:
        return _stepped(control, ReshardStep.SWEEP, now_ms)
    if control.step is ReshardStep.SWEEP:
        return _stepped(control, ReshardStep.SETTLE, now_ms)
    if control.step is ReshardStep.VERIFY:
        return _after_verification(control, findings, now_ms)
    if findings.caught:
        # Records were copied after their verification, to hash keys whose indexes had already been compared.
        return _stepped(control, ReshardStep.VERIFY, now_ms)
    if findings.repairable:
        # The indexes lag, which only needs time; an immediate repetition would be useless.
        return _stepped(control, ReshardStep.INDEXES, now_ms) if now_ms >= control.stepped_ms + waits.lease_ms else None
    return replace(_entered(control, Phase.DUAL_NEW, ReshardStep.SOAK, now_ms), flipped_ms=now_ms, exposed_ms=None)


def _after_verification(control: ReshardState, findings: StepResult, now_ms: int) -> ReshardState | None:
    """In DUAL_OLD waiting for an operator loses nothing, while going on would lose a record that can't be copied."""
    if findings.strays:
        return _stopped(control, "records of other programs can't be moved as they are", findings.strays, findings)
    if findings.repairable and control.round >= MAX_ROUNDS:
        return _stopped(control, "items, old or new, keep differing between the spaces", findings.repairable, findings)
    return _stepped(control, ReshardStep.COPY if findings.repairable else ReshardStep.INDEXES, now_ms)


def _from_dual_new(control: ReshardState, findings: StepResult, now_ms: int, waits: Waits) -> ReshardState | None:
    if control.step is ReshardStep.SOAK:
        return _stepped(control, ReshardStep.VERIFY, now_ms) if now_ms >= control.entered_ms + waits.soak_ms else None
    if not findings.done:
        return None
    if control.step is ReshardStep.MEND:
        return _stepped(control, ReshardStep.VERIFY, now_ms)
    if control.attention:
        return None
    if findings.repairable:
        return _stopped(control, "items, old or new, differ between the spaces", findings.repairable, findings)
    return replace(_entered(control, Phase.NEW_ONLY, ReshardStep.SETTLE, now_ms), only_ms=now_ms)


def _from_new_only(control: ReshardState, findings: StepResult, now_ms: int, waits: Waits) -> ReshardState | None:
    if now_ms < control.entered_ms + waits.skew_ms:
        return None
    return _entered(control, Phase.PURGE, ReshardStep.EMPTY, now_ms)


def _from_purge(control: ReshardState, findings: StepResult, now_ms: int, waits: Waits) -> ReshardState | None:
    if control.step is ReshardStep.QUIET:
        if now_ms < control.stepped_ms + max(waits.quiet_ms, waits.skew_ms):
            return None
        return _stepped(control, ReshardStep.EMPTY, now_ms)
    if not findings.done:
        return None
    if control.attention:
        return None
    if findings.strays:
        return _stopped(control, "records in the old space were written by other programs", findings.strays, findings)
    if control.round == 0 or findings.left:
        return _stepped(control, ReshardStep.QUIET, now_ms)
    assert control.new is not None
    ended = _entered(control, Phase.STABLE, ReshardStep.REST, now_ms)
    return replace(
        ended, old=control.new, new=None, former=control.old, exposed_ms=None, absorbed_until=control.started
    )


def _to_stable(control: ReshardState, now_ms: int, waits: Waits) -> ReshardState | None:
    if now_ms < _abort_due(control, waits):
        return None
    return replace(_entered(control, Phase.STABLE, ReshardStep.CLEAN, now_ms), exposed_ms=None, flipped_ms=None)


def _from_stable(control: ReshardState, findings: StepResult, now_ms: int, waits: Waits) -> ReshardState | None:
    if control.step is not ReshardStep.CLEAN:
        return _looked_at_again(control, findings, now_ms, waits)
    if not findings.done:
        return None
    known_everywhere = control.entered_ms + waits.skew_ms
    if control.stepped_ms < known_everywhere:
        # A process that is still in DUAL_OLD also writes to N, so N is emptied again when there can't be any.
        return _stepped(control, ReshardStep.CLEAN, now_ms) if now_ms >= known_everywhere else None
    if findings.left:
        return _stepped(control, ReshardStep.CLEAN, now_ms)
    return replace(control, step=ReshardStep.REST, new=None, aborting=False, stepped_ms=now_ms)


def _looked_at_again(control: ReshardState, findings: StepResult, now_ms: int, waits: Waits) -> ReshardState | None:
    """The verifications after a re-shard, of N alone, since O is gone."""
    if control.step is ReshardStep.VERIFY:
        if not findings.done:
            return None
        wrong = findings.repairable + findings.strays
        control = replace(control, step=ReshardStep.REST, stepped_ms=now_ms, rechecked=control.rechecked + 1)
        what = "records are not where they belong, or have other keys than they should"
        return _stopped(control, what, wrong, findings) if wrong else control
    if control.attention or control.flipped_ms is None or control.rechecked >= len(waits.recheck_ms):
        return None
    due = control.flipped_ms + waits.recheck_ms[control.rechecked]
    return _stepped(control, ReshardStep.VERIFY, now_ms) if now_ms >= due else None


def _abort_due(control: ReshardState, waits: Waits) -> int:
    due = control.entered_ms + waits.skew_ms
    return due if control.exposed_ms is None else max(due, control.exposed_ms + waits.soak_ms)


def _entered(control: ReshardState, phase: Phase, step: ReshardStep, now_ms: int) -> ReshardState:
    return replace(control, phase=phase, step=step, round=0, entered_ms=now_ms, stepped_ms=now_ms)


def _stepped(control: ReshardState, step: ReshardStep, now_ms: int) -> ReshardState:
    """The state with another step of the same phase, or the same step again, in a new round."""
    return replace(control, step=step, stepped_ms=now_ms, round=control.round + 1)


def _stopped(control: ReshardState, what: str, count: int, findings: StepResult) -> ReshardState:
    return replace(control, attention=f"{what}: {count}", concerned=findings.keys)
