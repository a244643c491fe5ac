"""Adding to numbers and sets: computing the sums, or letting the table add.

Pure. In general, an addition reads the record and writes the sum, like an update by a function, on condition that the
record has not changed. If nothing else depends on a number, the table adds (`TableAddition`): one write without a read,
so that concurrent additions don't conflict. That is so for whole numbers, and decimals with fixed places, that are in
no key, lookup or relation, of an entity without `prepare` and validators. The condition of the write refuses cases in
which the table's sum would be wrong: a missing number whose default is not 0, and a sum outside the bounds of the type.
The write has no condition on the revision, so it is not sent again if the outcome of an earlier attempt is unknown.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

from ...errors import FieldFault, InputError, ValidationFailed, ValueRefused
from ...schema.entity import Entity
from ...schema.entity_type import MARK, REVISION, EntityType
from ...schema.property import Property
from ...schema.property_options import Role
from ...table.conditions import OPERATORS, And, Between, Comparator, Compare, Condition, Missing, Or
from ...table.operations import UpdateItem
from ...table.values import Item, Value
from ...values.codecs import NO_BOOL, Codec, DecimalCodec, EnumCodec, IntegerCodec, is_number
from ...values.json_types import without_none
from ..attempts import AttemptContext
from ..operations import Changes
from .prepare import in_unit
from .write_actions import is_current, known, live

_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation])
_LARGEST = 10**18
"""The largest numbers, stored and added, for which the table adds: far below those at which digits would be lost."""
_BOUNDS: Mapping[str, Comparator] = {"Ge": ">=", "Gt": ">", "Le": "<=", "Lt": "<"}
"""The constraints of a type that a condition can hold, by the names of their classes."""


@dataclass(frozen=True)
class Addition:
    """The addition to one property."""

    each: Property
    amount: Any

    def to(self, value: Any) -> Any:
        """The sum."""
        if self.each.is_set:
            return {*(value or ()), *self.amount}
        if value is None:
            if self.each.role is Role.TTL:
                fix = "give it a time with update"
                raise ValueRefused("the record has no expiry to add to", where=self.each.stored, fix=fix)
            return self.amount
        try:
            if isinstance(value, float) or isinstance(self.amount, float):
                return float(value) + float(self.amount)
            if isinstance(value, Decimal) or isinstance(self.amount, Decimal):
                return _EXACT.add(Decimal(value), Decimal(self.amount))
        except (Inexact, OverflowError):
            fix = "add a smaller amount"
            raise ValueRefused("the sum has too many digits", where=self.each.stored, fix=fix) from None
        return value + self.amount

    @property
    def zero(self) -> Any:
        """The start value of a missing property."""
        return set() if self.each.is_set else 0


def additions_of(
    entity: EntityType[Any], amounts: Mapping[str, Any], *, from_json: bool = False
) -> tuple[Addition, ...]:
    """The additions by property. Raises UnknownName, ValidationFailed, InputError."""
    found = []
    for name, amount in entity.by_stored_name(amounts).items():
        each = entity.property_of(name)
        if each.is_set:
            found.append(Addition(each, _members(each, amount, from_json=from_json)))
        elif each.is_number and not isinstance(each.codec, EnumCodec):
            found.append(Addition(each, _number(each, amount, from_json=from_json)))
        else:
            message = "only numbers and sets can be added to"
            raise InputError(message, where=each.stored, fix="change it with update")
    return tuple(found)


def _number(each: Property, amount: Any, *, from_json: bool) -> Any:
    if from_json:
        amount = each.read_json(amount) if isinstance(amount, str) else each.read_bound(amount, (each.stored,))
    if not is_number(amount):
        raise ValidationFailed([FieldFault((each.stored,), "Input should be a number", "number_type")])
    if not isinstance(amount, int) and not Decimal(amount).is_finite():
        raise ValueRefused("a number is not finite", where=each.stored, fix="store no NaN and no infinity")
    if isinstance(each.codec, IntegerCodec) and amount != int(amount):
        raise ValidationFailed([FieldFault((each.stored,), "Input should be a whole number", "int_type")])
    if isinstance(each.codec, DecimalCodec):
        amount = amount if isinstance(amount, (int, Decimal)) else Decimal(repr(amount))
        try:
            each.codec.encode(amount)
        except ValueRefused as error:
            error.where = each.stored
            raise
    return int(amount) if isinstance(each.codec, IntegerCodec) else amount


def _members(each: Property, amount: Any, *, from_json: bool) -> frozenset[Any]:
    if isinstance(amount, (str, bytes, Mapping)) or not isinstance(amount, Iterable):
        raise ValidationFailed([FieldFault((each.stored,), "Input should be a list or set of members", "set_type")])
    if from_json and each.members is not None:
        amount = [each.members.read_json(member, (each.stored,)) for member in amount]
    try:
        return frozenset(amount)
    except TypeError:
        raise ValidationFailed([FieldFault((each.stored,), "Input should be members of a set", "set_type")]) from None


def sums(additions: Sequence[Addition]) -> Changes:
    """The changes of a record that result from additions."""

    def changes(record: Entity) -> dict[str, Any]:
        return {each.each.stored: each.to(getattr(record, each.each.name)) for each in additions}

    return changes


def start_with(additions: Sequence[Addition], start: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The start values of a record that an addition creates: required properties that are added to start at zero."""
    if start is None:
        return None
    return {**{each.each.stored: each.zero for each in additions if each.each.required}, **start}


