"""docs/layers.md draws the parts of the library: each of its folders stands there, and none uses one above it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import shardweave

from .guide_page import page_text

PACKAGE = Path(shardweave.__file__).parent
PICTURE = re.search(r"^```text\n(.*?)^```$", page_text("layers.md"), re.MULTILINE | re.DOTALL)
assert PICTURE is not None
ROWS = [re.findall(r"[a-z_]+", row) for row in re.findall(r"^ │ (.*) │", PICTURE[1], re.MULTILINE)]
DEPTH = {part: depth for depth, row in enumerate(ROWS) for part in row}


def test_every_folder_stands_in_the_picture() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert len(folders) > 8
    assert folders - DEPTH.keys() == set()


def test_every_part_of_the_picture_is_there_and_said_to_be_something() -> None:
    for part in DEPTH:
        assert (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").is_file(), part
        assert re.search(rf"^\| [^|]*`{part}`[^|]*\|", page_text("layers.md"), re.MULTILINE), part


def test_no_part_uses_one_above_it() -> None:
    found = [
        (part, used)
        for part in DEPTH
        for used in set(used_by(part))
        if used in DEPTH and used != part and DEPTH[used] <= DEPTH[part]
    ]
    assert found == []


def used_by(part: str) -> Iterator[str]:
    """The parts that a part imports when it is loaded, and not for types alone or when a function is called."""
    folder = PACKAGE / part
    files = folder.rglob("*.py") if folder.is_dir() else [PACKAGE / f"{part}.py"]
    for file in files:
        package = file.relative_to(PACKAGE).parent.parts
        for node in _run_at_load(ast.parse(file.read_text(encoding="utf-8")).body):
            if isinstance(node, ast.ImportFrom) and node.level:
                whole = (*package[: len(package) - node.level + 1], *((node.module or "").split(".")))
                names = [part for part in whole if part] or [alias.name for alias in node.names]
                yield from names[:1] if whole[0] else names


def _run_at_load(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _run_at_load([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _run_at_load(node.body)
        else:
            yield node
