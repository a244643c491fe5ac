"""Deleting a parent whose relations have `detach` or `cascade`: its children are changed or deleted first.

The parent's deletion is tried first, like any other: it is refused if the parent is not the caller's, has another
revision, or has children. Only the last case is handled here. Then children are found by the lookup of the relation,
some at a time, and changed in transactions of a few children, on condition of the revisions that were read; a child's
own children are handled before it. Finally the parent is deleted, on condition that it has no children left, so that
children created meanwhile are found too. Relations that restrict are checked first, so that nothing is changed if they
refuse the deletion.

If the time or the process ends, the changes made so far stay: the parent still exists with its remaining children, and
deleting it again continues, as DeleteIncomplete says. A deletion of more children than one transaction changes is
stored before it begins (see `deletion_work`), and `go_on` continues it. A callback can follow the change of each child.
Costs: a page of the lookup and a transaction for each few children; at any time a page of them is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ...errors import Conflict, DeleteIncomplete, HasChildren, NotFound, ReshardRefused, ShardweaveError
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
from ..outcomes import SECONDS, Deletion, Fate, Follow
from ..reader import Reader
from ..writing.step_maker import StepMaker
from ..writing.write_steps import DeleteStep, WritePlan, WriteStep
from ..writing.writer import Writer, outcome_unknown
from .deletion_work import DeletionWork, StoredDeletions
from .enforced import DELETING, closing, counter_key, restricting, takes_along


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
    stored: StoredDeletions

    def course(self, seconds: float | None = None, follow: Follow | None = None) -> Course:
        """The deadline and callback of a deletion that begins now."""
        return Course(self.waiting.monotonic() + (SECONDS if seconds is None else seconds), follow or _nobody)

    def run(self, step: WriteStep, write: Callable[[WriteStep], WritePlan], course: Course | None = None) -> WritePlan:
        """What `write` has carried out, which is the step. If it is refused because of children that a relation
        detaches or deletes, they are changed first and `write` is called again. Raises the errors of `write`, and
        DeleteIncomplete if the time ends before. An attempt that got no answer before the children went may delete the
        parent when they have gone: if it is missing then, that is OutcomeUnknown."""
        course, unanswered = course or self.course(), False
        while True:
            try:
                plan = write(step)
            except NotFound as error:
                if unanswered:
                    raise outcome_unknown() from error
                raise
            except HasChildren as refusal:
                unanswered = unanswered or maybe_written(refusal)
                if not isinstance(step, DeleteStep) or not takes_along(step.entity) or self._is_restricted(step):
                    raise
                step = self._begun(step, course)
                self._clear_all(step, course)
                if self._left(course) <= 0:
                    raise self._incomplete(step) from refusal
            else:
                if unanswered and not plan.removes:
                    raise outcome_unknown()
                return plan

    def deletions(self) -> Iterator[Deletion]:
        """The stored deletions that have not ended, and how far they are."""
        after: Item | None = None
        while True:
            works, after = self.stored.listed(after)
            yield from self.stored.progress(works)
            if after is None:
                return

    def go_on(self, seconds: float, follow: Follow | None = None) -> int:
        """Continue stored deletions that no other process works on, for at most so many seconds, and return how many
        of them were continued. Errors of one do not keep it from the others; the first is raised in the end."""
        course, count, failed = self.course(seconds, follow), 0, None
        for work in self.stored.every():
            left = self._left(course)
            if left <= 0:
                break
            try:
                if self.stored.taken(work, left):
                    count += 1
                    self.resume(work, course)
            except DeleteIncomplete:
                self.stored.release(work)
                break
            except ShardweaveError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return count

    def resume(self, work: DeletionWork, course: Course) -> None:
        """Continue one stored deletion. Raises DeleteIncomplete if the time ends before."""
        step = self.steps.make(Delete(work.entity.model, work.identity))
        assert isinstance(step, DeleteStep)
        if self.run(step, self.writer.run, course).removes:
            return
        # The parent has expired meanwhile: what belonged to it goes all the same.
        step = replace(step, ending=work.ending)
        self._clear_all(step, course)
        self.stored.end(work, closing(work.entity, work.identity, {}, ends=True))

    # -- parts

    def _begun(self, step: DeleteStep, course: Course) -> DeleteStep:
        """The step with the end of its stored work, if it has any; one is stored if there are many children."""
        if step.ending is None and self._is_long(step):
            work = self.stored.begun(step.entity, step.identity, self._left(course))
            return step if work is None else replace(step, ending=work.ending)
        return step

    def _is_long(self, step: DeleteStep) -> bool:
        """Whether more than one transaction is needed for the children, or the work is stored already."""
        (counter,) = self.reader.items([counter_key(step.entity, step.identity)])
        if counter is None or DELETING in counter:
            return counter is not None
        links = [link for link in step.entity.children if counter.get(link.attribute)]
        if len(links) > 1:
            return True
        children = [(link, self.steps.context.entities[link.token]) for link in links]
        return any(counter[link.attribute] > _at_once(child) or bool(child.children) for link, child in children)

    def _is_restricted(self, step: DeleteStep) -> bool:
        """Whether the parent has children by a relation that restricts."""
        return self._has_children(step, restricting(step.entity))

    def _has_children(self, step: DeleteStep, links: Iterable[ChildLink]) -> bool:
        """Whether the parent has children by some relations, as its counter says."""
        (counter,) = self.reader.items([counter_key(step.entity, step.identity)])
        return any((counter or {}).get(link.attribute) for link in links)

    def _clear_all(self, step: DeleteStep, course: Course) -> None:
        for link in step.entity.children:
            if link.on_delete != "restrict":
                try:
                    self._clear(step, link, course)
                except ReshardRefused:
                    if self._has_children(step, [link]):
                        raise
                    # They are copies of old items, which are counted for these: a run removes them without their items.

    def _left(self, course: Course) -> float:
        return course.ends - self.waiting.monotonic()

    def _incomplete(self, step: DeleteStep) -> DeleteIncomplete:
        """The error that the time has ended, and how far the deletion is, if its work is stored. How many children are
        left is only for callers who may see all of them."""
        (counter,) = self.reader.items([counter_key(step.entity, step.identity)])
        left = sum((counter or {}).get(link.attribute, 0) for link in step.entity.children)
        claims, related = step.entity.claims.values(), step.related
        told = related is None or all(related(link.token).has_all(claims) for link in step.entity.children)
        number = str(left) if told else "some"
        many = f"{number} of them are left" if left else "they are gone, but the record itself is not"
        return DeleteIncomplete(
            f"there was no time for all records that belong to the {step.entity.token}; {many}",
            where=", ".join(step.entity.identity),
            fix="delete it again: it goes on",
        )

    def _clear(self, step: DeleteStep, link: ChildLink, course: Course) -> None:
        """Change all children that the lookup finds. Raises DeleteIncomplete if the time ends before."""
        child = self.steps.context.entities[link.token]
        by = child.relations[link.relation].by
        values = dict(zip(by, (step.identity[name] for name in step.entity.identity), strict=True))
        spec = LookupSpec(child.lookups[link.found_by], values)
        pauses = self.waiting.pauses(CONTENDED, max(0.0, course.ends - self.waiting.monotonic()))
        while records := self.finder.page(child, spec, _at_once(child)).items:
            if self.waiting.monotonic() >= course.ends:
                raise self._incomplete(step)
            try:
                self._let_go(child, link, records, course)
            except (Conflict, NotFound) as refusal:
                # Another writer changed a child first, or a child got children: they are read again.
                if not pauses.pause():
                    raise self._incomplete(step) from refusal
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
                    self.run(step, self.writer.run, course)
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
