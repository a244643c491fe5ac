"""The limits of a query that do not depend on a schema. Every number has a least and a greatest value."""

from __future__ import annotations

from ..errors import InputError, LimitExceeded
from .spec import LIMIT_FIX, MAX_BRANCHES, MAX_BUDGET, MAX_LIMIT, MAX_TIME_LIMIT_MS, NO_BRANCH, QuerySpec


def check_limits(spec: QuerySpec) -> None:
    """Refuses a query that asks for too little or too much. Raises InputError or LimitExceeded."""
    if not _lies_within(spec.limit, MAX_LIMIT):
        raise LimitExceeded(f"a page has 1 to {MAX_LIMIT} records", where="limit", fix=LIMIT_FIX)
    if spec.budget is not None and not _lies_within(spec.budget, MAX_BUDGET):
        raise LimitExceeded(
            f"a budget is 1 to {MAX_BUDGET:,} reads", where="budget", fix="give a number in it, or leave it out"
        )
    if spec.time_limit_ms is not None:
        check_time_limit(spec.time_limit_ms)
    if spec.on_shard_error not in ("fail", "partial"):
        raise InputError("it is fail or partial", where="onShardError", fix="give one of them")
    if spec.branches is not None:
        _check_branches(spec)
    if spec.properties is not None and not spec.properties:
        raise InputError("it lists property names", where="properties", fix="name at least one, or leave it out")


def check_time_limit(milliseconds: int) -> None:
    """Refuses a time limit that none can be. Raises LimitExceeded."""
    if not _lies_within(milliseconds, MAX_TIME_LIMIT_MS):
        raise LimitExceeded(
            f"a time limit is 1 to {MAX_TIME_LIMIT_MS:,} ms, an hour",
            where="timeLimitMs",
            fix="give a number in it, or leave it out",
        )


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
