"""The JSON form of a query: what `POST /v1/{collection}/query` takes, and the command line.

    {
      "conditions": {"lastNameCanonical": "wu", "firstNameCanonical": {"prefix": "ja"}},
      "index": "lastName",
      "filter": {"property": "phone", "exists": true},
      "reverse": true, "limit": 25, "nextToken": "..."
    }

A condition is a value (equality), a list of values (one of them), or an object with `eq`, `in`, `prefix`, or `from`
and `to`. `branches` holds objects with `conditions`, `index` and `filter`, in place of the first two. Further:
`prevToken` (in place of `nextToken`), `properties`, `hydrate`, `consistent`, `earliest`, `latest`, `timeLimitMs`,
`budget`, `onShardError`.

What is not known, or of another type, is refused with its place; a null is as if left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args

from ..errors import FieldFault, InputError, ValidationFailed
from ..query.filter_paths import property_at
from ..query.filters import filter_from_json
from ..query.spec import DEFAULT_LIMIT, BranchSpec, Constraint, Equal, OneOf, Prefix, QuerySpec, Range
from ..query.value_order import has_text
from ..schema.entity_type import EntityType
from ..schema.property import Property
from ..table.conditions import Condition as FilterCondition
from ..values.codecs import BinaryCodec, DateTimeCodec, TimestampCodec
from ..values.json_types import integral
from ..values.json_validation import MAX_UNKNOWN
from ..values.stored_form import stored_form
from ..values.times import iso_time, parse_instant
from .paging import token_of

ShardErrorMode = Literal["fail", "partial"]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "conditions": dict,
    "index": str,
    "filter": dict,
    "branches": list,
    "reverse": bool,
    "limit": int,
    "nextToken": str,
    "prevToken": str,
    "consistent": bool,
    "earliest": (int, str),
    "latest": (int, str),
    "properties": list,
    "hydrate": bool,
    "timeLimitMs": int,
    "budget": int,
    "onShardError": str,
}
_OF_VALUES = frozenset({"eq", "ne", "in"})
_SIDES = ("from", "to")
_OF_PIECES = frozenset({"contains", "begins_with"})
_BRANCH = {name: _TYPES[name] for name in ("conditions", "index", "filter")}
_WORDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "a whole number"}


def spec_from_json(entity: EntityType[Any], content: Any, scope: str = "", beside: Iterable[str] = ()) -> QuerySpec:
    """The query of its JSON form; `beside` are members that the caller has taken out, for the message about others.

    Raises ValidationFailed that lists every fault of form, or InputError's kinds."""
    content = _whole_numbers(content)
    _check(content, _TYPES, (), beside)
    content = {name: value for name, value in content.items() if value is not None}
    branches = content.get("branches")
    for number, branch in enumerate(branches or ()):
        _check(branch, _BRANCH, ("branches", number))
    mode = content.get("onShardError", "fail")
    if mode not in get_args(ShardErrorMode):
        raise InputError("must be fail or partial", where="onShardError", fix="give one of them")
    properties = content.get("properties")
    if properties is not None and not (properties and all(isinstance(name, str) for name in properties)):
        raise InputError("it lists property names", where="properties", fix="name at least one, or leave it out")
    return QuerySpec(
        entity=entity.token,
        conditions=_conditions(entity, content.get("conditions", {}), "conditions"),
        index=content.get("index"),
        reverse=content.get("reverse", False),
        limit=content.get("limit", DEFAULT_LIMIT),
        cursor=token_of(content),
        consistent=content.get("consistent", False),
        earliest=_time(entity, content.get("earliest"), "earliest"),
        latest=_time(entity, content.get("latest"), "latest"),
        scope=scope,
        branches=None if branches is None else _branches(entity, branches),
        filter=_filter(entity, content.get("filter"), "filter"),
        properties=None if properties is None else tuple(properties),
        hydrate=content.get("hydrate", False),
        time_limit_ms=content.get("timeLimitMs"),
        budget=content.get("budget"),
        on_shard_error=mode,
    )


def _whole_numbers(content: Any) -> Any:
    if not isinstance(content, Mapping):
        return content
    return {name: integral(value) if name in _TYPES else value for name, value in content.items()}


