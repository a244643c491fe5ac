"""The shapes of questions that the model test must meet, and how often it did.

A shape is a number of branches and of generations, whether generations are read in stages, what cut a page (or that
nothing did), and the direction. Every shape is aimed at equally often; what is counted is what really happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from itertools import product

from shardweave.query.plan import Plan
from shardweave.query.spec import Equal

CUTS = ("nothing", "deadline", "budget", "bytes", "lane fails", "lane left out")
BRANCHES = (1, 2, 3)
OWN = (1, 2, 4, 8, 16, 32, 64)
"""The numbers of shards that indexes may have of their own."""
ONE_IN = 500
"""Of so many questions, each shape must be met by one."""


@dataclass(frozen=True, order=True)
class Shape:
    """`branches` and `generations`: 3 stands for more too."""

    branches: int
    generations: int
    staged: bool
    cut: str
    reverse: bool

    @property
    def text(self) -> str:
        staged = "staged" if self.staged else "together"
        direction = "descending" if self.reverse else "ascending"
        return f"{self.branches} {self.generations} {staged:8} {self.cut:13} {direction}"


SHAPES = tuple(
    Shape(branches, generations, staged, cut, reverse)
    for branches, (generations, staged), cut, reverse in product(
        BRANCHES, ((1, False), (2, False), (2, True), (3, False), (3, True)), CUTS, (False, True)
    )
)


UNREADABLE = tuple(f"unreadable, {cut}, {direction}" for cut in CUTS for direction in ("ascending", "descending"))
"""Pages that tell records which can't be read, by what cuts the walk. They are met by every kind of question."""


BEFORE = tuple(f"page before, {cut}, {direction}" for cut in CUTS for direction in ("ascending", "descending"))
"""Pages that were asked for with the token back of another, by what cut them."""


def before_shape(cut: str, *, reverse: bool) -> str:
    """The name of a page before another one."""
    return BEFORE[2 * CUTS.index(cut) + reverse]


def unreadable_shape(cut: str, *, reverse: bool) -> str:
    """The name of a page that tells records which can't be read."""
    return UNREADABLE[2 * CUTS.index(cut) + reverse]


OWN_SHARDS = tuple(f"{number} shards of an index, {cut}" for number in OWN for cut in CUTS)
"""Pages by an index with so many shards of its own, by what cut the walk."""
UNEQUAL = tuple(f"indexes with unequal shards, {cut}" for cut in CUTS)
"""Pages of branches whose indexes have other numbers of shards."""


SEVERAL = tuple(f"{number} entities, {cut}" for number in (2, 3, 4) for cut in (*CUTS, "page before"))
"""Pages of several entities, by what cut the walk, and pages that were asked for with the token back of another."""


MEMBERS = tuple(f"members of models in keys, {cut}" for cut in CUTS)
"""Pages by an index whose keys have members of models, by what cut the walk."""


PLACING = ("fixed by a member", *(f"placed by a member of a model, {cut}" for cut in CUTS))
"""Pages of records whose shard a member of a model decides, by what cut the walk, and those of one such shard."""


def own_shapes(plan: Plan, cut: str) -> set[str]:
    """What a page of a plan meets of indexes with shards of their own, of members of models in their keys, and of
    several entities."""
    numbers = {branch.view.shards for branch in plan.branches}
    found = {f"{number} shards of an index, {cut}" for number in numbers if number is not None}
    if any("." in name for branch in plan.branches for name in branch.conditions):
        found.add(f"members of models in keys, {cut}")
    if plan.parts[0].entity.placing_members:
        found.add(f"placed by a member of a model, {cut}")
        is_fixed = any(isinstance(branch.conditions.get("home.area"), Equal) for branch in plan.branches)
        found |= {"fixed by a member"} if is_fixed else set()
    found |= {f"{len(plan.parts)} entities, {cut}"} if len(plan.parts) > 1 else set()
    return found | ({f"indexes with unequal shards, {cut}"} if len(numbers) > 1 else set())


def shape_of(plan: Plan, cut: str) -> Shape:
    """The shape of a page of a plan."""
    first = plan.parts[0]
    generations = len({lane.generation for lane in plan.lanes if plan.part_of(lane) is first})
    return Shape(min(3, len(first.branches)), generations, plan.stages > 1, cut, plan.descending)


def met(shapes: Counter[Shape | str]) -> dict[str, int]:
    """Counts by the shapes' texts, as a report carries them."""
    return {shape if isinstance(shape, str) else shape.text: count for shape, count in shapes.items()}


def too_rare(counts: Mapping[str, int], questions: int) -> list[str]:
    """The shapes that so many questions met too rarely."""
    every = [
        *(shape.text for shape in SHAPES),
        *UNREADABLE,
        *BEFORE,
        *OWN_SHARDS,
        *UNEQUAL,
        *SEVERAL,
        *MEMBERS,
        *PLACING,
    ]
    return [name for name in every if counts.get(name, 0) < questions // ONE_IN]


def table_of(counts: Mapping[str, int], questions: int) -> list[str]:
    """Lines that say how often each shape was met."""
    columns = [(cut, reverse) for cut in CUTS for reverse in (False, True)]
    titles = "".join(f"{cut + (' desc' if reverse else ''):>20}" for cut, reverse in columns)
    lines = [f"{questions} questions; pages (walks, where nothing cut them) of each shape", f"{'':34}{titles}"]
    for branches, generations, staged in dict.fromkeys(astuple(shape)[:3] for shape in SHAPES):
        shapes = [Shape(branches, generations, staged, cut, reverse) for cut, reverse in columns]
        word = "staged" if staged else "together"
        name = f"{branches} branches, {generations} generations, {word}"
        lines.append(f"{name:34}" + "".join(f"{counts.get(shape.text, 0):>20}" for shape in shapes))
    lines += [f"{name:34}{counts.get(name, 0):>20}" for name in (*UNREADABLE, *BEFORE)]
    for title in [*(f"{number} shards of an index" for number in OWN), "indexes with unequal shards"]:
        lines.append(f"{title:34}" + "".join(f"{cut} {counts.get(f'{title}, {cut}', 0)}".rjust(20) for cut in CUTS))
    for title in (f"{number} entities" for number in (2, 3, 4)):
        shown = (f"{cut} {counts.get(f'{title}, {cut}', 0)}" for cut in (*CUTS, "page before"))
        lines.append(f"{title:34}" + "".join(each.rjust(20) for each in shown))
    return lines
