"""Which command lines take a beginning of an option for the option. argparse does unless it is told not to, and then
an option that is added later changes what a script asks for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .project_rules import Tree

FOLDERS = ("shared", "functions", "infra", "benchmarks", "requirements")
SCRIPT = "run"


def parsers_that_abbreviate(tree: Tree) -> list[str]:
    """A command takes an option by its whole name: every parser says `allow_abbrev=False`."""
    modules = dict(tree.modules(*FOLDERS, mentioning=("argparse", "add_parser")))
    script = tree.root / SCRIPT
    if script in tree.files:
        modules[SCRIPT] = ast.parse(script.read_text(), SCRIPT)
    return [
        f"{name}:{call.lineno}: {ast.unparse(call.func)}(...) without allow_abbrev=False"
        for name, module in modules.items()
        for call in _parsers(module)
        if not any(each.arg == "allow_abbrev" and ast.unparse(each.value) == "False" for each in call.keywords)
    ]


def _parsers(module: ast.Module) -> Iterator[ast.Call]:
    """Where a module makes a parser, also one of a class of its own."""
    makers = {"ArgumentParser", "add_parser"}
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and any(_name(base) == "ArgumentParser" for base in node.bases):
            makers.add(node.name)
    return (node for node in ast.walk(module) if isinstance(node, ast.Call) and _name(node.func) in makers)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
