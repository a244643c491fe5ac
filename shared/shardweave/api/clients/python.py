"""A client in Python, of the standard library alone."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..problems import STATUSES
from .description import (
    CollectionDescription,
    EntityDescription,
    Json,
    ListDescription,
    Member,
    RouteDescription,
    ServiceDescription,
    Shape,
    reference_of,
)

RUNTIME = Path(__file__).with_name("python_runtime.py")
OPTIONS = ("reverse", "limit", "next_token", "filter")
_OWN_IMPORTS = "from typing import Any, Generic, TypeAlias, TypeVar\n"
_IMPORTS = "from typing import Any, Generic, Literal, NotRequired, Required, TypeAlias, TypedDict, TypeVar, overload\n"
_ANY_CODE = 'ProblemCode: TypeAlias = str\n"""The codes of problems. A client lists them."""\n'
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def python_client(service: ServiceDescription) -> str:
    """The text of the client."""
    title = f"A client of {service.title}, written by `shardweave client python`."
    codes = sorted({*(kind.code for kind in STATUSES), "internal_error"})
    runtime = RUNTIME.read_text(encoding="utf-8").partition('"""\n\n')[2].strip()
    for own, wanted in (
        (_OWN_IMPORTS, _IMPORTS),
        (_ANY_CODE, f"ProblemCode: TypeAlias = Literal[{', '.join(map(json.dumps, codes))}]\n"),
    ):
        assert own in runtime, "the runtime is as it was when this was written"
        runtime = runtime.replace(own, wanted)
    parts = [
        f'"""{title}"""\n\n# ruff: noqa\n\n{runtime}',
        *(_declared(name, schema) for name, schema in service.schemas.items()),
        *(
            _narrow(service, each, listed)
            for each in service.entities
            for listed in each.lists
            if listed.shown is not None
        ),
        *(_filter(_filter_name(each, listed), listed) for each in service.entities for listed in _filtered(each)),
        *(_filter(f"{_pascal(each.name)}Filter", each.listed) for each in service.collections),
        *(_entity(each) for each in service.entities),
        _client(service),
    ]
    return "\n\n\n".join(parts) + "\n"


# -- types ------------------------------------------------------------------------------------------------------------


def _type(schema: Json) -> str:
    name = reference_of(schema)
    if name is not None:
        return name
    if "enum" in schema or "const" in schema:
        return f"Literal[{', '.join(repr(each) for each in schema.get('enum', [schema.get('const')]))}]"
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return _union(_type(each) for each in schema[word])
    if len(schema.get("allOf", ())) == 1:
        return _type(schema["allOf"][0])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(_PLAIN.get(each, "Any") for each in kind)
    if kind == "array":
        return f"list[{_type(schema.get('items', {}))}]"
    if kind == "object":
        inner = schema.get("additionalProperties", True)
        return f"dict[str, {_type(inner) if isinstance(inner, dict) else 'Any'}]"
    return _PLAIN.get(str(kind), "Any")


def _union(kinds: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(kinds))


def _declared(name: str, schema: Json) -> str:
    if schema.get("type") == "object" and "properties" in schema:
        required = set(schema.get("required", ()))
        return _typed_dict(name, schema["properties"], required, str(schema.get("description", "")))
    return f"{name}: TypeAlias = {json.dumps(_type(schema))}"


def _typed_dict(name: str, properties: Json, required: set[str], doc: str) -> str:
    """In the form of a call where a name is no name of Python's."""
    members = {
        each: f"{'Required' if each in required else 'NotRequired'}[{_type(schema)}]"
        for each, schema in properties.items()
    }
    return _members(name, members, doc)


def _members(name: str, members: Mapping[str, str], doc: str) -> str:
    if all(each.isidentifier() and not keyword.iskeyword(each) for each in members):
        lines = [f"    {each}: {kind}" for each, kind in members.items()] or ["    pass"]
        described = " ".join(doc.split()).replace("\\", "\\\\").replace('"', "'")
        return "\n".join([f"class {name}(TypedDict):", *([f'    """{described}"""', ""] if described else []), *lines])
    listed = ", ".join(f"{json.dumps(each)}: {json.dumps(kind)}" for each, kind in members.items())
    return f'{name} = TypedDict("{name}", {{{listed}}})'


def _narrow(service: ServiceDescription, entity: EntityDescription, listed: ListDescription) -> str:
    """What a list gives of each record where that is not all."""
    properties = service.schemas[entity.name]["properties"]
    shown = {name: properties[name] for name in (*entity.identity, *(listed.shown or ())) if name in properties}
    doc = f"What the index {listed.index} has of a record."
    return _typed_dict(_part_name(entity, listed), shown, set(entity.identity), doc)


def _part_name(entity: EntityDescription, listed: ListDescription) -> str:
    return f"{entity.name}{listed.name[0].upper()}{listed.name[1:]}"


