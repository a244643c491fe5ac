"""The plan of every query that the documents show is on record: a change of it is seen, and meant.

`docs/plans.md` is the record, and README shows what `explain` prints for each of its queries. `WRITE_DOCS=1` writes
both anew.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from services import user_service
from shardweave.errors import InputError
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.table.embedded import EmbeddedTable
from shardweave.wire.list_parameters import ListQuery
from tests.unit.cli_world import shardweave

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "plans.md"
DAY = 1_735_689_600_000
HEADING = """# The plans of the documented queries

The plan of each list query in the documents: the index and the reason for it, and every lane with its hash key,
interval and first fetch. A test compares this page with the planner.
"""

_EXPLAIN = re.compile(r"```sh\n\./run shardweave (explain .*)\n```\n\n```text\n((?:.|\n)*?)```")
_PAGE = re.compile(r"```json\n(\{\"items\": \[(?:.|\n)*?)\n```")
_CURL = re.compile(r"```sh\n(curl (?:.|\n)*?)\n```")


def documented_queries() -> Iterator[str]:
    """The list queries of README and docs, each once, as path and parameters."""
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    return iter(dict.fromkeys(query for page in pages for query in queries_of(page.read_text(encoding="utf-8"))))


def queries_of(text: str) -> Iterator[str]:
    """The list queries of a page."""
    for command in _CURL.findall(text):
        words = shlex.split(command.replace("\\\n", " "))
        if {"-X", "--json", "-d", "--data"} & set(words):
            continue
        for word in words:
            parts = urlsplit(word)
            if parts.path in ("/v1/users", "/v1/emails"):
                yield f"{parts.path}?{parts.query}" if parts.query else parts.path


def plan_of(query: str, schema: user_service.Schema, runner: QueryRunner) -> str | None:
    """The plan as text; None for a query that shows a refusal."""
    parts = urlsplit(query)
    entity = schema.collection(parts.path.rpartition("/")[2])
    given = {name: value for name, value in parse_qsl(parts.query) if name not in ("nextToken", "prevToken")}
    try:
        return runner.explain(ListQuery(entity).spec(given)).plan_text()
    except InputError:
        return None


@pytest.fixture(scope="module")
def record() -> str:
    schema = user_service.schema()
    table = EmbeddedTable(schema.layout)
    runner = QueryRunner(schema, table, CursorKeys("k", {"k": b"k" * 32}), clock=lambda: DAY)
    plans = [(query, plan_of(query, schema, runner)) for query in documented_queries()]
    runner.close()
    table.close()
    return HEADING + "".join(f"\n## `{query}`\n\n```text\n{plan}\n```\n" for query, plan in plans if plan is not None)


def test_the_plan_of_every_documented_query_is_the_one_on_record(record: str) -> None:
    assert record.count("\n## ") >= 10
    if os.environ.get("WRITE_DOCS"):
        RECORD.write_text(record, encoding="utf-8")
    assert RECORD.read_text(encoding="utf-8") == record


def test_readme_shows_what_explain_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    found = list(_EXPLAIN.finditer(text))
    assert found
    token = token_of_first_page(text, str(tmp_path), capsys)
    for example in found:
        command, *words = shlex.split(example[1].replace("$TOKEN", token).replace("--data .data/tour ", ""))
        outcome = shardweave(command, "--data", str(tmp_path), *words)
        printed = capsys.readouterr().out + outcome.errors
        if os.environ.get("WRITE_DOCS"):
            shown = example[0].removesuffix(f"{example[2]}```") + f"{printed}```"
            text = text.replace(example[0], shown)
            readme.write_text(text, encoding="utf-8")
        else:
            assert example[2] == printed


def token_of_first_page(readme: str, folder: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The token of README's first page, from a table with the records that README shows."""
    shown = [record for page in _PAGE.findall(readme) for record in json.loads(page)["items"]]
    assert len(shown) == 5
    shardweave("load", "-", "--entity", "user", "--data", folder, given="\n".join(map(json.dumps, shown)))
    shardweave("query", "--entity", "user", "--data", folder, "firstNameCanonical.prefix=ja", "limit=3")
    (token,) = re.findall("nextToken=(.*)", capsys.readouterr().err)
    return token


def test_every_query_of_the_readme_is_explained_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    asked = [dict(parse_qsl(urlsplit(query).query)) for query in queries_of(text)]
    explained = [
        dict(word.split("=", 1) for word in shlex.split(example[1]) if "=" in word)
        for example in _EXPLAIN.finditer(text)
    ]
    assert len(asked) >= 3
    assert asked == explained
