"""A client in TypeScript, for any runtime with `fetch`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
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
    camel,
    reference_of,
)

RUNTIME = Path(__file__).with_name("runtime.ts")
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def typescript_client(service: ServiceDescription) -> str:
    """The text of the client."""
    codes = " | ".join(json.dumps(code) for code in sorted({*(kind.code for kind in STATUSES), "internal_error"}))
    parts = [
        f"// A client of {service.title}, written by `shardweave client typescript`.",
        f"/** What went wrong: the stable code of a problem. */\nexport type ProblemCode = {codes};",
        RUNTIME.read_text(encoding="utf-8").strip(),
        *(_declared(name, schema) for name, schema in service.schemas.items()),
        *(_entity(each) for each in service.entities),
        *(_collection_types(each) for each in service.collections),
        _client(service),
    ]
    return "\n\n".join(parts) + "\n"


# -- types ------------------------------------------------------------------------------------------------------------


def _type(schema: Json) -> str:
    name = reference_of(schema)
    if name is not None:
        return name
    if "enum" in schema or "const" in schema:
        return _union(json.dumps(each) for each in schema.get("enum", [schema.get("const")]))
    for word, joined in (("anyOf", _union), ("oneOf", _union), ("allOf", _intersection)):
        if word in schema:
            return joined(_type(each) for each in schema[word])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(_PLAIN.get(each, "unknown") for each in kind)
    if kind == "array":
        return f"ReadonlyArray<{_type(schema.get('items', {}))}>"
    if kind == "object":
        return _object(schema)
    return _PLAIN.get(str(kind), "unknown")


def _object(schema: Json) -> str:
    if "properties" not in schema:
        inner = schema.get("additionalProperties", True)
        return f"{{ readonly [name: string]: {_type(inner) if isinstance(inner, dict) else 'unknown'} }}"
    required = set(schema.get("required", ()))
    lines = [
        f"{_doc(each)}  readonly {_name(name)}{'' if name in required else '?'}: {_type(each)};"
        for name, each in schema["properties"].items()
    ]
    return "{\n" + "\n".join(lines) + "\n}"


def _declared(name: str, schema: Json) -> str:
    doc = _doc(schema, "")
    if schema.get("type") == "object" and "properties" in schema:
        return f"{doc}export interface {name} {_object(schema)}"
    return f"{doc}export type {name} = {_type(schema)};"


def _union(kinds: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(kinds))


def _intersection(kinds: Iterable[str]) -> str:
    return " & ".join(dict.fromkeys(kinds))


def _doc(schema: Json, indent: str = "  ") -> str:
    text = " ".join(str(schema.get("description", "")).split()).replace("*/", "* /")
    return f"{indent}/** {text} */\n" if text else ""


def _name(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else json.dumps(name)


# -- entities ---------------------------------------------------------------------------------------------------------


def _entity(entity: EntityDescription) -> str:
    key = [f"export type {entity.name}Key = {_key(entity)};"] if entity.keys else []
    conditions = [f"export type {_conditions_name(entity, each)} = {_conditions(each)};" for each in entity.lists]
    conditions += [_filter(entity.name, each) for each in [one for one in entity.lists if one.shown is None][:1]]
    methods = "\n\n".join([*_reads(entity), *_writes(entity), *(_list(entity, each) for each in entity.lists)])
    collected = (
        f"/** {' '.join(entity.doc.split())} */\nexport class {entity.name}Collection {{\n"
        "  private readonly transport: Transport;\n\n"
        f"  constructor(transport: Transport) {{\n    this.transport = transport;\n  }}\n\n{methods}\n}}"
    )
    return "\n\n".join([*key, *conditions, collected])


def _key(entity: EntityDescription) -> str:
    if len(entity.keys) == 1:
        return _type(entity.keys[0].schema)
    return "{ " + " ".join(f"readonly {_name(each.name)}: {_type(each.schema)};" for each in entity.keys) + " }"


def _path(entity: EntityDescription) -> str:
    """The expression of a record's path."""
    base = json.dumps(f"/v1/{entity.collection}")
    if not entity.keys:
        return json.dumps(entity.path)
    parts = ["key"] if len(entity.keys) == 1 else [f"key[{json.dumps(each.name)}]" for each in entity.keys]
    return f"recordPath({base}, [{', '.join(parts)}])"


