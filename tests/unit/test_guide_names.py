"""The files, methods and attributes that README and the guides name exist."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from shardweave import Database, Page
from shardweave.query.runner import QueryRunner
from shardweave.store import Store
from shardweave.testing import Clock

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *sorted(f"docs/{each.name}" for each in (ROOT / "docs").glob("*.md")))
FOLDERS = (ROOT, ROOT / "shared", ROOT / "shared" / "shardweave")
OBJECTS: dict[str, Any] = {"db": Database, "db.store": Store, "db.queries": QueryRunner, "page": Page, "clock": Clock()}
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|json|md|txt|toml))`")
_MEMBER = re.compile(r"`(db|db\.store|db\.queries|page|clock)\.([a-z_]+)\b(?!\.)")


def prose(page: str) -> str:
    return _FENCED.sub("", (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_are_there(page: str) -> None:
    named = _FILE.findall(prose(page))
    assert [name for name in named if not any((folder / name).exists() for folder in FOLDERS)] == []


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_of_an_object_it_has(page: str) -> None:
    named = _MEMBER.findall(prose(page))
    assert [f"{what}.{name}" for what, name in named if not has(OBJECTS[what], name)] == []


def has(what: Any, name: str) -> bool:
    return hasattr(what, name) or (is_dataclass(what) and name in {each.name for each in fields(what)})


def test_there_are_such_names() -> None:
    every = [found for page in PAGES for found in _MEMBER.findall(prose(page))]
    assert len(every) > 20
    assert sum(len(_FILE.findall(prose(page))) for page in PAGES) > 5
