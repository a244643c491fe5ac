"""Writes docs/messages.md: every text of an error that the library has, read from the source.

Texts are those of calls that make an error, or a part of one. A function that hands a text on to such a call makes
errors itself, so the texts that it is given are listed where it is called.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

LIBRARY = Path(__file__).parents[2] / "shared" / "shardweave"
HEADING = """# Messages

What the library says when something is wrong, module by module, so that the texts can be read in one go: the place in
brackets, what is wrong, then what to do. Names in braces stand for what is filled in, never a record's value. The page
is generated from the source, and a test compares it with it.
"""
MESSAGE, WHERE, FIX = "message", "where", "fix"
ROLES = (MESSAGE, WHERE, FIX)
_LONGEST_NAME = 24

Parameters = dict[int | str, str]
"""What the arguments of a function are texts of: by position or name, the role."""


@dataclass(frozen=True)
class Message:
    """The texts of one error, as the source has them."""

    what: str
    where: str
    fix: str

    def __str__(self) -> str:
        place = f" [{self.where}]" if self.where else ""
        return " ".join(f"-{place} {self.what}{f' **{self.fix}**' if self.fix else ''}".split())


@dataclass
class _Source:
    """The modules of the library, and what makes errors in them."""

    trees: Mapping[str, ast.Module]
    makers: dict[str, Parameters] = field(default_factory=dict)

    @cached_property
    def functions(self) -> Sequence[tuple[ast.FunctionDef, Sequence[ast.Call]]]:
        """Each function that is called by its name, with the calls in it."""
        return [
            (function, [node for node in ast.walk(function) if isinstance(node, ast.Call)])
            for tree in self.trees.values()
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef) and not function.name.startswith("__")
        ]


def messages_page() -> str:
    """The whole page."""
    source = _Source(
        {_name(file): ast.parse(file.read_text(encoding="utf-8")) for file in sorted(LIBRARY.rglob("*.py"))}
    )
    source.makers.update(_errors(source.trees))
    while _find_makers(source):
        pass
    found: dict[str, list[Message]] = defaultdict(list)
    for module, tree in source.trees.items():
        for message in _messages(source, tree):
            if message not in found[module]:
                found[module].append(message)
    sections = [f"## {module}\n\n" + "\n".join(map(str, each)) + "\n" for module, each in found.items() if each]
    return "\n".join([HEADING, *sections])


def _name(file: Path) -> str:
    return ".".join(file.relative_to(LIBRARY).with_suffix("").parts)


def _errors(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, Parameters]]:
    """The classes that errors are made of, and in what order each takes its texts."""
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    kinds, before = {"ShardweaveError"}, 0
    while len(kinds) > before:
        before = len(kinds)
        kinds |= {each.name for each in classes if any(ast.unparse(base) in kinds for base in each.bases)}
    for kind in sorted(kinds):
        yield kind, {0: MESSAGE, **{role: role for role in ROLES}}
    yield "Fault", {0: WHERE, 1: MESSAGE, 2: FIX, **{role: role for role in ROLES}}
    yield "FieldFault", {1: MESSAGE, MESSAGE: MESSAGE}
    yield "ArgumentTypeError", {0: MESSAGE}
    yield "PydanticCustomError", {1: MESSAGE}


def _find_makers(source: _Source) -> bool:
    """Adds the functions that hand a text of theirs on to what makes errors. Whether there was a new one."""
    before = len(source.makers)
    for function, calls in source.functions:
        if function.name not in source.makers and (handed := _handed_on(source, function, calls)):
            source.makers[function.name] = handed
    return len(source.makers) > before


def _handed_on(source: _Source, function: ast.FunctionDef, calls: Sequence[ast.Call]) -> Parameters:
    """The parameters of a function that stand whole for a text of an error that it makes."""
    positional = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if positional[:1] in (["self"], ["cls"]):
        del positional[0]
    known = {*positional, *(each.arg for each in function.args.kwonlyargs)}
    roles = {
        value.id: role
        for call in calls
        for role, value in _texts(source, call)
        if isinstance(value, ast.Name) and value.id in known
    }
    if MESSAGE not in roles.values() and FIX not in roles.values():
        return {}
    by_position = {at: roles[name] for at, name in enumerate(positional) if name in roles}
    return {**by_position, **roles}


def _texts(source: _Source, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a call that makes an error, by role."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    takes = source.makers.get(name, {})
    for position, value in enumerate(call.args):
        if position in takes:
            yield takes[position], value
    for keyword in call.keywords:
        if keyword.arg in takes:
            yield takes[keyword.arg], keyword.value


def _messages(source: _Source, tree: ast.Module) -> Iterator[Message]:
    """What a module says, from top to bottom."""
    known = _assigned(tree.body)
    for function, call in sorted(_calls(tree), key=lambda each: (each[1].lineno, each[1].col_offset)):
        texts = [*_texts(source, call)]
        constants = {**known, **_assigned(list(ast.walk(function)))} if texts else {}
        parts = {role: _text(value, constants) for role, value in texts}
        if any(" " in parts.get(role, "") for role in (MESSAGE, FIX)):
            yield Message(*(parts.get(role, "") for role in ROLES))


def _calls(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.Call]]:
    """Every call, with the innermost function that it stands in."""
    waiting: list[tuple[ast.AST, ast.AST]] = [(ast.Module([], []), tree)]
    while waiting:
        function, node = waiting.pop()
        if isinstance(node, ast.Call):
            yield function, node
        within = node if isinstance(node, ast.FunctionDef) else function
        waiting += [(within, child) for child in ast.iter_child_nodes(node)]


def _assigned(nodes: Sequence[ast.AST]) -> dict[str, list[ast.expr]]:
    """What names are given among these, each that is given a text."""
    given: dict[str, list[ast.expr]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            given[node.targets[0].id].append(node.value)
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            for target, value in zip(node.targets[0].elts, node.value.elts, strict=True):
                if isinstance(target, ast.Name):
                    given[target.id].append(value)
    texts = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.IfExp)
    return {name: values for name, values in given.items() if all(isinstance(value, texts) for value in values)}


def _text(value: ast.expr, constants: Mapping[str, Sequence[ast.expr]]) -> str:
    """An expression as the text that it makes: names in braces where it is filled in, a slash between choices."""
    match value:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=pieces):
            return "".join(_text(piece, constants) for piece in pieces)
        case ast.FormattedValue(value=ast.IfExp() | ast.Constant() | ast.Name() as chosen):
            return _text(chosen, constants)
        case ast.FormattedValue(value=filled):
            return _filled(filled)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, constants) + _text(right, constants)
        case ast.IfExp(body=one, orelse=other):
            return " / ".join(filter(None, (_text(one, constants), _text(other, constants))))
        case ast.Name(id=name) if name in constants:
            return " / ".join(_text(each, {}) for each in constants[name])
    return _filled(value)


def _filled(value: ast.expr) -> str:
    """A short name in braces for what is filled in."""
    names = re.findall(r"[A-Za-z_]\w*", ast.unparse(value))
    told = [name for name in names if name not in ("self", "str", "repr", "len", "join", "sorted", "map", "type")]
    return "{" + " ".join(" ".join(told).replace("_", " ").split())[:_LONGEST_NAME].strip() + "}"
