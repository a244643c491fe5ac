"""From the arguments of a field to a query or to the path of a record, as the other routes have them: the same checks
say what is wrong with a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...access.grant import Grant
from ...errors import UnsupportedQuery, ValueRefused
from ...keys.key_design import Element
from ...query.key_attributes import hidden_in
from ...query.limits import check_limits
from ...query.spec import Equal, QuerySpec
from ...schema.entity_type import EntityType
from ...schema.property import Property
from ...wire.composite_keys import PARTITION, SORT, composites
from ...wire.list_parameters import ListQuery
from ...wire.paging import token_of
from ...wire.query_json import condition_from_json, spec_from_json
from ...wire.record_keys import KEY, parameter_name
from ..lookup_pages import LookupQuestion
from ..routes.collections import CollectionRoute
from .documents import Root
from .names import OWN_FIELDS, argument_name, entry_argument

WORDS = {"beginsWith": "begins_with"}
"""Tests of a filter that are called otherwise in its JSON form."""
_PAGING = ("reverse", "limit")


def operation_of(root: Root) -> str:
    """The operation that rules of access know a field of `Query` as: a list with a filter is a query."""
    if root.kind == "one":
        return "get"
    return "list" if filter_json(root.arguments.get("filter")) is None else "query"


def spec_of(root: Root) -> QuerySpec:
    """The query of a field that gives a page. Raises InputError's kinds."""
    entity, given = root.entity, root.arguments
    asked: dict[str, Any] = {name: given.get(name) for name in _PAGING}
    asked["nextToken"] = token_of(given)
    asked["filter"] = filter_json(given.get("filter"))
    if root.kind == "by_id":
        spec = replace(spec_from_json(entity, asked), conditions=ListQuery(entity).spec(_of_partition(root)).conditions)
    else:
        spec = spec_from_json(entity, {**asked, "index": root.index, "conditions": _conditions(root)})
    return replace(spec, hydrate=_needs_whole_records(root))


def spec_of_several(root: Root, route: CollectionRoute) -> QuerySpec:
    """The query of a field that gives a page of a collection. Raises InputError's kinds."""
    shared, given = route.shared, root.arguments
    (index,) = shared.views
    asked: dict[str, Any] = {name: given.get(name) for name in _PAGING}
    asked |= {"nextToken": token_of(given), "filter": filter_json(given.get("filter"))}
    conditions = _conditions(replace(root, entity=shared, index=index))
    return route.joined(spec_from_json(shared, {**asked, "index": index, "conditions": conditions}))


def page_of(root: Root) -> QuerySpec:
    """The page that a list of lookup records is asked for: its limit, its token, its direction and its filter. Raises
    InputError's kinds."""
    asked = {name: root.arguments.get(name) for name in _PAGING}
    asked |= {"nextToken": token_of(root.arguments), "filter": filter_json(root.arguments.get("filter"))}
    spec = spec_from_json(root.entity, asked)
    check_limits(spec)
    return spec


def lookup_question(root: Root, grant: Grant, page: QuerySpec) -> LookupQuestion:
    """What is asked of an ordered lookup. Raises InputError's kinds."""
    entity, given = root.entity, root.arguments
    assert root.index is not None, "it names the lookup"
    lookup = entity.lookups[root.index]
    within: dict[str, Any] = {}
    for element in lookup.within:
        name = argument_name(element.name)
        read = None if given.get(name) is None else condition_from_json(_of(entity, element.name), given[name], name)
        within[element.name] = grant.within(element.name, read.value if isinstance(read, Equal) else None)
    if lookup.entries:
        within[lookup.entry_name] = given[entry_argument(lookup)]
    name = argument_name(lookup.property_name)
    sides = {word: each for word, each in (given.get(name) or {}).items() if each is not None}
    each = lookup.property_in(entity.properties, lookup.property_name)
    value = condition_from_json(lambda: each, sides, name) if sides else None
    grant.check_filter(page.filter)
    return LookupQuestion(lookup.name, value, within, page.reverse, page.filter)


def _of(entity: EntityType[Any], name: str) -> Callable[[], Property]:
    return lambda: entity.properties[name]


