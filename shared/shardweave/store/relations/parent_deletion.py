"""Deleting a parent whose relations say what becomes of its children: `detach` or `cascade`.

The parent's own deletion is tried first, as any other: it is refused where it is not the asker's, in another revision,
or has children. Only the last leads here. Then children are found by the lookup of the relation, some at a time, and
each few are changed in a transaction, on condition of the revisions that were found; a child's own children go before
it. In the end the parent is deleted, on condition that it has none left, so that children which came meanwhile are
found too. A relation that restricts is asked about first, so that nothing is changed for a deletion that it refuses.

What was done stays done where time ends, or a process: the parent is there, its remaining children belong to it, and
deleting it again goes on, which DeleteIncomplete says. Whoever asks may follow what becomes of each child. Costs: a
page of the lookup and a transaction for each few children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from ...errors import Conflict, DeleteIncomplete, HasChildren, NotFound
from ...errors.outcomes import maybe_written
from ...schema.entity import Entity
from ...schema.entity_type import EntityType
from ...schema.relations import ChildLink
from ...table.operations import MAX_TRANSACTION_ACTIONS
from ...table.retry import CONTENDED, RetryClock
from ...table.values import Item
from ..lookups.lookup_queries import Finder
from ..operations import Delete, Operation, Update
from ..reader import Reader
from ..writing.step_maker import StepMaker
from ..writing.write_steps import DeleteStep, WriteStep
from ..writing.writer import Writer
from .enforced import counter_key

T = TypeVar("T")

SECONDS = 10.0
"""How long one deletion goes on with children, where it is not told otherwise."""

Fate = Literal["deleted", "detached", "unknown"]
"""What became of a child; unknown where the table did not answer, and it may be either."""

Follow = Callable[[EntityType[Any], Entity, Fate], None]
"""Told of each child that was written, when it has been."""


def _nobody(entity: EntityType[Any], record: Entity, fate: Fate) -> None:
    """Follows nothing."""


@dataclass(frozen=True)
class Course:
    """When a deletion ends (a moment of `monotonic`), whether all is done or not, and who follows it."""

    ends: float
    follow: Follow = _nobody


@dataclass(frozen=True)
class Removing:
    """Deletions for many threads at once."""

    reader: Reader
    finder: Finder
    writer: Writer
    steps: StepMaker
    waiting: RetryClock

    def course(self, seconds: float | None = None, follow: Follow | None = None) -> Course:
        """The course of a deletion that begins now."""
        return Course(self.waiting.monotonic() + (SECONDS if seconds is None else seconds), follow or _nobody)

    def run(self, step: WriteStep, write: Callable[[], T], course: Course | None = None) -> T:
        """What `write` gives, which carries out the step; where that is refused for children that the schema says what
        becomes of, they go before it. Raises what `write` raises, DeleteIncomplete where time ends before they went."""
        course = course or self.course()
        while True:
            try:
                return write()
            except HasChildren as refusal:
                links = [link for link in step.entity.children if link.on_delete != "restrict"]
                if not isinstance(step, DeleteStep) or not links or self._is_restricted(step):
                    raise
                for link in links:
                    self._clear(step, link, course)
                if self.waiting.monotonic() >= course.ends:
                    raise _incomplete(step) from refusal

    def _is_restricted(self, step: DeleteStep) -> bool:
        """Whether it has children by a relation that restricts."""
        (counter,) = self.reader.items([counter_key(step.entity, step.identity)])
        kept = [link for link in step.entity.children if link.on_delete == "restrict"]
        return any((counter or {}).get(link.attribute) for link in kept)

    def _clear(self, step: DeleteStep, link: ChildLink, course: Course) -> None:
        """Let no child be left that the lookup finds. Raises DeleteIncomplete when time ends before."""
        child = self.steps.context.entities[link.token]
        by = child.relations[link.relation].by
        values = dict(zip(by, (step.identity[name] for name in step.entity.identity), strict=True))
        pauses = self.waiting.pauses(CONTENDED, max(0.0, course.ends - self.waiting.monotonic()))
        while records := self.finder.page(child, link.found_by, values, _at_once(child), None).items:
            if self.waiting.monotonic() >= course.ends:
                raise _incomplete(step)
            try:
                self._let_go(child, link, records, course)
            except (Conflict, NotFound) as refusal:
                # Another writer was faster, or children of a child came: they are looked at again.
                if not pauses.pause():
                    raise _incomplete(step) from refusal
            else:
                pauses.progress()

    def _let_go(self, child: EntityType[Any], link: ChildLink, records: Sequence[Entity], course: Course) -> None:
        operations: list[Operation] = []
        for record in records:
            stored = child.dump(record)
            identity: Item = {name: stored[name] for name in child.identity}
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
    """Tell of records that are written inside."""
    try:
        yield
    except DeleteIncomplete:
        # Of a child's own children, each of which was told; the child itself was not written.
        raise
    except Exception as error:
        if maybe_written(error):
            for record in records:
                course.follow(child, record, "unknown")
        raise
    for record in records:
        course.follow(child, record, fate)


def _at_once(child: EntityType[Any]) -> int:
    """How many records of an entity one transaction can change, with all that is kept beside each of them."""
    beside = 4 + 2 * len(child.lookups) + 2 * len(child.relations)
    return max(1, min(20, MAX_TRANSACTION_ACTIONS // beside))


def _incomplete(step: DeleteStep) -> DeleteIncomplete:
    return DeleteIncomplete(
        f"there was no time for all records that belong to the {step.entity.token}; those that went are gone",
        where=", ".join(step.entity.identity),
        fix="delete it again: it goes on",
    )
