"""Bringing a table in: the records of an entity, which another program or an earlier declaration stored in an old form,
get their own keys while they are used.

    start     the state is FOLLOW: programs write the old items, and each `run` brings the records after them
    switch    DUAL: Database reads and writes the records; each write is repeated on the old item in one transaction
    back      FOLLOW again: nothing is lost, since the old items are as the records are
    finish    FINISH: Database still writes both, and the old items only follow; when every process knows it, `run` goes
              on to PURGE: Database writes the records alone; when every process knows that, `run` deletes the old items
    abort     UNDO: `run` deletes the records; the old items stay as they are

Guarantees: each record has its old item's content, or follows it in the next run; in DUAL both are written together,
and a write is refused, and repeated after it, if another program has changed the old item, so that neither change is
lost; `switch` is refused unless a whole run of the state brought in every item; `finish` unless a run that began
when every process knew the state found no difference. From `finish` on there is no way back. A run may be stopped, or
die, anywhere: the next one continues. Every pass may be repeated.

With the old items in another table there is no DUAL, since one transaction could not be sure to write both: programs
that write them have to stop before `finish`, which leaves them as they are.

State that is kept (see `progress`), when a run begins, every few seconds, and when it ends or stops: the pass, its
lanes and counts, when that was, and the results of the last whole run. A run that has not told of itself for a minute
has ended with its process; it can be taken over at any time.

Costs: those of the passes (see `rekey_passes`): a run reads each old item and each record four times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ConfigurationError, Conflict
from ..reshard.coordinator import Coordinator, Seen
from ..reshard.phases import Waits
from ..reshard.rekey_states import DUAL, FINISH, FOLLOW, PURGE, UNDO, begun, check_old_table, passed_on, settled_in_ms
from ..reshard.retrying_reads import Asking
from ..schema.entity_type import EntityType
from ..schema.old_forms import OldForm
from ..store.parts import StoreParts
from ..table import Table
from ..table.concurrency import MAX_WORKERS
from ..table.operations import DeleteItem
from .old_bookkeeping import old_bookkeeping
from .progress import Progress
from .rekey_passes import COUNTED, NotBrought, PassCounts, Passes
from .run_fence import FencedSender, fenced, run_ended
from .walk import PAGE, Lanes, Pace, Walk, entity_lanes, saved_places, table_lanes

SAVED_SECONDS = 5.0
SILENT_MS = 60_000
"""A run that works tells how far it is more often."""
COMPLETE, STOPPED, UNDER_WAY = "complete", "stopped", "under way"
RUNS: Mapping[str, tuple[str, ...]] = {
    FOLLOW: ("bring", "sweep", "verify", "verify_records"),
    DUAL: ("bring", "sweep", "verify", "verify_records"),
    FINISH: (),
    PURGE: ("count", "purge", "uncount"),
    UNDO: ("undo",),
    "": ("look",),
}
"""The passes of a run in each state."""
OF_PARENTS = ("count", "uncount")
"""Passes for declarations whose records are counted by their parents."""
OF_RECORDS = ("sweep", "verify_records", "count", "undo")


@dataclass(frozen=True)
class RekeyReport:
    """The state, and the results of the current or last run by pass. `waiting_ms` is the time that has to pass first;
    `done`: the run is complete. `run` is how it stands with the run of this state: complete, stopped (also if its
    process was killed) or under way, empty if none has begun; `saved_ms` is when it last told of itself."""

    entity: str
    state: str
    passes: Mapping[str, PassCounts] = field(default_factory=dict)
    waiting_ms: int = 0
    done: bool = False
    began_ms: int = 0
    run: str = ""
    saved_ms: int = 0

    @property
    def refused(self) -> int:
        """The items and records that can't be brought in or compared; each pass over the old items names the same."""
        of_items = [counts.refused for name, counts in self.passes.items() if name not in OF_RECORDS]
        of_records = [counts.refused for name, counts in self.passes.items() if name in OF_RECORDS]
        return max(of_items, default=0) + max(of_records, default=0)

    @property
    def differing(self) -> int:
        """The records that were not as their old items at the end of the run."""
        return sum(self.passes[name].differing for name in ("verify", "verify_records", "look") if name in self.passes)

    @property
    def changed(self) -> int:
        """What has to be looked at again, since it was changed in that moment."""
        return sum(each.changed for each in self.passes.values())

    def document(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "entity": self.entity,
            "state": self.state,
            "done": self.done,
            "waitingMs": self.waiting_ms,
            "run": self.run,
            "savedMs": self.saved_ms,
            "passes": {
                name: {each: getattr(counts, each) for each in COUNTED if each != "same"}
                | {"named": [{"key": list(each.key), "reason": each.reason} for each in counts.examples]}
                for name, counts in self.passes.items()
            },
        }


