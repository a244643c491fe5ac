"""Deleting a parent whose relations have `detach` or `cascade`: its children are changed or deleted first.

The parent's deletion is tried first, like any other: it is refused if the parent is not the caller's, has another
revision, or has children. Only the last case is handled here. Then children are found by the lookup of the relation,
some at a time, and changed in transactions of a few children, on condition of the revisions that were read; a child's
own children are handled before it. Finally the parent is deleted, on condition that it has no children left, so that
children created meanwhile are found too. Relations that restrict are checked first, so that nothing is changed if they
refuse the deletion.

If the time or the process ends, the changes made so far stay: the parent still exists with its remaining children, and
deleting it again continues, as DeleteIncomplete says. A callback can follow the change of each child. Costs: a page of
the lookup and a transaction for each few children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...errors import Conflict, DeleteIncomplete, HasChildren, NotFound
from ...errors.outcomes import maybe_written
from ...schema.entity import Entity
from ...schema.entity_type import EntityType
from ...schema.relations import ChildLink
from ...table.operations import MAX_TRANSACTION_ACTIONS
from ...table.retry import CONTENDED, RetryClock
from ...table.values import Item
from ..lookups.lookup_queries import Finder
from ..lookups.lookup_records import MAX_MEMBERS
from ..lookups.lookup_spec import LookupSpec
from ..operations import Delete, Operation, Update
from ..outcomes import SECONDS, Fate, Follow
from ..reader import Reader
from ..writing.step_maker import StepMaker
from ..writing.write_steps import DeleteStep, WritePlan, WriteStep
from ..writing.writer import Writer, outcome_unknown
from .enforced import counter_key


def _nobody(entity: EntityType[Any], record: Entity, fate: Fate) -> None:
    """Ignores changes of children."""


@dataclass(frozen=True)
class Course:
    """The deadline of a deletion (a time of `monotonic`), and the callback that follows it."""

    ends: float
    follow: Follow = _nobody


@dataclass(frozen=True)
class Removing:
    """Deletes parents; safe for many threads."""

    reader: Reader
    finder: Finder
    writer: Writer
    steps: StepMaker
    waiting: RetryClock

    def course(self, seconds: float | None = None, follow: Follow | None = None) -> Course:
        """The deadline and callback of a deletion that begins now."""
        return Course(self.waiting.monotonic() + (SECONDS if seconds is None else seconds), follow or _nobody)

    def run(self, step: WriteStep, write: Callable[[], WritePlan], course: Course | None = None) -> WritePlan:
        """What `write` has carried out, which is the step. If it is refused because of children that a relation
        detaches or deletes, they are changed first and `write` is called again. Raises the errors of `write`, and
        DeleteIncomplete if the time ends before. An attempt that got no answer before the children went may delete the
        parent when they have gone: if it is missing then, that is OutcomeUnknown."""
        course, unanswered = course or self.course(), False
        while True:
            try:
                plan = write()
            except NotFound as error:
                if unanswered:
                    raise outcome_unknown() from error
                raise
            except HasChildren as refusal:
                unanswered = unanswered or maybe_written(refusal)
                links = [link for link in step.entity.children if link.on_delete != "restrict"]
                if not isinstance(step, DeleteStep) or not links or self._is_restricted(step):
                    raise
                for link in links:
                    self._clear(step, link, course)
                if self.waiting.monotonic() >= course.ends:
                    raise _incomplete(step) from refusal
            else:
                if unanswered and not plan.removes:
                    raise outcome_unknown()
                return plan

    def _is_restricted(self, step: DeleteStep) -> bool:
        """Whether the parent has children by a relation that restricts."""
        (counter,) = self.reader.items([counter_key(step.entity, step.identity)])
        kept = [link for link in step.entity.children if link.on_delete == "restrict"]
        return any((counter or {}).get(link.attribute) for link in kept)

    def _clear(self, step: DeleteStep, link: ChildLink, course: Course) -> None:
        """Change all children that the lookup finds. Raises DeleteIncomplete if the time ends before."""
        child = self.steps.context.entities[link.token]
        by = child.relations[link.relation].by
        values = dict(zip(by, (step.identity[name] for name in step.entity.identity), strict=True))
        spec = LookupSpec(child.lookups[link.found_by], values)
        pauses = self.waiting.pauses(CONTENDED, max(0.0, course.ends - self.waiting.monotonic()))
        while records := self.finder.page(child, spec, _at_once(child)).items:
            if self.waiting.monotonic() >= course.ends:
                raise _incomplete(step)
            try:
                self._let_go(child, link, records, course)
            except (Conflict, NotFound) as refusal:
                # Another writer changed a child first, or a child got children: they are read again.
                if not pauses.pause():
                    raise _incomplete(step) from refusal
            else:
                pauses.progress()

    def _let_go(self, child: EntityType[Any], link: ChildLink, records: Sequence[Entity], course: Course) -> None:
        operations: list[Operation] = []
        for record in records:
            stored = child.dump(record)
            identity: Item = child.identity_from(stored)
            if link.on_delete == "detach":
                operations.append(Update(child.model, identity, dict.fromkeys(link.detached), record.rev))
            else:
                operations.append(Delete(child.model, identity, record.rev))
        steps = self.steps.make_all(operations, named=False)
        fate: Fate = "deleted" if link.on_delete == "cascade" else "detached"
        if fate == "deleted" and child.children:
            for step, record in zip(steps, records, strict=True):
                with _following(course, child, [record], fate):
                    self.run(step, lambda step=step: self.writer.run(step), course)  # type: ignore[misc]
        else:
            with _following(course, child, records, fate):
                self.writer.transact(steps)


@contextmanager
def _following(course: Course, child: EntityType[Any], records: Sequence[Entity], fate: Fate) -> Iterator[None]:
    """Calls the callback for records that are written inside the block."""
    try:
        yield
    except DeleteIncomplete:
        # The error is about a child's own children, which were reported; the child itself was not written.
        raise
    except Exception as error:
        if maybe_written(error):
            for record in records:
                course.follow(child, record, "unknown")
        raise
    for record in records:
        course.follow(child, record, fate)


def _at_once(child: EntityType[Any]) -> int:
    """How many records of an entity one transaction can change, including the items written beside each of them."""
    looked_up = sum(MAX_MEMBERS if each.members else 2 for each in child.lookups.values())
    beside = 4 + looked_up + 2 * len(child.relations)
    return max(1, min(20, MAX_TRANSACTION_ACTIONS // beside))


def _incomplete(step: DeleteStep) -> DeleteIncomplete:
    return DeleteIncomplete(
        f"there was no time for all records that belong to the {step.entity.token}; those that went are gone",
        where=", ".join(step.entity.identity),
        fix="delete it again: it goes on",
    )
