"""What the tests of values share: when two values are the same."""

from __future__ import annotations

from typing import Any


def same(one: Any, other: Any, *, whole_floats_are_ints: bool = False) -> bool:
    """Whether two values are equal and of one type, all the way down; where asked, a whole float may be an int."""
    if whole_floats_are_ints and type(one) is float and type(other) is int:
        return one == other
    if type(one) is not type(other):
        return False

    def alike(first: Any, second: Any) -> bool:
        return same(first, second, whole_floats_are_ints=whole_floats_are_ints)

    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)
