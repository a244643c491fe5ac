"""The writes of numbers that a read model sums: adding, resetting, and the two ends of a rebuild.

Each reads the record with its mark (see `counts`), and replaces it if it is unchanged, so that what the mark says is
what the numbers hold. Adding makes the record if there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import InputError, ValueRefused
from ...schema.entity_type import REVISION, EntityType
from ...schema.read_models import sums_in
from ...table.values import Item, Value, number_sum
from ..attempts import AttemptContext
from ..locations import ReadResult
from ..writing.prepare import new_draft
from ..writing.write_steps import Context, WritePlan, WriteStep, creation, replacement
from .counts import SUMS, Number, Part, SumsMark, counted
from .lww_registers import PROJECTED
from .pending_records import marks_of


def sums_of(entity: EntityType[Any]) -> tuple[str, ...]:
    """The stored names of the numbers that a read model may sum in records of an entity."""
    return sums_in(entity.properties.values(), entity.identity)


@dataclass(frozen=True)
class CountPlan(WritePlan):
    """The actions that count a part, and what is to be remembered of it."""

    part: Part | None = None


@dataclass(frozen=True)
class SumStep(WriteStep):
    """A change of the numbers of a record, which leaves the rest of it as it is."""

    def _plan(
        self,
        seen: ReadResult,
        numbers: Mapping[str, Value],
        mark: SumsMark,
        moment: AttemptContext,
        context: Context,
        noted: Item | None = None,
    ) -> WritePlan:
        """Write the record with other numbers and another mark."""
        stored = {} if seen.found is None else self.entity.visible(seen.found.item)
        values = self.entity.readable({**stored, **numbers, **self.identity})
        if self.entity.updated is not None:
            values.pop(self.entity.updated, None)
        draft = new_draft(self.entity, values, moment.now_ms, context.new_revision(), values)
        marked = mark != SumsMark() or (seen.found is not None and SUMS in seen.found.item)
        extra = {**({SUMS: mark.encode()} if marked else {}), **(noted or {})}
        if seen.found is None:
            return creation(self.entity, draft, seen, moment, context, self.met, extra)
        return replacement(self.entity, draft, seen, moment, context, self.met, extra)


def mark_in(seen: ReadResult) -> SumsMark:
    """The mark of the record that was found."""
    return SumsMark() if seen.found is None else SumsMark.decode(seen.found.item.get(SUMS))


@dataclass(frozen=True)
class CountStep(SumStep):
    """Counts what a record adds now (`amounts`) where it added `part` before. `rebuild` is the rebuild that counts."""

    part: Part
    amounts: Mapping[str, Number] = field(default_factory=dict)
    rebuild: str = ""

    @property
    def makes(self) -> bool:
        return True

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        before = None if seen.found is None else mark_in(seen)
        found = counted(self.part, self.amounts, before, self.rebuild)
        if not found.differences and before in (None, found.mark):
            return CountPlan(part=found.part)
        stored: Item = {} if seen.found is None else seen.found.item
        numbers = {name: _added(name, stored.get(name), more) for name, more in found.differences.items()}
        plan = self._plan(seen, numbers, found.mark, moment, context)
        return CountPlan(**{**vars(plan), "part": found.part})


@dataclass(frozen=True)
class ResetStep(SumStep):
    """Sets numbers to 0: what was added until now is settled. `names` are stored names."""

    names: tuple[str, ...]
    rev: Any = None

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        if seen.found is None or self.is_hidden(seen):
            raise self.not_found()
        self.check_revision(seen, self.rev)
        stored = seen.found.item
        if PROJECTED in stored:
            return self._of_events(seen, moment, context)
        mark, name = mark_in(seen), context.new_revision()
        since = {**mark.since, **dict.fromkeys(self.names, name)}
        again = {**mark.again, **dict.fromkeys(self.names, 0)} if mark.rebuild else {}
        return self._plan(seen, dict.fromkeys(self.names, 0), SumsMark(since, mark.rebuild, again), moment, context)

    def _of_events(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        """The same for what events added: as much is taken away as there is."""
        assert seen.found is not None
        stored = seen.found.item
        marks = marks_of(self.entity, self.identity, stored)
        taken = {name: _added(name, marks.added.get(name), -stored.get(name, 0)) for name in self.names}
        noted = {PROJECTED: replace(marks, added={**marks.added, **taken}).encode()}
        return self._plan(seen, dict.fromkeys(self.names, 0), mark_in(seen), moment, context, noted)


@dataclass(frozen=True)
class BeginStep(SumStep):
    """Begins to count the numbers of a record again, beside what they say."""

    rebuild: str

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        mark = mark_in(seen)
        if seen.found is None or mark.rebuild == self.rebuild:
            return WritePlan()
        return self._plan(seen, {}, SumsMark(mark.since, self.rebuild), moment, context)


@dataclass(frozen=True)
class CorrectedPlan(WritePlan):
    """The actions that end a rebuild of a record, and whether its numbers were wrong."""

    corrected: bool = False


@dataclass(frozen=True)
class FinishStep(SumStep):
    """Sets the numbers of a record to what a rebuild has counted."""

    rebuild: str

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        mark = mark_in(seen)
        if seen.found is None or mark.rebuild != self.rebuild:
            return WritePlan()
        numbers = {name: mark.again.get(name, 0) for name in sums_of(self.entity)}
        wrong = any(seen.found.item.get(name, 0) != number for name, number in numbers.items())
        plan = self._plan(seen, numbers, SumsMark(mark.since), moment, context)
        return CorrectedPlan(**{**vars(plan), "corrected": wrong})


@dataclass(frozen=True)
class CorrectStep(SumStep):
    """Sets numbers of a record to what was counted, if it still has the revision `rev` and says what it `said`."""

    said: Mapping[str, Any]
    numbers: Mapping[str, Number]
    rev: Any

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        stored: Item = {} if seen.found is None else seen.found.item
        if stored.get(REVISION) != self.rev or any(stored.get(name) != each for name, each in self.said.items()):
            return WritePlan()
        return self._plan(seen, self.numbers, mark_in(seen), moment, context)


def _added(name: str, one: Any, more: Number) -> Number:
    """The exact sum of a number and a difference. Raises ValueRefused."""
    try:
        return number_sum(0 if one is None else one, more)
    except ValueRefused as refused:
        raise ValueRefused(f"the sum can't be kept: {refused.message}", where=name, fix="add less") from None


def reset_step(
    entity: EntityType[Any], identity: Item, names: Any, rev: Any, *, written: bool, **asker: Any
) -> ResetStep:
    """The step of a reset of some numbers, all if none is named. `written`: a read model writes the entity. Raises
    InputError, UnknownName."""
    if not written:
        message = f"only what a read model counts can be reset, and none writes {entity.token!r}"
        raise InputError(message, where="entity", fix="set the number with update")
    known = sums_of(entity)
    named = tuple(entity.property_of(each).stored for each in names) or known
    wrong = [each for each in named if each not in known]
    if wrong or not named:
        raise InputError(
            f"only {', '.join(known) or 'numbers'} can be reset" if wrong else "there is no number to reset",
            where=", ".join(wrong) or entity.token,
            fix="name a number whose default is 0",
        )
    return ResetStep(entity, identity, tuple(dict.fromkeys(named)), rev, **asker)