def _given_key(entity: EntityDescription, *, more: bool = False) -> str:
    """The argument that names a record, where there is more than one."""
    return "" if not entity.keys else f"key: {entity.name}Key{', ' if more else ''}"


def _reads(entity: EntityDescription) -> list[str]:
    text = (
        f"  /** One record, null where there is none. */\n"
        f"  get({_given_key(entity)}): Promise<Stored<{entity.name}> | null> {{\n"
        f"    return this.transport.found<{entity.name}>({_path(entity)});\n  }}"
    )
    return [text]


def _writes(entity: EntityDescription) -> list[str]:
    stored, found = f"Promise<Stored<{entity.name}>>", []
    base, given = json.dumps(f"/v1/{entity.collection}"), _given_key(entity, more=True)
    if entity.write:
        found.append(
            f"  /** Makes a record. */\n  create(record: {entity.write}, options: WriteOptions = {{}}): {stored} {{\n"
            f'    return this.transport.stored<{entity.name}>("POST", {base}, record, options);\n  }}'
        )
    if entity.patch:
        found.append(
            "  /** Changes properties: what is given replaces, null removes. */\n"
            f"  update({given}patch: {entity.patch}, options: ChangeOptions = {{}}): {stored} {{\n"
            f'    return this.transport.stored<{entity.name}>("PATCH", {_path(entity)}, patch, options);\n  }}'
        )
    if entity.put:
        found.append(
            "  /** Writes a whole record: makes it, or replaces the one that is there. */\n"
            f"  put({given}record: {entity.put}, options: ChangeOptions = {{}}): {stored} {{\n"
            f'    return this.transport.stored<{entity.name}>("PUT", {_path(entity)}, record, options);\n  }}'
        )
    if entity.write:
        found.append(
            "  /** Removes a record. */\n"
            f"  async delete({given}options: ChangeOptions = {{}}): Promise<void> {{\n"
            f'    await this.transport.send("DELETE", {_path(entity)}, undefined, options);\n  }}'
        )
    return found


def _list(entity: EntityDescription, listed: ListDescription) -> str:
    item, filters = entity.name, f"{entity.name}Filter"
    if listed.shown is not None:
        tested = _union(json.dumps(each.name) for each in listed.filters) or "never"
        filters = f"Pick<{entity.name}Filter, {tested}>"
        whole = _union(json.dumps(name) for name in entity.identity)
        part = _union(json.dumps(name) for name in listed.shown if name not in entity.identity)
        item = f"Pick<{entity.name}, {whole}>" + (f" & Partial<Pick<{entity.name}, {part}>>" if part else "")
    optional = not any(each.required for each in listed.shapes[0].fixed)
    given = f"conditions: {_conditions_name(entity, listed)}{' = {}' if optional else ''}"
    index = "undefined" if listed.index is None else json.dumps(listed.index)
    what = "by id" if listed.index is None else f"that the index {listed.index} finds"
    path, doc = json.dumps(f"/v1/{entity.collection}"), f"The records {what}, in its order."
    return _list_method(listed.name, given, item, filters, path, index, doc)


def _list_method(name: str, given: str, item: str, filters: str, path: str, index: str, doc: str) -> str:
    return (
        f"  /** {doc} */\n"
        f"  {name}({given}, options: ListOptions<{filters}> = {{}}): Pages<{item}> {{\n"
        "    const { filter, ...paging } = options;\n"
        f"    return this.transport.pages({path}, conditionsOf(conditions, {index}, filter), paging);\n  }}"
    )


def _filter(name: str, listed: ListDescription) -> str:
    said = [f"  readonly {_name(each.name)}?: {_narrowing(each)};" for each in listed.filters]
    doc = "/** Tests of each record after reading, all of which must hold. */"
    return "\n".join([doc, f"export interface {name}Filter {{", *said, "}"])


