"""docs/layers.md draws the parts of the library: each of its folders stands there, and none uses one above it."""

from __future__ import annotations

import re
from pathlib import Path

import shardweave
from tests.rules.project_rules import LAYERS

from .guide_page import page_text

PACKAGE = Path(shardweave.__file__).parent
PICTURE = re.search(r"^```text\n(.*?)^```$", page_text("layers.md"), re.MULTILINE | re.DOTALL)
assert PICTURE is not None
ROWS = [re.findall(r"[a-z_.]+", row) for row in re.findall(r"^ │ (.*) │", PICTURE[1], re.MULTILINE)]
DEPTH = {part: depth for depth, row in enumerate(ROWS) for part in row}


def test_every_folder_stands_in_the_picture() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert len(folders) > 8
    assert folders - DEPTH.keys() == set()


def test_every_part_of_the_picture_is_there_and_said_to_be_something() -> None:
    for part in DEPTH:
        assert (PACKAGE / part.replace(".", "/")).is_dir() or (PACKAGE / f"{part}.py").is_file(), part
        assert re.search(rf"^\| [^|]*`{part}`[^|]*\|", page_text("layers.md"), re.MULTILINE), part


def test_the_picture_has_the_order_that_a_rule_holds() -> None:
    """The rule `arrows_upwards` lets no module import what stands below it in `LAYERS`."""
    rows = {name: row for row, line in enumerate(LAYERS.strip().splitlines()) for name in line.split()}
    drawn = sorted(DEPTH, key=lambda part: DEPTH[part], reverse=True)
    assert [rows[part] for part in drawn] == sorted(rows[part] for part in drawn)