def _filtered(entity: EntityDescription) -> list[ListDescription]:
    """The lists that have a filter of their own, and one of those that give whole records."""
    whole = [each for each in entity.lists if each.shown is None]
    return [*whole[:1], *(each for each in entity.lists if each.shown is not None)]


def _filter_name(entity: EntityDescription, listed: ListDescription) -> str:
    return f"{entity.name if listed.shown is None else _part_name(entity, listed)}Filter"


def _filter(name: str, listed: ListDescription) -> str:
    """What may be tested of each record after reading."""
    members = {each.name: f"NotRequired[{_narrowing(each)}]" for each in listed.filters}
    return _members(name, members, "Tests of each record after reading, all of which must hold.")


def _narrowing(each: Member) -> str:
    kind = _type(each.schema)
    return f"{kind}{' | Prefix' if each.is_text else ''}{f' | Between[{kind}]' if each.ranged else ''}"


def _pascal(name: str) -> str:
    return "".join(each[:1].upper() + each[1:] for each in re.findall("[0-9A-Za-z]+", name))


# -- entities ---------------------------------------------------------------------------------------------------------


def _entity(entity: EntityDescription) -> str:
    methods = [*_reads(entity), *_writes(entity), *(_list(entity, each) for each in entity.lists)]
    begin = [
        f"class {entity.name}Collection:",
        f'    """{" ".join(entity.doc.split())}"""',
        "",
        "    def __init__(self, transport: Transport) -> None:",
        "        self._transport = transport",
    ]
    return "\n".join(begin) + "".join(f"\n\n{each}" for each in methods)


def _arguments(entity: EntityDescription) -> str:
    if len(entity.keys) == 1:
        return f"key: {_type(entity.keys[0].schema)}, "
    return "".join(f"{_key_argument(each.name)}: {_type(each.schema)}, " for each in entity.keys)


def _key_argument(name: str) -> str:
    """The argument of a part of a key, beside which a write has arguments of its own."""
    return f"{name}_" if name in ("record", "patch", "idempotency_key") else _argument(name)


def _path(entity: EntityDescription) -> str:
    if not entity.keys:
        return json.dumps(entity.path)
    parts = ["key"] if len(entity.keys) == 1 else [_key_argument(each.name) for each in entity.keys]
    return f"record_path({json.dumps(f'/v1/{entity.collection}')}, {', '.join(parts)})"


def _reads(entity: EntityDescription) -> list[str]:
    given = f"self, {_arguments(entity)}".removesuffix(", ")
    text = (
        f"    def get({given}) -> Stored[{entity.name}] | None:\n"
        '        """One record, None where there is none."""\n'
        f"        return self._transport.found({_path(entity)})"
    )
    return [text]


def _writes(entity: EntityDescription) -> list[str]:
    found, stored, keys = [], f"Stored[{entity.name}]", _arguments(entity)
    path = json.dumps(f"/v1/{entity.collection}")
    positional = f"self, {keys}"
    once = "*, idempotency_key: str | None = None"
    change = "*, rev: str | None = None, idempotency_key: str | None = None"
    if entity.write:
        found.append(
            f"    def create(self, record: {entity.write}, {once}) -> {stored}:\n"
            '        """Makes a record."""\n'
            f'        return self._transport.stored("POST", {path}, record, idempotency_key)'
        )
    for verb, body, word, doc in (
        ("update", entity.patch, "patch", "Changes properties: what is given replaces, None removes."),
        ("put", entity.put, "record", "Writes a whole record: makes it, or replaces the one that is there."),
    ):
        if body:
            method = "PATCH" if verb == "update" else "PUT"
            found.append(
                f"    def {verb}({positional}{word}: {body}, {change}) -> {stored}:\n"
                f'        """{doc}"""\n'
                f'        return self._transport.stored("{method}", {_path(entity)}, {word}, idempotency_key, rev)'
            )
    if entity.write:
        found.append(
            f"    def delete({positional}{change}) -> None:\n"
            '        """Removes a record."""\n'
            f'        self._transport.ask("DELETE", {_path(entity)}, {{}}, key=idempotency_key, rev=rev, once=True)'
        )
    return found


def _list(entity: EntityDescription, listed: ListDescription) -> str:
    item = entity.name if listed.shown is None else _part_name(entity, listed)
    name = snake(listed.name) if listed.index is not None else "every"
    what = "by id" if listed.index is None else f"that the index {listed.index} finds"
    path = json.dumps(f"/v1/{entity.collection}")
    return _list_method(
        name, item, _filter_name(entity, listed), path, listed, f"The records {what}, in its order.", listed.index
    )