# -- what the table can add -------------------------------------------------------------------------------------------


def added_by_table(entity: EntityType[Any], additions: Sequence[Addition]) -> bool:
    """Whether the table may add: nothing else in the record depends on the changed properties."""
    if not additions or entity.derives or _depended_on(entity).intersection(_changed(entity, additions)):
        return False
    return all(_bounds_of(each.each) is not None and abs(each.amount) < _LARGEST for each in additions)


def table_addition(
    entity: EntityType[Any], key: Item, additions: Sequence[Addition], moment: AttemptContext, rev: str
) -> UpdateItem:
    """The update that adds to a live record at a key, with conditions that refuse cases with a wrong sum."""
    conditions = [*live(entity, moment), known(moment)]
    conditions += [condition for each in additions for condition in _conditions(each)]
    conditions.append(is_current(entity))
    assigned: dict[str, Value] = {REVISION: rev}
    if entity.updated is not None:
        assigned[entity.updated] = in_unit(entity, entity.updated, moment.now_ms)
        if entity.timestamp is not None:  # a record created ahead of the clock was not changed before it was created
            created = in_unit(entity, entity.timestamp, moment.now_ms)
            conditions.append(Or((Missing(entity.timestamp), Compare(entity.timestamp, "<=", created))))
    return UpdateItem(
        key,
        set=assigned,
        remove=(MARK,),
        add={each.each.stored: each.amount for each in additions},
        condition=And(tuple(conditions)),
        return_values="ALL_NEW",
        return_on_failure=True,
        repeatable=False,
    )


def _changed(entity: EntityType[Any], additions: Sequence[Addition]) -> set[str]:
    return {each.each.stored for each in additions} | ({entity.updated} if entity.updated else set())


def _depended_on(entity: EntityType[Any]) -> frozenset[str]:
    """The properties that other data depend on: keys, lookups, relations, sequences, the identity."""
    raw = {each.stored for each in entity.raw_keys if each.stored != entity.updated}
    return entity.relied_on | raw | entity.immutable | {*entity.claims, *entity.identity}


def _bounds_of(each: Property) -> list[tuple[Comparator, Any]] | None:
    """The bounds in the type of a number to which the table can add; None if the record has to be read."""
    kind, noted = _plain(each.annotation)
    if not (kind is int or (kind is Decimal and isinstance(each.codec, DecimalCodec))):
        return None
    found: list[tuple[Comparator, Any]] = []
    for constraint in noted:
        name = type(constraint).__name__
        if name in _BOUNDS and type(constraint).__module__ == "annotated_types":
            found.append((_BOUNDS[name], getattr(constraint, name.lower())))
        elif not isinstance(constraint, Codec) and constraint is not NO_BOOL:
            return None
    return found


def _plain(annotation: Any) -> tuple[Any, list[Any]]:
    """A type and its annotations, without an optional None."""
    noted: list[Any] = []
    while True:
        annotation = without_none(annotation)
        if typing.get_origin(annotation) is not typing.Annotated:
            return annotation, noted
        noted += annotation.__metadata__
        annotation = annotation.__origin__


def _conditions(addition: Addition) -> Iterator[Condition]:
    """The conditions on the stored number under which the table's sum is correct."""
    each, amount = addition.each, addition.amount
    bounds = _bounds_of(each) or []
    tests: tuple[Condition, ...] = (
        Between(each.stored, -_LARGEST, _LARGEST),
        *(Compare(each.stored, operator, bound - amount) for operator, bound in bounds),
    )
    there = tests[0] if len(tests) == 1 else And(tests)
    begins_at_0 = not each.required and each.default.is_constant and each.default.form() in (None, 0)
    fits = all(OPERATORS[operator](amount, bound) for operator, bound in bounds)
    yield Or((Missing(each.stored), there)) if begins_at_0 and fits else there
