"""Defaults: the value of a property that is not stored, for example in records written before it was declared.

A default is the same for every record if it is a value, or if its factory returns an empty value (a list, a set); other
factories may return different values each time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ..table.values import Value
from .stored_form import epoch_number, stored_form

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_EMPTY = (list, dict, set, frozenset, tuple)


@dataclass(frozen=True)
class Default:
    """The default of one property. `of_others`: it is computed from the other properties of its record. `unit` is that
    of the epoch number which a datetime is stored as."""

    value: Any = None
    factory: Callable[[], Any] | None = None
    of_others: bool = False
    unit: Literal["ms", "s"] | None = None

    @cached_property
    def is_constant(self) -> bool:
        """Whether it is the same for every record."""
        if self.of_others:
            return False
        return self.factory is None or self.factory in _EMPTY or _is_empty(self.factory())

    def form(self) -> Value:
        """Its stored form, computed again if it has a factory; None if there is no default, or it is None."""
        if self.of_others:
            return None
        made = self.value if self.factory is None else self.factory()
        if self.unit is not None and isinstance(made, dt.datetime):
            return epoch_number(made, self.unit)
        return None if made is None else stored_form(made)


NO_DEFAULT = Default()


def default_of(info: FieldInfo, unit: Literal["ms", "s"] | None = None) -> Default:
    """The default of a field, whose datetimes are stored as epoch numbers where it has a `unit`."""
    if info.is_required():
        return NO_DEFAULT
    if info.default_factory is None:
        return Default(info.default, unit=unit)
    if info.default_factory_takes_validated_data:
        return Default(of_others=True)
    factory: Any = info.default_factory
    return Default(factory=factory, unit=unit)


def _is_empty(made: Any) -> bool:
    return made is None or (isinstance(made, (list, tuple, Mapping, Set)) and not made)
