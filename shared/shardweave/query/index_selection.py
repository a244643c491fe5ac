"""Choosing the index that fits the conditions of a query best, and the error if none fits."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..errors import UnsupportedQuery
from ..schema.entity_type import EntityType, IndexView
from .conditions import Conditions, Match, match
from .spec import Equal


def choose(
    entity: EntityType[Any], conditions: Conditions, index: str | None, *, consistent: bool, place: str = ""
) -> tuple[IndexView, Match, str]:
    """The view for some conditions, how it uses them, and the reason for it. `place` goes before the places of errors.
    Raises UnknownName, UnsupportedQuery."""
    if index is not None:
        return _named(entity, conditions, index, consistent=consistent, place=place)
    candidates = [
        (view, matched) for view in entity.views.values() if isinstance(matched := match(view, conditions), Match)
    ]
    if consistent:
        candidates = [(view, matched) for view, matched in candidates if view.index is None]
        if not candidates:
            raise _no_consistent("the one that these conditions need")
    if not candidates:
        said = _said(entity, conditions)
        supported = "; ".join(f"{view.title}: {_support(view, said)}" for view in entity.views.values())
        asked = ", ".join(name for name in conditions if name not in said) or "nothing"
        raise UnsupportedQuery(
            f"no index of {entity.token!r} answers conditions on {asked}",
            where=f"{place}conditions",
            fix=f"use what one index supports ({supported})",
        )
    view, matched = min(candidates, key=lambda candidate: _rank(entity, conditions, *candidate))
    return view, matched, f"{view.title} uses every condition" if conditions else f"{view.title} holds every record"


def shard_text(entity: EntityType[Any], conditions: Conditions) -> str | None:
    """The text that is hashed for the shard, if the conditions determine it."""
    fixed = {name: each.value for name, each in conditions.items() if isinstance(each, Equal)}
    if not all(element.name in fixed for element in entity.keys.design.shard_by):
        return None
    return entity.keys.shard_text(fixed)


def _named(
    entity: EntityType[Any], conditions: Conditions, index: str, *, consistent: bool, place: str
) -> tuple[IndexView, Match, str]:
    view = entity.view(index, f"{place}index")
    if consistent:
        raise _no_consistent(repr(index))
    matched = match(view, conditions)
    if isinstance(matched, str):
        raise UnsupportedQuery(
            f"the index {index!r} can't answer this: {matched}",
            where=f"{place}index",
            fix=f"it supports {_support(view, _said(entity, conditions))}",
        )
    return view, matched, f"{index} was named"


def _no_consistent(index: str) -> UnsupportedQuery:
    return UnsupportedQuery(
        f"an index ({index}) can't be read consistently",
        where="consistent",
        fix="query the table's own key, or drop it",
    )


def _rank(
    entity: EntityType[Any], conditions: Conditions, view: IndexView, matched: Match
) -> tuple[bool, bool, bool, int, bool, int]:
    """The rank of an index; lower is better. In this order: the whole key is given; no record is missing because it
    lacks the range key; one shard; a longer hash key; all properties are projected; fewer elements without a
    condition."""
    whole = bool(view.range_elements) and matched.fixed == len(view.range_elements)
    unsaid = len(view.range_elements) - matched.fixed - (matched.last is not None)
    return (
        not whole,
        _is_sparse(entity, view) and not (matched.fixed or matched.last),
        shard_text(entity, conditions) is None,
        -len(view.hash_elements),
        view.projected is not None,
        unsaid,
    )


def _is_sparse(entity: EntityType[Any], view: IndexView) -> bool:
    """Whether a record may be missing from the view because it lacks the range key."""
    if not view.raw:
        return False
    each = entity.condition_property(view.range_elements[0].name)
    return not each.required and each.role is None


def _said(entity: EntityType[Any], conditions: Conditions) -> set[str]:
    """The properties that errors need not ask for: they are bound to claims, and are fixed already."""
    return {name for name in entity.claims if isinstance(conditions.get(name), Equal)}


def _support(view: IndexView, said: Collection[str]) -> str:
    parts = [f"{element.name} fixed" for element in view.hash_elements if element.name not in said]
    names = ", ".join(element.name for element in view.range_elements)
    return " and ".join([*parts, f"then {names} from the left" if parts else f"{names} from the left"])
