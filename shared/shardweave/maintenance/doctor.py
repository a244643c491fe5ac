"""The doctor: checks a whole table and reports faults, and with `repair` makes safe repairs.

    layout     the table and its indexes are as the schema says
    records    every item of the table, judged with what it needs beside it (`record_judge`, `beside_judge`)
    indexes    each index against the table (`index_examination`)
    counters   children counted again (`recount`)
    sums       the numbers of read models of records summed again (`sum_recount`)

Guarantees: what is reported was wrong at one moment, read in one transaction; what only seems wrong since others write
meanwhile is not reported, in any phase of a re-shard. Without `repair` nothing is written but its own progress. It may
be stopped anywhere, at a page's end or by force, and goes on from what was saved last, so that the report is the
same in the end. Findings name keys and properties, no other values.

State that is kept (see `progress`), every few seconds and at the end of a run:
    of, began   the declaration, with another of which it begins anew; and when it began
    part        which of the above it is at; `lanes`, how far in the records
    found       see `findings`; `late`, what has to stay so (see `late_findings`); `behind`, see `sequences_behind`
    postponed   what is put right when all else is
    sums        of each index, and of the counters (see `sums`)
    place, tries    the step that it is at (see `doctor_steps`), and how often that was stopped
    read, units, seconds    how many items were read, and what that took

The last report is kept as well, for operators to ask for.

Costs: a consistent read of every item; for a record with lookups one of each, with enforced relations one of each
parent, of a page together; the indexes once. Where an index or a counter seems wrong, more passes, see there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ConfigurationError, Fault, ReshardUnreadable
from ..reshard.declaration_guard import schema_of
from ..reshard.leased_maps import NO_FORMS
from ..reshard.retrying_reads import Asking
from ..schema.manifest import encode_manifest, manifest_of
from ..schema.old_forms import OldForm
from ..store.parts import StoreParts
from ..table.metered import MeteredTable, metered
from ..table.operations import Describe
from ..table.values import Item
from .count_judge import LATE
from .doctor_report import PARTS, DoctorReport
from .doctor_steps import CounterSteps, IndexSteps, Place, Step, Steps, SumSteps
from .examination import Confirmed, Examiner
from .fault_kinds import KINDS, Severity
from .findings import Finding, Findings
from .index_examination import IndexExaminer
from .late_findings import LateFindings
from .looking import Spaces
from .progress import Progress, declared
from .recount import Recount
from .repairs import Repairs
from .sequences_behind import BEHIND, SequencesBehind
from .sum_recount import SumRecount
from .sums import MAX_HELD, Sums
from .table_layout import layout_faults
from .walk import PAGE, Pace, Walk, saved_places, table_lanes

SAVED_SECONDS = 5.0
LAST = frozenset({"lookup_dangling"})
"""The kinds that are put right when all else is: what a lookup leads to may have to be put right first."""
MAX_POSTPONED = 10_000
"""Repairs beyond are left to the next examination."""
MAX_POSTPONED_SAVED = 200
"""Of more, those of the last kinds are made before progress is saved; further ones are left if the run is killed."""
_COUNTERS = "*"
_KEYS = ("undecided", "unsummed", "damaged")
UNSAVED_SECONDS = 60.0
"""After this time what is late is waited for, if it is too much to be saved."""
GRACE_SECONDS = 10.0
"""A step, such as one slice of counters, may take so long after `stop`."""
MAX_TRIES = 3
"""A step that was stopped so often is left out."""


class _Stopped(Exception):
    """What was begun has to be begun again by the next run."""


@dataclass(frozen=True)
class _Postponed:
    """A finding to put right when all else is, with all `noted` of the item."""

    finding: Finding
    item: Item
    noted: frozenset[Finding]

    def encode(self, names: Sequence[str]) -> list[Any]:
        """`names` are those of the item's key."""
        noted = [each.encode() for each in sorted(self.noted - {self.finding})]
        return [self.finding.encode(), [self.item[name] for name in names], noted]

    @classmethod
    def decode(cls, saved: Any, names: Sequence[str]) -> _Postponed:
        """The inverse, with the item's key alone."""
        found, key, noted = saved
        finding = Finding.decode(found)
        item = dict(zip(names, map(str, key), strict=True))
        return cls(finding, item, frozenset(map(Finding.decode, noted)) | {finding})


