"""Checks of a query that need no schema: the types of its parts, and its limits. Every number has a minimum and a
maximum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InputError, LimitExceeded, ValueRefused
from ..table.conditions import Condition
from .spec import (
    LIMIT_FIX,
    MAX_BRANCHES,
    MAX_BUDGET,
    MAX_LIMIT,
    MAX_TIME_LIMIT_MS,
    NO_BRANCH,
    BranchSpec,
    Equal,
    OneOf,
    Prefix,
    QuerySpec,
    Range,
)


def check_limits(spec: QuerySpec) -> None:
    """Check the limits of a query. Raises InputError or LimitExceeded."""
    parts = spec.parts
    for part in parts:
        _check_types(part)
    _check_entities(spec, parts)
    if not _lies_within(spec.limit, MAX_LIMIT):
        raise LimitExceeded(f"a page has 1 to {MAX_LIMIT} records", where="limit", fix=LIMIT_FIX)
    if spec.budget is not None and not _lies_within(spec.budget, MAX_BUDGET):
        raise LimitExceeded(
            f"a budget is 1 to {MAX_BUDGET:,} reads", where="budget", fix="give a number in it, or leave it out"
        )
    if spec.time_limit_ms is not None:
        check_time_limit(spec.time_limit_ms)
    if spec.on_shard_error not in ("fail", "partial"):
        raise InputError("must be fail or partial", where="onShardError", fix="give one of them")
    for part in parts:
        if part.branches is not None:
            _check_branches(part)
        if part.properties is not None and not part.properties:
            raise InputError("it lists property names", where="properties", fix="name at least one, or leave it out")


def check_time_limit(milliseconds: int) -> None:
    """Check that a time limit is in its range. Raises LimitExceeded."""
    if not _lies_within(milliseconds, MAX_TIME_LIMIT_MS):
        raise LimitExceeded(
            f"a time limit is 1 to {MAX_TIME_LIMIT_MS:,} ms, an hour",
            where="timeLimitMs",
            fix="give a number in it, or leave it out",
        )


def _check_types(spec: QuerySpec) -> None:
    """Check the types of a query's parts, so that mistakes, such as a value instead of a constraint, are refused and
    not misinterpreted."""
    for name in ("reverse", "consistent", "hydrate"):
        if not isinstance(getattr(spec, name), bool):
            raise InputError("must be True or False", where=name, fix="give one of them")
    for name in ("earliest", "latest"):
        bound = getattr(spec, name)
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise InputError("must be a whole number in the timestamp's unit", where=name, fix="give epoch time")
    if spec.earliest is not None and spec.latest is not None and spec.earliest > spec.latest:
        raise ValueRefused("the time window begins above its end", where="earliest", fix="swap earliest and latest")
    token: Any = spec.cursor
    if token is not None and not isinstance(token, str):
        raise InputError("a cursor must be text", where="cursor", fix="give the cursor of a page as it is")
    named: Any = spec.properties
    if named is not None and (isinstance(named, str) or not _are_texts(named)):
        raise InputError("it lists property names", where="properties", fix='give a tuple, like ("name",)')
    if spec.branches is not None and not all(isinstance(each, BranchSpec) for each in spec.branches):
        raise InputError("each must be a branch", where="branches", fix='give branch(state="open"), say')
    parts: list[QuerySpec | BranchSpec] = [spec, *(spec.branches or ())]
    for number, asked in enumerate(parts):
        place = f"branches[{number - 1}]." if number else ""
        test: Any = asked.filter
        if test is not None and not isinstance(test, Condition):
            message = f"must be a condition, got {type(test).__name__}"
            fix = 'compare a property: where("total") > 100, say'
            raise InputError(message, where=f"{place}filter", fix=fix)
        index: Any = asked.index
        if index is not None and not isinstance(index, str):
            message = f"an index must be named by text, got {type(index).__name__}"
            raise InputError(message, where=f"{place}index", fix="give its name, or leave it out")
        _check_conditions(asked.conditions, f"{place}conditions")


def _check_entities(spec: QuerySpec, parts: tuple[QuerySpec, ...]) -> None:
    """Check that each entity of a query is asked for once."""
    tokens = [part.entity for part in parts]
    if len(set(tokens)) < len(tokens):
        raise InputError("an entity is asked for twice", where="entity", fix="name each once")
    if any(part.others for part in spec.others):
        raise InputError(
            "a further entity has further ones itself", where="others", fix="give all of them side by side"
        )


def _check_conditions(conditions: Mapping[str, Any], where: str) -> None:
    if not isinstance(conditions, Mapping) or not _are_texts(conditions):
        raise InputError("it maps property names to constraints", where=where, fix='give {"name": Equal(value)}, say')
    for name, constraint in conditions.items():
        if not isinstance(constraint, (Equal, OneOf, Prefix, Range)):
            raise InputError(
                "must be a constraint or a plain value",
                where=f"{where}.{name[:80]}",
                fix="give Equal(value), OneOf, Prefix or Range",
            )


def _are_texts(names: Iterable[Any]) -> bool:
    return all(isinstance(name, str) for name in names)


def _check_branches(spec: QuerySpec) -> None:
    assert spec.branches is not None
    if spec.conditions or spec.index is not None:
        raise InputError(
            "branches replace conditions and index", where="branches", fix="put the conditions into the branches"
        )
    if not spec.branches:
        raise InputError(NO_BRANCH, where="branches", fix="give one, or leave branches out")
    if len(spec.branches) > MAX_BRANCHES:
        raise LimitExceeded(f"a query has at most {MAX_BRANCHES} branches", where="branches", fix="ask in several")


def _lies_within(number: int, greatest: int) -> bool:
    return not isinstance(number, bool) and isinstance(number, int) and 1 <= number <= greatest
