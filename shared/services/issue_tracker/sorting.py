"""How a grid is sorted: from `state,-num` to the index that is read, and in which direction.

    num  -num            by one column, either way; issues that are alike in it by number, the same way
    state,-num           by one column, and by number the other way, where there is an index for it
    pressure             a custom field, by the name that the project gave it

One column is the rule: each has an index, whose range key ends in `num`, and is read backwards for the other
direction; a custom field has a list of an ordered lookup instead, with the issues that have a value there. A pair needs
an index of its own, so only some pairs have one; for any other the error says which index it would be.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardweave import errors

from .records import COLUMNS

LAST = "num"
NEWEST = {"state": "gridStateNewest"}
"""The columns that have an index with the numbers descending."""


@dataclass(frozen=True)
class Term:
    """One of the names that a grid is sorted by."""

    name: str
    descending: bool


@dataclass(frozen=True)
class Sorting:
    """The index of a grid, or the place of the custom field that it is sorted by, and its direction."""

    index: str | None
    reverse: bool
    place: str | None = None


def parse_sorting(text: str) -> tuple[Term, ...]:
    """The names of `state,-num`."""
    terms = [each.strip() for each in text.split(",")]
    return tuple(Term(each.removeprefix("-"), each.startswith("-")) for each in terms)


def sorting(text: str, places: Mapping[str, str]) -> Sorting:
    """What is read for a grid; `places` are those of its custom fields. Raises UnknownName, UnsupportedQuery."""
    terms = parse_sorting(text)
    for term in terms:
        if term.name not in COLUMNS and term.name not in places:
            listed = ", ".join((*COLUMNS, *places))
            raise errors.UnknownName(f"there is no column {term.name[:40]!r}", where="sort", fix=f"use one of {listed}")
    first, *rest = terms
    if first.name == LAST and not rest:
        return Sorting("gridNum", first.descending)
    if rest in ([], [Term(LAST, first.descending)]) and first.name != LAST:
        place = places.get(first.name)
        return Sorting(None if place else index_name(first.name), first.descending, place)
    if rest == [Term(LAST, not first.descending)] and first.name in NEWEST:
        return Sorting(NEWEST[first.name], first.descending)
    raise unsupported(terms, places)


def index_name(column: str) -> str:
    """The index that is sorted by a column."""
    return f"grid{column[:1].upper()}{column[1:]}"


def unsupported(terms: Sequence[Term], places: Mapping[str, str]) -> errors.UnsupportedQuery:
    """The refusal of a sorting that has no index, with the index that it would need."""
    names = [term.name for term in terms]
    if custom := [name for name in names if name in places]:
        message = f"a list of issues by {custom[0]} has no second column but the numbers, the same way"
        return errors.UnsupportedQuery(message, where="sort", fix=f"sort by {custom[0]} alone, or leave it out")
    if len(set(names)) < len(names):
        return errors.UnsupportedQuery("a column is named twice", where="sort", fix="name each once")
    if names[0] == LAST:
        message = "nothing is left to sort once the numbers are, which differ"
        return errors.UnsupportedQuery(message, where="sort", fix=f"leave out what follows {LAST}")
    needed = list(terms)
    if needed[-1].name != LAST:
        needed.append(Term(LAST, needed[-1].descending))
    # Read backwards, an index gives every direction the other way round: so the first may always ascend.
    turned = [Term(each.name, each.descending != needed[0].descending) for each in needed]
    key = ", ".join(f'desc("{each.name}")' if each.descending else f'"{each.name}"' for each in turned)
    title = "".join(f"{each.name[:1].upper()}{each.name[1:]}{'Descending' * each.descending}" for each in turned)
    return errors.UnsupportedQuery(
        f"there is no index for it; it would need Index('grid{title}') with the range key RangeKey({key})",
        where="sort",
        fix="sort by one column, or declare that index",
    )