def _list_method(
    name: str, item: str, filters: str, path: str, listed: ListDescription, said: str, index_name: str | None = None
) -> str:
    doc, index = f'        """{said}"""\n', repr(index_name)
    forms = [
        f"    def {name}(self, *, {_conditions(each, at)}, filter: {filters} | None = None) -> Pages[{item}]:"
        for at, each in enumerate(listed.shapes)
    ]
    if len(forms) == 1:
        names = ", ".join(f'"{each}": {each}' for each in (*map(_argument, listed.names), *OPTIONS))
        given = f"{{{_sent(listed)}: value for name, value in {{{names}}}.items() if value is not None}}"
        return f"{forms[0]}\n{doc}        return self._transport.pages({path}, {index}, {given})"
    overloads = "\n".join(f"    @overload\n{each} ..." for each in forms)
    given = f"{{{_sent(listed)}: value for name, value in given.items() if value is not None}}"
    return (
        f"{overloads}\n    def {name}(self, **given: Any) -> Pages[{item}]:\n{doc}"
        f"        return self._transport.pages({path}, {index}, {given})"
    )


def _conditions(shape: Shape, at: int) -> str:
    said = [
        f"{_argument(each.name)}: {_type(each.schema)}{'' if each.required else ' | None = None'}"
        for each in shape.fixed
    ]
    if shape.narrowed is not None:
        kinds = _narrowing(shape.narrowed)
        # All but the first form need what they narrow: without it the form before is meant.
        said.append(f"{_argument(shape.narrowed.name)}: {kinds}{'' if at else ' | None = None'}")
    said += ["reverse: bool | None = None", "limit: int | None = None", "next_token: str | None = None"]
    return ", ".join(said)


def _sent(listed: ListDescription) -> str:
    """The parameter of an argument, by its `name`."""
    nested = {_argument(each): each for each in listed.names if "." in each}
    return f"{json.dumps(nested)}.get(name, name)" if nested else "name"


def _argument(name: str) -> str:
    """The argument of a property; that of a member of a model is `address_country`."""
    name = name.replace(".", "_")
    return f"{name}_" if keyword.iskeyword(name) or name in (*OPTIONS, "self", "rev") else name


# -- the whole --------------------------------------------------------------------------------------------------------


def _client(service: ServiceDescription) -> str:
    begin = [
        "class Client:",
        f'    """A client of {service.title}. `headers` are sent with each request, such as `authorization`;',
        '    a request that was not answered, or asked to come again, is sent up to `attempts` times."""',
        "",
        "    def __init__(",
        "        self,",
        "        base_url: str,",
        "        *,",
        "        headers: Callable[[], Mapping[str, str]] = dict,",
        "        attempts: int = 4,",
        "        send: Send = send_by_urllib,",
        "        pause: Callable[[float], object] = time.sleep,",
        "    ) -> None:",
        "        self._transport = Transport(base_url, headers, attempts, send, pause)",
        *(
            f"        self.{snake(each.collection)} = {each.name}Collection(self._transport)"
            for each in service.entities
        ),
    ]
    methods = [*map(_collection, service.collections), *map(_route, service.routes)]
    return "\n".join(begin) + "".join(f"\n\n{each}" for each in methods)


def _collection(each: CollectionDescription) -> str:
    """The list of several entities: each item has its entity and its record."""
    name, path = snake(_pascal(each.name)), json.dumps(each.path)
    filters = f"{_pascal(each.name)}Filter"
    return _list_method(name, _type(each.item), filters, path, each.listed, f"{each.doc}, each with its entity.")


def _route(route: RouteDescription) -> str:
    given = [f"{_route_argument(each.name)}: {_type(each.schema)}" for each in route.path_members]
    given += [] if route.body is None else [f"body: {_type(route.body)}"]
    given += ["*"] if route.query_members or route.once else []
    given += [_parameter(each) for each in sorted(route.query_members, key=lambda each: not each.required)]
    given += ["idempotency_key: str | None = None"] if route.once else []
    answer = "None" if route.answer is None else _type(route.answer)
    path = json.dumps(route.path)
    for each in route.path_members:
        path += f'.replace("{{{each.name}}}", record_path("", {_route_argument(each.name)})[1:])'
    query = "{" + ", ".join(f'"{each.name}": {_route_argument(each.name)}' for each in route.query_members) + "}"
    head = f"    def {snake(route.name)}(self{''.join(f', {each}' for each in given)})"
    doc = f'        """{route.doc}."""\n'
    if route.pages and route.method == "GET":
        return f"{head} -> Pages[{answer}]:\n{doc}        return self._transport.listed({path}, {query})"
    more = ", key=idempotency_key, once=True" if route.once else ""
    body = "body" if route.body is not None else "None"
    call = f'self._transport.asked("{route.method}", {path}, {query}, {body}{more})'
    end = f"        {call}" if answer == "None" else f"        found: {answer} = {call}\n        return found"
    return f"{head} -> {answer}:\n{doc}{end}"


def _parameter(each: Member) -> str:
    return f"{_route_argument(each.name)}: {_type(each.schema)}{'' if each.required else ' | None = None'}"


def _route_argument(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in ("self", "body", "idempotency_key") else name


def snake(name: str) -> str:
    """A name as functions are called in Python."""
    words = re.findall("[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    return "_".join(words).lower()