@dataclass(frozen=True)
class OldTable:
    """The table of the old items, where it is another one. Each command of a rekey has to be given the same `name`."""

    name: str
    table: Table


class Rekey:
    """Bringing in one entity's records. `parts` are those of a store with `LeasedMaps(bringing=True)`; `old_table` is
    that of the old items, if it is another one; `rate` is how many items are read in a second, `workers` how many
    threads do it. A round takes no longer than the time after which it is saved, however low the rate is."""

    def __init__(
        self,
        parts: StoreParts,
        coordinator: Coordinator,
        form: OldForm,
        clock: Callable[[], int],
        waits: Waits,
        *,
        old_table: OldTable | None = None,
        rate: float = 0,
        page: int = PAGE,
        workers: int = MAX_WORKERS,
    ) -> None:
        self._entity: EntityType[Any] = form.entity
        self._fence = FencedSender(parts, self._entity)
        self._parts = parts = fenced(parts, self._fence)
        self._coordinator, self._form = coordinator, form
        self._clock, self._waits, self._rate = clock, waits, rate
        self._pages: dict[str, Any] = {"page": page, "workers": workers, "rate": rate}
        self._here = old_table is None
        self._from, theirs = ("", None) if old_table is None else (old_table.name, old_table.table)
        self._asking = Asking(parts.table, parts.waiting)
        self._old_asking = Asking(theirs or parts.table, parts.waiting)
        self._passes = Passes(parts, self._entity, form, theirs, workers)
        self._progress = Progress(parts, f"rekey#{self._entity.token}")
        names = (theirs or parts.table).layout.key_names
        if form.key_names != names:
            raise ConfigurationError(
                f"the mapping's keys are {' and '.join(form.key_names)}, those of the table {' and '.join(names)}",
                where="mapping: hashKey",
                fix="give both, as the table has them; for a table of its own, give the schema these names too",
            )

    # -- commands

    def status(self) -> RekeyReport:
        """The state, and the results of the current or last run."""
        seen = self._coordinator.read(self._entity)
        state = "" if seen is None else seen.control.rekey
        saved = self._saved()
        report = self._decoded(saved, state)
        run = self._run_state(saved, report) if state and saved.get("of") == self._run_name(seen) else ""
        return replace(report, waiting_ms=self._waiting(seen), run=run)

    def look(self) -> PassCounts:
        """What bringing the old items in would change, without writing anything."""
        walk = Walk(self._old_asking, self._entity, table_lanes(), self._passes.look, **self._pages)
        counts, pace = PassCounts(), Pace(self._rate, self._parts.waiting)
        for results in walk.rounds():
            for each in results:
                counts += each
            pace.did(walk.read)
        return counts

    def start(self) -> None:
        """Begin. Raises Conflict if records are there or being moved, or another rekey has ended just now,
        ConfigurationError for an entity that can't be brought in."""
        self._check_possible()
        seen = self._coordinator.read(self._entity)
        current = self._parts.moment_of(self._entity).shard_map
        control = None if seen is None else seen.control
        following = begun(control, current, self._form, self._from, self._waits, self._clock())
        if self._has_records():
            raise Conflict(
                "there are records of it with their own keys already",
                where=self._entity.token,
                fix="remove them, or give the entity another token",
            )
        self._replace(seen, following)

    def switch(self) -> None:
        """Let Database read and write. Raises Conflict unless a run could bring in everything."""
        self._seen()
        if not self._here:
            raise Conflict(
                "the old items are in another table, which no transaction includes",
                where="rekey",
                fix="stop who writes them, `run` until nothing differs, then `finish`",
            )
        report = self._whole_run("switch")
        if report.refused:
            named = "an item" if report.refused == 1 else f"{report.refused} items"
            raise Conflict(f"{named} can't be brought in", where="rekey", fix="see `rekey status`")
        if report.passes["bring"].changed:
            left = report.passes["bring"].changed
            raise Conflict(
                f"{left} items kept being changed while they were brought in", where="rekey", fix="`run` again"
            )
        self._pass_on(DUAL)

    def back(self) -> None:
        """Leave the records to programs that write the old items."""
        self._pass_on(FOLLOW)

    def finish(self) -> None:
        """Write the records alone from now on. Raises Conflict unless a run that began when every process knew the
        state found no difference."""
        seen = self._seen()
        if self._here and seen is not None and seen.control.rekey == FOLLOW:
            raise Conflict("Database does not write the records yet", where="rekey", fix="`switch` first")
        report = self._whole_run("finish")
        assert seen is not None
        if report.began_ms < seen.control.rekey_ms + (self._waits.skew_ms if self._here else 0):
            wait = settled_in_ms(seen.control, self._waits, self._clock())
            raise Conflict(
                "the last run began before every process knew the state",
                where="rekey",
                fix=f"run it again in {-(-wait // 1000)} s" if wait else "run it again",
            )
        if report.refused or report.differing:
            raise Conflict(
                f"{report.differing} records differ and {report.refused} can't be compared",
                where="rekey",
                fix="run it again; if it stays so, another program still writes the old items: stop it",
            )
        self._pass_on(FINISH if self._here else "")

    def abort(self) -> None:
        """Take the records back."""
        self._pass_on(UNDO)

    # -- running

    def run(
        self,
        follow: Callable[[RekeyReport], object] = lambda report: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> RekeyReport:
        """The passes of the state, from where an earlier run came to, to the end, or until `stop` says so. An earlier
        run that is still under way can't write any more. Raises Conflict (RunEnded) when another run has begun since,
        or another process has changed the state."""
        seen = self._seen()
        state = "" if seen is None else seen.control.rekey
        waiting = self._waiting(seen)
        if waiting and state in (FINISH, PURGE, UNDO):
            return RekeyReport(self._entity.token, state, waiting_ms=waiting)
        if state == FINISH:
            self._pass_on(PURGE)
            return self.run(follow, stop)
        if seen is not None and state:
            seen = self._took_over(seen)
        try:
            report = self._ran(seen, state, follow, stop)
            return replace(report, run=COMPLETE if report.done else STOPPED, saved_ms=self._clock())
        finally:
            self._fence.token = ""

    def _took_over(self, seen: Seen) -> Seen:
        """Begin a run: from now on nothing is written by the one before."""
        control = replace(seen.control, rekey_run=self._parts.context.new_revision())
        self._replace(seen, control)
        self._fence.token = control.rekey_run
        return replace(seen, control=control)

    def _ran(self, seen: Seen | None, state: str, follow: Any, stop: Any) -> RekeyReport:
        saved = self._saved()
        report = self._decoded(saved, state)
        if saved.get("of") != self._run_name(seen) or report.done:
            saved, report = {}, RekeyReport(self._entity.token, state, began_ms=self._clock())
        self._save(seen, report, {name: saved[name] for name in ("pass", "lanes") if name in saved})
        for name in RUNS[state]:
            if (name in report.passes and saved.get("pass") != name) or (name in OF_PARENTS and not self._form.counts):
                continue
            report, ended = self._pass(name, seen, saved, report, follow, stop)
            if not ended:
                return report
            saved = {}
            if name in ("count", "purge") and (report.refused or report.changed):
                break  # Old items have to stay that alone are counted; and parents count those that are left.
        report = replace(report, done=True)
        self._save(seen, report)
        if state in (PURGE, UNDO) and not (report.refused or report.changed):
            if state == PURGE and self._form.old is not None:
                self._forget(self._form.old)
            self._pass_on("")
            report = replace(report, state="")
        return report

    def _pass(
        self, name: str, seen: Seen | None, saved: Mapping[str, Any], report: RekeyReport, follow: Any, stop: Any
    ) -> tuple[RekeyReport, bool]:
        """One pass on. False if it was stopped."""
        lanes: Lanes = table_lanes()
        if name in OF_RECORDS:
            lanes = entity_lanes(self._entity, self._parts.moment_of(self._entity))
        goes_on = saved.get("pass") == name
        places = saved_places(saved.get("lanes"), lanes) if goes_on else None
        counts = report.passes[name] if places is not None and name in report.passes else PassCounts()
        asking = self._asking if name in OF_RECORDS else self._old_asking
        walk = Walk(asking, self._entity, lanes, getattr(self._passes, name), places=places, **self._pages)
        pace, waiting = Pace(self._rate, self._parts.waiting), self._parts.waiting
        kept_at: float | None = None
        for results in walk.rounds():
            for each in results:
                counts += each
            report = replace(report, passes={**report.passes, name: counts})
            stopping = stop() and not walk.done
            # Also a run that only reads ends soon after another one has begun.
            self._check_state(seen)
            if stopping or kept_at is None or waiting.monotonic() - kept_at >= SAVED_SECONDS:
                reached = {"pass": name, "lanes": [place.encode() for place in walk.places]}
                self._save(seen, report, {**reached, "stopped": True} if stopping else reached)
                kept_at = waiting.monotonic()
            follow(report)
            if stopping:
                return report, False
            pace.did(walk.read)
        report = replace(report, passes={**report.passes, name: counts})
        self._check_state(seen)
        self._save(seen, report)
        return report, True

    # -- parts

    def _run_state(self, saved: Mapping[str, Any], report: RekeyReport) -> str:
        if report.done:
            return COMPLETE
        is_silent = self._clock() - report.saved_ms > SILENT_MS
        return STOPPED if saved.get("stopped") or is_silent else UNDER_WAY

    def _forget(self, old: EntityType[Any]) -> None:
        """Delete what the library keeps beside old items."""
        for key in old_bookkeeping(self._parts.table, old):
            self._parts.sender.send([DeleteItem(key)])

    def _check_possible(self) -> None:
        entity = self._entity
        written = {model for each in self._parts.schema.read_models.values() for model in each.writes}
        reasons = (
            (
                "it has numbered properties",
                bool(entity.sequences) and not (self._form.old and self._form.old.sequences),
            ),
            ("it is written from events", entity.model in written),
            ("its stored form has versions", bool(entity.upgrades.functions)),
        )
        for reason, holds in reasons:
            if holds:
                fix = "import its records (`shardweave import`), or add that afterwards"
                raise ConfigurationError(f"{reason}, so it can't be brought in", where=entity.token, fix=fix)
        old = None if self._form.old is None else self._coordinator.read(self._form.old)
        if old is not None and (old.control.moving or old.control.absorbed_until is not None):
            fix = "declare the old entity with the shard space that it has now, under a schema of its own"
            raise ConfigurationError("the old entity was re-sharded", where=entity.token, fix=fix)

    def _has_records(self) -> bool:
        lanes = entity_lanes(self._entity, self._parts.moment_of(self._entity))
        walk = Walk(self._asking, self._entity, lanes, self._passes.records, **self._pages)
        pace = Pace(self._rate, self._parts.waiting)
        for results in walk.rounds():
            if any(results):
                return True
            pace.did(walk.read)
        return False

    def _seen(self) -> Seen | None:
        """What the entity's control record says. Raises Conflict if the old items are in another table than given."""
        seen = self._coordinator.read(self._entity)
        if seen is not None:
            check_old_table(seen.control, self._from)
        return seen

    def _whole_run(self, command: str) -> RekeyReport:
        seen = self._seen()
        saved = self._saved()
        if seen is None or not seen.control.rekey:
            raise Conflict("nothing is being brought in", where=self._entity.token, fix="`rekey start`")
        report = self._decoded(saved, seen.control.rekey)
        if saved.get("of") != self._run_name(seen) or not report.done:
            raise Conflict(
                f"no run is complete in this state, so there is no {command}", where="rekey", fix="`run` first"
            )
        return report

    def _pass_on(self, state: str) -> None:
        seen = self._seen()
        if seen is None:
            raise Conflict("nothing is being brought in", where=self._entity.token, fix="`rekey start`")
        self._replace(seen, passed_on(seen.control, state, self._clock()))
        self._fence.token = ""
        if not state:
            self._progress.read()
            self._progress.clear()

    def _replace(self, seen: Seen | None, following: Any) -> None:
        if not self._coordinator.replace(self._entity, seen, following, leave_step=False):
            raise Conflict("another command was faster", where=self._entity.token, fix="see `rekey status`")

    def _check_state(self, seen: Seen | None) -> None:
        now = self._coordinator.read(self._entity)
        token = "" if now is None else now.control.rekey_run
        if self._run_name(now) != self._run_name(seen) or token != self._fence.token:
            raise run_ended(self._entity)

    def _waiting(self, seen: Seen | None) -> int:
        if seen is None or not seen.control.rekey:
            return 0
        return settled_in_ms(seen.control, self._waits, self._clock())

    @staticmethod
    def _run_name(seen: Seen | None) -> str:
        return "" if seen is None else f"{seen.control.rekey} {seen.control.rekey_ms} {seen.control.rekey_form}"

    def _save(self, seen: Seen | None, report: RekeyReport, more: Mapping[str, Any] | None = None) -> None:
        if not report.state:
            return
        passes = {name: {each: getattr(counts, each) for each in COUNTED} for name, counts in report.passes.items()}
        examples = {
            name: [[*each.key, each.reason] for each in counts.examples] for name, counts in report.passes.items()
        }
        state = {"of": self._run_name(seen), "passes": passes, "examples": examples, "done": report.done}
        self._progress.save({**state, "began": report.began_ms, "at": self._clock(), **(more or {})})

    def _saved(self) -> Mapping[str, Any]:
        return self._progress.sound(lambda saved: self._decoded(saved, ""))

    def _decoded(self, saved: Mapping[str, Any], state: str) -> RekeyReport:
        examples = saved.get("examples", {})
        passes = {
            name: PassCounts(
                **{each: int(counts[each]) for each in COUNTED},
                examples=tuple(NotBrought((one[0], one[1]), one[2]) for one in examples.get(name, ())),
            )
            for name, counts in saved.get("passes", {}).items()
        }
        began, done, at = int(saved.get("began", 0)), bool(saved.get("done")), int(saved.get("at", 0))
        return RekeyReport(self._entity.token, state, passes, done=done, began_ms=began, saved_ms=at)
