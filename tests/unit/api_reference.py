"""Writes docs/reference.md: every public name with its signature and docstring, read from the source."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

LONGEST = 110
HEADING = """# Reference

Every name that a program may import, with what it is. The page is generated from the docstrings, and a test compares it
with them. In signatures `E` is the class of an entity.
"""
GROUPS = {
    "Declaring": """Entity Schema Index Collection HashKey RangeKey desc ShardBump nanoid unique_property
        timestamp_property updated_property ttl_property claim_property private_property Unique Lookup OrderedLookup
        Sequence belongs_to has_many Allow CanonicalBegin Timestamp TimestampSeconds DecimalCodec SemanticVersion
        KeyFormat ORDERED ARTICLE ENTITY_MANAGER""",
    "The database": "Database AsyncDatabase Shadow CursorKeys Page",
    "Operations of a transaction": "Create Put Update Add Delete Check Reset Apply IdempotencyKey",
    "Conditions and filters": "prefix one_of between branch where",
    "Events": "Event ReadModel SetRecord UpdateRecord DeleteRecord",
    "Services": "GraphQL",
    "The package": "__version__",
}
MODULES = {"shard_key": "shardweave.keys.shard_key", "errors": "shardweave.errors"}
"""Public modules; `errors` is shown as the tree that it is."""
SAME_METHODS = {"AsyncDatabase": "Database"}
"""A class whose docstring says that it has the methods of another: only what it has besides is shown."""
BESIDE = ("shardweave.testing", "shardweave.routing", "shardweave.cdk")


@dataclass(frozen=True)
class Definition:
    """Where a public name is defined."""

    node: ast.stmt
    doc: str


def reference() -> str:
    """The whole page."""
    parts = [HEADING]
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", *(_shown("shardweave", name) for name in names.split())]
    parts += ["## shardweave.errors\n", _errors()]
    parts.append("## shardweave.keys.shard_key\n")
    parts += [_shown(MODULES["shard_key"], name) for name in public(MODULES["shard_key"])]
    for module in BESIDE:
        if find_spec(module) is not None:
            parts += [f"## {module}\n", *(_shown(module, name) for name in public(module))]
    return "\n".join(parts).rstrip() + "\n"


def public(module: str) -> list[str]:
    """What the `__all__` of a module names."""
    for node in parsed(module)[0].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{module} has no __all__")


@cache
def parsed(module: str) -> tuple[ast.Module, bool]:
    """A module's source, and whether it is a package."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None, module
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8")), spec.submodule_search_locations is not None


def definition(module: str, name: str) -> Definition:
    """Where a name that a module has is defined, through the modules that it comes from."""
    tree, is_package = parsed(module)
    following = [*tree.body[1:], None]
    for node, after in zip(tree.body, following, strict=True):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return Definition(node, ast.get_docstring(node) or "")
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and name in _targets(node):
            said = after.value if isinstance(after, ast.Expr) else None
            return Definition(node, inspect.cleandoc(said.value) if _is_text(said) else "")
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    up = module.split(".")[: len(module.split(".")) - node.level + is_package]
                    return definition(".".join([*up, *([node.module] if node.module else [])]), alias.name)
    raise AssertionError(f"{module} has no {name}")


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    return [ast.unparse(each) for each in (node.targets if isinstance(node, ast.Assign) else [node.target])]


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _shown(module: str, name: str) -> str:
    found = definition(module, name)
    lines = [f"### {name}\n"]
    if isinstance(found.node, ast.ClassDef):
        like = definition(module, SAME_METHODS[name]).node if name in SAME_METHODS else None
        lines += [_code(_class_signature(name, found.node)), found.doc + "\n", *_members(found.node, like)]
    elif isinstance(found.node, ast.FunctionDef):
        lines += [_code(_signature(found.node, name)), found.doc + "\n"]
    else:
        assert isinstance(found.node, (ast.Assign, ast.AnnAssign))
        value = found.node.value
        text = "" if value is None or name == "__version__" else f" = {ast.unparse(value)}"
        lines += [_code(f"{name}{text}"), found.doc + "\n"]
    return "\n".join(lines)


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def _members(node: ast.ClassDef, like: ast.stmt | None) -> Iterator[str]:
    """The public methods and properties that a class defines, and one like it does not, each with its overloads."""
    overloads: dict[str, list[str]] = {}
    there = {getattr(each, "name", "") for each in getattr(like, "body", ())}
    for each in node.body:
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) or each.name.startswith("_"):
            continue
        if each.name in there:
            continue
        marks = [ast.unparse(mark) for mark in each.decorator_list]
        if "overload" in marks:
            overloads.setdefault(each.name, []).append(_signature(each, each.name))
            continue
        doc = ast.get_docstring(each)
        if doc is None:
            continue
        is_value = any(mark in ("property", "cached_property") for mark in marks)
        returned = "" if each.returns is None else f": {ast.unparse(each.returns)}"
        said = [f"{each.name}{returned}"] if is_value else overloads.get(each.name, [_signature(each, each.name)])
        yield _code("\n".join(said)) + "\n" + doc + "\n"