def _needs_whole_records(root: Root) -> bool:
    """Whether something is asked for that the index has not."""
    entity, names = root.entity, root.names
    beside = root.has_relations or "rev" in names or not names.isdisjoint(entity.computed)
    properties = names - set(OWN_FIELDS) - entity.computed.keys()
    view = entity.views[root.index]
    return view.projected is not None and (beside or bool(hidden_in(entity, view, properties)))


def _conditions(root: Root) -> dict[str, Any]:
    view, found = root.entity.views[root.index], {}
    for element in (*view.hash_elements, *view.range_elements):
        given = root.arguments.get(argument_name(element.name))
        if isinstance(given, Mapping):
            given = {word: each for word, each in given.items() if each is not None}
        if given not in (None, {}):
            found[element.name] = given
    return found


# -- keys


def _of_partition(root: Root) -> dict[str, str]:
    """The parameters that lists over HTTP have for a partition, and for a part of it."""
    entity, given, design = root.entity, root.arguments, root.entity.keys.design
    found: dict[str, str] = {}
    if given.get("id") is not None:
        found[_parameter(entity, design.partition, PARTITION, "eq")] = given["id"]
    for word in ("eq", "prefix", "from", "to"):
        if given.get(word) is not None:
            found[_parameter(entity, design.sort, SORT, word)] = text_of(given[word], word)
    return found


def _parameter(entity: EntityType[Any], elements: tuple[Element, ...], composite: str, word: str) -> str:
    if len(elements) == 1:
        return f"{elements[0].name}.{word}"
    if composite not in {each.name for each in composites(entity)}:
        raise UnsupportedQuery(
            f"a property is called {composite}, so that its parts can't be given as one value",
            where="id" if composite == PARTITION else word,
            fix="use an index",
        )
    return composite if word == "eq" else f"{composite}.{word}"


def path_of(root: Root, claimed: Mapping[str, str]) -> dict[str, str]:
    """The parameters that the path of a record has. `claimed` are the values of properties that claims say. Raises
    ValueRefused."""
    entity, design, given = root.entity, root.entity.keys.design, root.arguments
    if entity.origin is not None:
        return {KEY: given["id"]}
    lead = design.partition or design.sort
    found = _parts(entity, lead, given.get("id"), "id", claimed)
    if design.partition and design.sort:
        found |= _parts(entity, design.sort, given.get("sort"), "sort", claimed)
    if len(entity.identity) == 1:
        return {KEY: next(iter(found.values()))}
    return {parameter_name(name): text for name, text in found.items()}


def _parts(
    entity: EntityType[Any], elements: tuple[Element, ...], text: str | None, where: str, claimed: Mapping[str, str]
) -> dict[str, str]:
    names = [each.name for each in elements]
    if text is None and set(names) <= claimed.keys():
        return {name: claimed[name] for name in names}
    parts = [] if text is None else text.split(entity.separator, len(names) - 1)
    left = [name for name in names if name not in claimed]
    if parts and len(parts) == len(left) < len(names):
        given = dict(zip(left, parts, strict=True))
        return {name: given.get(name, claimed.get(name, "")) for name in names}
    if len(parts) < len(names):
        fix = f"write {entity.separator.join(left)}"
        raise ValueRefused("a part of what names the record is missing", where=where, fix=fix)
    return dict(zip(names, parts, strict=True))


def text_of(value: Any, where: str) -> str:
    """A value as a URL has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        raise ValueRefused("a condition takes plain values", where=where, fix="give a string or a number")
    return str(value)


# -- filters


def filter_json(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The JSON form of a filter, None for one that tests nothing."""
    parts: list[dict[str, Any]] = []
    for name, test in ({} if given is None else given).items():
        if name == "not":
            inner = filter_json(test)
            parts += [] if inner is None else [{"not": inner}]
        elif name in ("and", "or"):
            several = [found for each in test or () if (found := filter_json(each)) is not None]
            parts += [{name: several}] if several else []
        else:
            parts += [{"property": name, WORDS.get(word, word): each} for word, each in _tests(test)]
    return None if not parts else parts[0] if len(parts) == 1 else {"and": parts}


def _tests(given: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for word, value in ({} if given is None else given).items():
        if word == "size" and value is not None:
            found += [("size", {compared: size}) for compared, size in value.items() if size is not None]
        elif value is not None:
            found.append((word, value))
    return found