def _check(
    content: Any,
    types: Mapping[str, type | tuple[type, ...]],
    place: tuple[str | int, ...],
    beside: Iterable[str] = (),
) -> None:
    if not isinstance(content, Mapping):
        raise ValidationFailed([FieldFault(place, "must be an object", "dict_type")])
    faults = []
    unknown = [name for name in content if name not in types]
    if unknown:
        message = f"unknown; use some of {', '.join((*types, *beside))}"
        faults += [FieldFault((*place, str(name)[:80]), message, "extra_forbidden") for name in unknown[:MAX_UNKNOWN]]
    for name, expected in types.items():
        value = content.get(name)
        if value is None:
            continue
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            kinds = expected if isinstance(expected, tuple) else (expected,)
            words = " or ".join(_WORDS[kind] for kind in kinds)
            faults.append(FieldFault((*place, name), f"it is {words}", f"{kinds[0].__name__}_type"))
    if faults:
        raise ValidationFailed(faults, more=max(0, len(unknown) - MAX_UNKNOWN))


def _branches(entity: EntityType[Any], content: list[Any]) -> tuple[BranchSpec, ...]:
    return tuple(_branch(entity, each, f"branches[{number}]") for number, each in enumerate(content))


def _branch(entity: EntityType[Any], content: Mapping[str, Any], where: str) -> BranchSpec:
    return BranchSpec(
        conditions=_conditions(entity, content.get("conditions") or {}, f"{where}.conditions"),
        index=content.get("index"),
        filter=_filter(entity, content.get("filter"), f"{where}.filter"),
    )


def _filter(entity: EntityType[Any], content: Any, where: str) -> FilterCondition | None:
    def read(name: str, test: str, value: Any, place: str) -> Any:
        each = property_at(entity, name, f"{place.removesuffix(test)}property")
        if test in _OF_PIECES:
            return stored_form(_piece(each, value, place))
        return stored_form(_read(each, value, place, bound=test not in _OF_VALUES))

    return None if content is None else filter_from_json(content, read, where)


def _conditions(entity: EntityType[Any], content: Mapping[str, Any], where: str) -> dict[str, Constraint | OneOf]:
    def condition(name: str, value: Any, place: str) -> Constraint | OneOf:
        return condition_from_json(lambda: entity.condition_property(name, place), value, place)

    return {name: condition(name, value, f"{where}.{name}"[:120]) for name, value in content.items()}


def condition_from_json(each: Callable[[], Property], content: Any, where: str) -> Constraint | OneOf:
    """The condition on a property, from its JSON form. Raises InputError."""
    if isinstance(content, list):
        return OneOf(tuple(_value(each, one, where) for one in content))
    if not isinstance(content, Mapping):
        return Equal(_value(each, content, where))
    if content.keys() != {"from", "to"}:
        content = {word: value for word, value in content.items() if value is not None or word not in _SIDES}
    words = set(content)
    if words == {"eq"}:
        return Equal(_value(each, content["eq"], where))
    if words == {"in"} and isinstance(content["in"], list):
        return OneOf(tuple(_value(each, one, where) for one in content["in"]))
    if words == {"prefix"} and isinstance(content["prefix"], str):
        return Prefix(content["prefix"])
    if words and words <= {"from", "to"}:
        low, high = (
            None if content.get(side) is None else _value(each, content[side], f"{where}.{side}", bound=True)
            for side in _SIDES
        )
        return Range(low, high)
    raise InputError(
        "must be a value, a list or an object of conditions",
        where=where,
        fix="give a value, a list, or eq, in, prefix, or from and to; one of these",
    )


def _value(each: Callable[[], Property], value: Any, where: str, *, bound: bool = False) -> Any:
    if isinstance(value, (dict, list)) or value is None:
        raise InputError("a condition takes plain values", where=where, fix="give a string, a number, true or false")
    return _read(each(), value, where, bound=bound)


def _read(each: Property, value: Any, where: str, *, bound: bool) -> Any:
    """A value, or a place in the order, by the rules that conditions and filters share."""
    if isinstance(value, str) and isinstance(each.codec, TimestampCodec):
        return iso_time(value, each.codec, where)
    if each.epoch is not None and isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and isinstance(each.codec, DateTimeCodec):
        return parse_instant(value, where)
    return (each.read_bound if bound else each.read_json)(value, (where,))


def _piece(each: Property, value: Any, where: str) -> Any:
    """A part of a text or of bytes, or a member."""
    if each.members is not None:
        return _read(each.members, value, where, bound=False)
    if isinstance(each.codec, BinaryCodec):
        return each.read_json(value, (where,))
    if each.codec is not None and has_text(each) and not isinstance(value, str):
        raise InputError("a part of a text is text", where=where, fix="give a string")
    return value


def _time(entity: EntityType[Any], value: Any, where: str) -> int | None:
    if isinstance(value, str):
        return iso_time(value, TimestampCodec(entity.time_unit), where)
    return None if value is None else int(value)