def _narrowing(each: Member) -> str:
    kind = _type(each.schema)
    if not each.ranged:
        return f"{kind} | {{ readonly prefix: string }}" if each.is_text else kind
    return f"{'TextCondition' if each.is_text else 'Condition'}<{kind}>"


def _conditions_name(entity: EntityDescription, listed: ListDescription) -> str:
    return f"{entity.name}{_capital(listed.name)}Conditions"


def _conditions(listed: ListDescription) -> str:
    return "\n  | ".join(["", *(_shape(listed, each) for each in listed.shapes)])


def _shape(listed: ListDescription, shape: Shape) -> str:
    said = {
        each.name: f"readonly {_name(each.name)}{'' if each.required else '?'}: {_type(each.schema)};"
        for each in shape.fixed
    }
    if shape.narrowed is not None:
        each = shape.narrowed
        said[each.name] = f"readonly {_name(each.name)}?: {_narrowing(each)};"
    never = [f"readonly {_name(name)}?: never;" for name in listed.names if name not in said]
    return "{ " + " ".join([*said.values(), *never]) + " }"


# -- the whole --------------------------------------------------------------------------------------------------------


def _client(service: ServiceDescription) -> str:
    collections = [(camel(each.collection), each) for each in service.entities]
    fields = [f"  readonly {name}: {each.name}Collection;" for name, each in collections]
    made = [f"    this.{name} = new {each.name}Collection(this.transport);" for name, each in collections]
    routes = [*map(_collection, service.collections), *map(_route, service.routes)]
    begin = [
        f"/** A client of {service.title}. */",
        "export class Client {",
        "  private readonly transport: Transport;",
        *fields,
        "",
        "  constructor(options: ClientOptions) {",
        "    this.transport = new Transport(options);",
        *made,
        "  }",
    ]
    return "\n".join(begin) + "".join(f"\n\n{each}" for each in routes) + "\n}"


def _collection(each: CollectionDescription) -> str:
    """The list of several entities: each item has its entity and its record."""
    name = camel(each.name)
    optional = not any(member.required for member in each.listed.shapes[0].fixed)
    given = f"conditions: {_capital(name)}Conditions{' = {}' if optional else ''}"
    filters, path = f"{_capital(name)}Filter", json.dumps(each.path)
    doc = f"{each.doc}, each with its entity."
    return _list_method(name, given, _type(each.item), filters, path, "undefined", doc)


def _collection_types(each: CollectionDescription) -> str:
    name = _capital(camel(each.name))
    return f"export type {name}Conditions = {_conditions(each.listed)};\n\n{_filter(name, each.listed)}"


def _route(route: RouteDescription) -> str:
    given: list[str] = []
    if route.path_members:
        given.append(f"path: {_members(route.path_members)}")
    if route.body is not None:
        given.append(f"body: {_type(route.body)}")
    if route.query_members:
        optional = not any(each.required for each in route.query_members)
        given.append(f"query: {_members(route.query_members)}{' = {}' if optional else ''}")
    if route.once:
        given.append("options: WriteOptions = {}")
    answer = "void" if route.answer is None else _type(route.answer)
    path = json.dumps(route.path)
    for each in route.path_members:
        part = f"recordPath('', [path[{json.dumps(each.name)}]]).slice(1)"
        path += f".replace({json.dumps('{' + each.name + '}')}, {part})"
    query = "query" if route.query_members else "{}"
    head = f"  /** {route.doc}. */\n  {route.name}({', '.join(given)})"
    if route.pages and route.method == "GET":
        return f"{head}: Pages<{answer}> {{\n    return this.transport.pages({path}, {query}, {{}});\n  }}"
    if route.pages:
        answer = f"Page<{answer}>"
    body, options = ("body" if route.body is not None else "undefined"), ("options" if route.once else "undefined")
    call = f"this.transport.asked<{answer}>({json.dumps(route.method)}, {path}, {query}, {body}, {options})"
    return f"{head}: Promise<{answer}> {{\n    return {call};\n  }}"


def _members(members: Iterable[Member]) -> str:
    listed = " ".join(f"readonly {_name(e.name)}{'' if e.required else '?'}: {_type(e.schema)};" for e in members)
    return f"{{ {listed} }}"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
