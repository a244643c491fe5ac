"""docs/reference.md is what the docstrings say. `WRITE_DOCS=1` writes it anew."""

from __future__ import annotations

import os

import shardweave

from .api_reference import BESIDE, GROUPS, MODULES, definition, public, reference
from .guide_page import DOCS, page_text


def test_the_page_is_what_the_docstrings_say() -> None:
    written = reference()
    if os.environ.get("WRITE_DOCS"):
        (DOCS / "reference.md").write_text(written, encoding="utf-8")
    assert page_text("reference.md") == written, "write it anew: WRITE_DOCS=1 ./run test unit -k test_reference"


def test_every_public_name_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names.split()]
    assert sorted([*grouped, *MODULES]) == sorted(shardweave.__all__)


def test_every_public_name_says_what_it_is() -> None:
    names = [("shardweave", name) for name in shardweave.__all__ if name not in MODULES]
    names += [(MODULES["shard_key"], name) for name in public(MODULES["shard_key"])]
    names += [(module, name) for module in BESIDE for name in public(module)]
    assert [name for module, name in names if not definition(module, name).doc] == []