def _class_signature(name: str, node: ast.ClassDef) -> str:
    functions = [each for each in _with_typed(node) if isinstance(each, ast.FunctionDef)]
    made = next((each for each in functions if each.name == "__init__"), None)
    if made is not None:
        return _signature(made, name, returns=False)
    if any("dataclass" in ast.unparse(mark) for mark in node.decorator_list):
        fields = [ast.unparse(each) for each in node.body if isinstance(each, ast.AnnAssign) and _is_field(each)]
        return _call(name, fields)
    options = next((each for each in node.body if getattr(each, "name", "") == "__init_subclass__"), None)
    if isinstance(options, ast.FunctionDef):
        return _signature(options, f"class {name}", returns=False)
    return f"class {name}"


def _with_typed(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """The body of a class, with what it says to type checkers alone: `__init__` of a dataclass that takes more."""
    for each in node.body:
        yield from each.body if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING" else [each]


def _is_field(each: ast.AnnAssign) -> bool:
    target, annotation = ast.unparse(each.target), ast.unparse(each.annotation)
    return not target.startswith("_") and not annotation.startswith("ClassVar")


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, *, returns: bool = True) -> str:
    arguments = node.args
    texts = [*_positional(arguments)]
    if arguments.vararg:
        texts.append(f"*{ast.unparse(arguments.vararg)}")
    elif arguments.kwonlyargs:
        texts.append("*")
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        texts.append(_argument(each, default))
    if arguments.kwarg:
        texts.append(f"**{ast.unparse(arguments.kwarg)}")
    end = f" -> {ast.unparse(node.returns)}" if returns and node.returns is not None else ""
    return _call(("await " if isinstance(node, ast.AsyncFunctionDef) else "") + name, texts, end)


def _positional(arguments: ast.arguments) -> Iterator[str]:
    every = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(every) - len(arguments.defaults)) + list(arguments.defaults)
    for place, (each, default) in enumerate(zip(every, defaults, strict=True)):
        if place or each.arg not in ("self", "cls"):
            yield _argument(each, default)
        if place + 1 == len(arguments.posonlyargs) and place:
            yield "/"


def _argument(each: ast.arg, default: ast.expr | None) -> str:
    if default is None:
        return ast.unparse(each)
    return f"{ast.unparse(each)}{' = ' if each.annotation else '='}{ast.unparse(default)}"


def _call(name: str, arguments: list[str], end: str = "") -> str:
    flat = f"{name}({', '.join(arguments)}){end}"
    if len(flat) <= LONGEST:
        return flat
    inner = "".join(f"    {each},\n" for each in arguments)
    return f"{name}(\n{inner}){end}"


def _errors() -> str:
    """The tree of errors, each with its code and what it says."""
    classes = [node for node in parsed(MODULES["errors"])[0].body if isinstance(node, ast.ClassDef) and node.bases]
    depth: dict[str, int] = {}
    rows = []
    for node in classes:
        base = ast.unparse(node.bases[0])
        if base != "Exception" and base not in depth:
            continue
        depth[node.name] = depth.get(base, -1) + 1
        code = next((ast.literal_eval(each.value) for each in node.body if _assigns_code(each)), "")
        doc = " ".join((ast.get_docstring(node) or "").split())
        rows.append(f"| {'· ' * depth[node.name]}`{node.name}` | {f'`{code}`' if code else ''} | {doc} |")
    return "\n".join(["| error | code | |", "| --- | --- | --- |", *rows]) + "\n"


def _assigns_code(each: ast.stmt) -> bool:
    return isinstance(each, (ast.Assign, ast.AnnAssign)) and _targets(each) == ["code"] and each.value is not None