class Doctor:
    """One examination of one table. `rate` is how many read units it spends in a second; 0 is no limit. `say` is told
    of each repair. Items of the old `forms`, which are being brought in, are only compared with the indexes."""

    def __init__(
        self,
        parts: StoreParts,
        clock: Callable[[], int],
        *,
        repair: bool = False,
        skip: Sequence[str] = (),
        rate: float = 0,
        page: int = PAGE,
        hidden: Sequence[str] = (),
        say: Callable[[str], object] = lambda line: None,
        forms: Mapping[str, OldForm] = NO_FORMS,
        held: int = MAX_HELD,
    ) -> None:
        check_kinds(skip)
        self._forms = tuple(forms.values())
        self._parts = parts
        self._clock = clock
        self._repairs = Repairs(parts) if repair else None
        self._skip = frozenset(skip)
        self._rate = rate
        self._page = page
        self._say = say
        self._table = MeteredTable(parts.table)
        self._asking = Asking(self._table, parts.waiting)
        self._examiner = Examiner(parts.schema, self._asking, clock)
        self._names = names = parts.schema.hash_key, parts.schema.range_key
        self._indexes = IndexExaminer(self._asking, parts.waiting, names)
        self._layouts = [each for each in parts.schema.layout.indexes if each.name not in hidden]
        self._recount = Recount(parts.schema, self._asking, held=held)
        self._sum_recount = SumRecount(parts, self._asking, held=held)
        self._late = LateFindings(self._examiner.confirm, parts.waiting, names)
        self._progress = Progress(parts, "doctor")
        entities = parts.schema.entities.values()
        self._of = declared(encode_manifest(manifest_of(parts.schema)), *(schema_of(each) for each in entities))
        self._began = 0
        self._behind = SequencesBehind()
        self._sums: dict[str, Sums] = {}
        self._postponed: list[_Postponed] = []
        of_events = tuple(each.name for each in parts.schema.read_model_list if not each.records)
        self.report = DoctorReport(repairing=repair, skipped=tuple(sorted(skip)), not_recounted=of_events)

    def run(
        self,
        follow: Callable[[DoctorReport], object] = lambda report: None,
        stop: Callable[[], bool] | None = None,
    ) -> DoctorReport:
        """Go on from where an earlier run came to, to the end, or until `stop` says so; `follow` is told of each round.
        Without `stop` nothing is left out for want of time. Raises Conflict when another process does the same."""
        saved = self._begin()
        while not self.report.done:
            part = self.report.part
            begun, counted = self._parts.waiting.monotonic(), (self.report.seconds, self.report.units)
            with metered() as meter:

                def spent(meter: Any = meter, begun: float = begun, counted: tuple[float, float] = counted) -> None:
                    seconds = counted[0] + self._parts.waiting.monotonic() - begun
                    self.report = replace(self.report, seconds=seconds, units=counted[1] + meter.read_units)

                ended = self._done(part, saved if saved.get("part") == part else {}, follow, stop, spent)
                spent()
            if not ended:
                return self.report
            following = PARTS.index(part) + 1
            self.report = replace(self.report, part=PARTS[following] if following < len(PARTS) else "")
            if not self.report.done:
                self._save({})
                if stop is not None and stop():
                    return self.report
        self._progress.clear()
        self._keep_report()
        return self.report

    # -- parts

    def _done(self, part: str, saved: Mapping[str, Any], follow: Any, stop: Any, spent: Any) -> bool:
        """Do a part; False where it was stopped."""
        if part == "layout":
            self._layout()
            return True
        if part == "records":
            return self._records(saved, follow, stop, spent)
        steps = self._steps(part)
        return steps is None or self._in_steps(steps, saved, follow, stop, spent)

    def _layout(self) -> None:
        if "layout_differs" in self._skip:
            return
        found = self._parts.table.run(Describe())
        self.report = replace(
            self.report, layout=tuple(layout_faults(self._parts.schema.layout, found)), items=found.items
        )

    def _records(self, saved: Mapping[str, Any], follow: Any, stop: Any, spent: Any) -> bool:
        schema, lanes = self._parts.schema, table_lanes()
        entity = next(iter(schema.entities.values()))
        begin = saved_places(saved.get("lanes"), lanes)
        walk = Walk(self._asking, entity, lanes, self._examined, places=begin, page=self._page, rate=self._rate)
        self._late.restore(saved.get("late", ()))
        self._postponed = [_Postponed.decode(each, self._names) for each in saved.get("postponed", ())]
        pace, before = Pace(self._rate, self._parts.waiting), self.report.units
        kept_at = self._parts.waiting.monotonic()
        for results in walk.rounds():
            spaces = self._spaces()
            for items, confirmed in results:
                self._indexes.add(self._sums, self._layouts, items)
                if spaces is not None:
                    self._recount.add(self._sums[_COUNTERS], spaces, items)
                for each in confirmed:
                    self._take(each)
                self._settle()
                self.report = replace(self.report, read=self.report.read + len(items))
            spent()
            follow(self.report)
            stopping = stop is not None and stop() and not walk.done
            age = self._parts.waiting.monotonic() - kept_at
            if stopping or age >= (SAVED_SECONDS if self._late.is_small else UNSAVED_SECONDS):
                self._settle(all_of_them=not self._late.is_small)
                if len(self._postponed) > MAX_POSTPONED_SAVED:
                    self._repair_postponed(LAST)
                postponed = [each.encode(self._names) for each in self._postponed[:MAX_POSTPONED_SAVED]]
                places = [place.encode() for place in walk.places]
                more = {"late": self._late.encode(), "behind": self._behind.encode(), "postponed": postponed}
                self._save({"lanes": places, **more})
                kept_at = self._parts.waiting.monotonic()
            if stopping:
                return False
            pace.did(self.report.units - before)
            before = self.report.units
        self._settle(all_of_them=True)
        if self._repairs is not None:
            self._repair_postponed()
            self._settle(all_of_them=True)
        return True

    def _examined(self, items: Sequence[Item]) -> tuple[Sequence[Item], list[Confirmed]]:
        own = [item for item in items if not any(form.is_own(item) for form in self._forms)] if self._forms else items
        return items, self._examiner.page(own, self._behind)

    def _take(self, confirmed: Confirmed, *, stays: bool = False, noted: frozenset[Finding] = frozenset()) -> None:
        """Note what is wrong with an item, without what was `noted`, and put it right where that is asked for. `stays`:
        it was wrong before. An item that a repair has changed is examined again: what is late of it has to stay so from
        then on, and another fault may only be seen now."""
        found = [each for each in confirmed.findings if each.kind not in self._skip and each not in noted]
        late = [each for each in found if each.kind in LATE and not stays]
        now = [each for each in found if each not in late]
        noted = noted.union(now)
        place: Item | None = None
        for finding in now:
            if finding.kind == BEHIND and self._told_before(finding, confirmed.item):
                continue
            self.report.findings.add(finding)
            if self._repairs is None or finding.severity is not Severity.REPAIRABLE:
                continue
            if finding.kind not in LAST and self._repaired(self._repairs, finding, confirmed.item):
                place = None if stays else self._repairs.place_after(finding, confirmed.item)
            elif len(self._postponed) < MAX_POSTPONED:
                self._postponed.append(_Postponed(finding, confirmed.item, noted))
        if place is None:
            for finding in late:
                self._late.add(finding, confirmed.item)
        elif (again := self._examiner.confirm(place)) is not None:
            self._take(again, noted=noted)

    def _told_before(self, finding: Finding, item: Item) -> bool:
        """Whether another record has told of a sequence that is behind, which goes on above this one's number too."""
        before, covered = self._behind.knows(finding), self._behind.covers(finding, item)
        self._behind.note(finding, item)
        if before and not covered and self._repairs is not None and not self._repairs.repair(finding, item):
            self.report.findings.note_wrong_again(finding)
            if len(self._postponed) < MAX_POSTPONED:
                self._postponed.append(_Postponed(finding, item, frozenset({finding})))
        return before

    def _settle(self, *, all_of_them: bool = False) -> None:
        """Note what was late and has stayed wrong."""
        for each in self._late.settled(all_of_them=all_of_them):
            self._take(each, stays=True)

    def _repaired(self, repairs: Repairs, finding: Finding, item: Item) -> bool:
        """Whether a finding was put right by this."""
        if not repairs.repair(finding, item):
            return False
        self._note_repaired(finding)
        return True

    def _repair_postponed(self, kinds: Collection[str] = KINDS) -> None:
        """What of some kinds could not be put right at once is looked at again: others may have made way for it, or
        done it. What is wrong with the item after that, and was not noted, is taken as well."""
        assert self._repairs is not None
        postponed = [each for each in self._postponed if each.finding.kind in kinds]
        self._postponed = [each for each in self._postponed if each.finding.kind not in kinds]
        left = frozenset(each.finding for each in postponed)
        for each in postponed:
            now = self._examiner.confirm(each.item)
            if now is None or each.finding not in now.findings:
                self._note_repaired(each.finding)
            elif self._repaired(self._repairs, each.finding, now.item):
                now = self._examiner.confirm(self._repairs.place_after(each.finding, now.item))
            if now is not None:
                self._take(now, noted=each.noted | left.intersection(now.findings))

    def _note_repaired(self, finding: Finding) -> None:
        self.report.findings.note_repaired(finding)
        self._say(f"repaired {finding}")

    def _in_steps(self, steps: Steps, saved: Mapping[str, Any], follow: Any, stop: Any, spent: Any) -> bool:
        """Take the steps of a part, from the place that was saved. A step that is stopped is begun again by the next
        run; one that has been stopped `MAX_TRIES` times is left out, but by a run without a limit."""
        place: Place | None = saved["place"] if "place" in saved else steps.first(self._unfinished_before())
        tries, kept_at = int(saved.get("tries", 0)), self._parts.waiting.monotonic()
        while place is not None:
            if tries >= MAX_TRIES and stop is not None:
                self.report = replace(self.report, unfinished=(*self.report.unfinished, steps.name(place)))
                place, tries = steps.without(place), 0
                continue
            try:
                step = steps.take(place, self._paced(follow, stop, spent))
            except _Stopped:
                self._save({"place": place, "tries": tries + 1})
                return False
            place, tries = step.following, 0
            self._take_step(step)
            stopping = place is not None and stop is not None and stop()
            if place is not None and (stopping or self._parts.waiting.monotonic() - kept_at >= SAVED_SECONDS):
                self._save({"place": place})
                kept_at = self._parts.waiting.monotonic()
            if stopping:
                return False
        return True

    def _take_step(self, step: Step) -> None:
        for finding, repair in step.found:
            if finding.kind in self._skip:
                continue
            self.report.findings.add(finding)
            if self._repairs is not None and repair is not None and repair(self._repairs):
                self._note_repaired(finding)
        self.report = self.report.with_keys(**step.keys)

    def _steps(self, part: str) -> Steps | None:
        """The steps of a part that is made of some; None where there is nothing to do."""
        if part == "indexes":
            unsound = {fault.where for fault in self.report.layout}
            layouts = [each for each in self._layouts if f"index {each.name}" not in unsound]
            return IndexSteps(self._indexes, layouts, self._sums, lambda: self.report.read)
        if part == "counters":
            if "counter_wrong" in self._skip or self._spaces() is None:
                return None
            return CounterSteps(self._recount, lambda: self._sums[_COUNTERS])
        return SumSteps(self._sum_recount) if {"sum_wrong", "sum_lost"} - self._skip else None

    def _unfinished_before(self) -> Sequence[str]:
        """What the last examination that came to its end has left out."""
        kept = last_report(self._parts)
        return [] if kept is None else [str(each) for each in kept.get("unfinished", ())]

    def _paced(self, follow: Any, stop: Any, spent: Any) -> Callable[[], None]:
        """What is called after each round of reads: it tells of the progress, and waits where the rate is exceeded.
        Raises _Stopped."""
        pace, before = Pace(self._rate, self._parts.waiting), [self.report.units]
        begun = self._parts.waiting.monotonic()

        def tick() -> None:
            spent()
            follow(self.report)
            if stop is not None and self._parts.waiting.monotonic() - begun > GRACE_SECONDS and stop():
                raise _Stopped
            pace.did(self.report.units - before[0])
            before[0] = self.report.units

        return tick

    def _spaces(self) -> Mapping[str, Spaces] | None:
        """Where records are; None where a control record can't be read, which is found by itself."""
        if not self._recount.is_needed:
            return {}
        try:
            return self._recount.spaces()
        except ReshardUnreadable:
            return None

    # -- what is kept

    def _begin(self) -> Mapping[str, Any]:
        """Take up what an earlier run has saved, if it was asked for the same."""
        saved = self._progress.sound(self._decoded)
        asked = {"of": self._of, "skip": sorted(self._skip), "repair": self._repairs is not None}
        if any(saved.get(name) != each for name, each in asked.items()):
            saved = {}
        self._sums, self.report = self._decoded(saved)
        self._began = int(saved.get("began", self._clock()))
        if saved:
            began = dt.datetime.fromtimestamp(self._began / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            self._say(f"goes on with the examination that began at {began}")
        self._behind = SequencesBehind.decode(saved.get("behind", ()))
        return saved

    def _decoded(self, saved: Mapping[str, Any]) -> tuple[dict[str, Sums], DoctorReport]:
        names = [*(layout.name for layout in self._layouts), _COUNTERS]
        encoded = saved.get("sums", {})
        sums = {name: Sums(encoded.get(name, b"")) for name in names}
        if not saved:
            return sums, self.report
        self._late.check(saved.get("late", ()))
        SequencesBehind.decode(saved.get("behind", ()))
        for each in saved.get("postponed", ()):
            _Postponed.decode(each, self._names)
        int(saved.get("tries", 0))
        dt.datetime.fromtimestamp(int(saved.get("began", 0)) / 1000, dt.UTC)
        part = PARTS[PARTS.index(saved["part"])]
        if "place" in saved and (steps := self._steps(part)) is not None:
            steps.check(saved["place"])
        return sums, replace(
            self.report,
            part=part,
            findings=Findings.decode(saved["found"]),
            layout=tuple(Fault(*each) for each in saved["layout"]),
            read=int(saved["read"]),
            items=int(saved["items"]),
            units=float(saved["units"]),
            seconds=float(saved["seconds"]),
            unfinished=tuple(map(str, saved.get("unfinished", ()))),
        ).with_keys(**{name: [(str(key[0]), str(key[1])) for key in saved.get(name, ())] for name in _KEYS})

    def _save(self, more: Mapping[str, Any]) -> None:
        report = self.report
        layout = [[each.where, each.message, each.fix] for each in report.layout]
        self._progress.save(
            {
                "part": report.part,
                "of": self._of,
                "began": self._began,
                "skip": sorted(self._skip),
                "repair": report.repairing,
                "found": report.findings.encode(),
                "layout": layout,
                "read": report.read,
                "items": report.items,
                "units": str(report.units),
                "seconds": str(report.seconds),
                **{name: [list(key) for key in getattr(report, name)] for name in _KEYS},
                "unfinished": list(report.unfinished),
                "sums": {name: sums.encode() for name, sums in self._sums.items() if sums.unequal},
                **more,
            }
        )

    def _keep_report(self) -> None:
        kept = Progress(self._parts, REPORT)
        kept.read()
        document = self.report.document() | {"at": self._clock(), "units": str(self.report.units)}
        kept.save(document | {"seconds": str(self.report.seconds)})


REPORT = "doctor's last report"


def last_report(parts: StoreParts) -> Mapping[str, Any] | None:
    """The last report that was kept, as JSON shows it; `at` is when it was made. None where there is none."""
    kept = Progress(parts, REPORT).read()
    if kept is None:
        return None
    return {**kept, "units": float(kept["units"]), "seconds": float(kept["seconds"])}


def check_kinds(names: Sequence[str]) -> None:
    """Refuse a kind that there is not. Raises ConfigurationError."""
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise ConfigurationError(
            f"there is no kind of fault {', '.join(unknown)}", where="skip", fix=f"use some of {', '.join(KINDS)}"
        )
