"""What docs/shard-keys.md says is so: its examples run, and its table of lengths holds."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any
from uuid import UUID

from shardweave.keys.shard_key import EMPTY, ShardChild, ShardGrandchild, ShardKey
from shardweave.keys.shard_key.external import MAX_TEXT_CHARACTERS
from shardweave.keys.shard_key.identifiers import MAX_ID_BYTES

from .shard_key_cases import IDS, KEYS

GUIDE = (Path(__file__).parents[2] / "docs" / "shard-keys.md").read_text()
NAMES: dict[str, Any] = {
    "EMPTY": EMPTY,
    "ShardKey": ShardKey,
    "ShardChild": ShardChild,
    "ShardGrandchild": ShardGrandchild,
    "UUID": UUID,
    "UTC": dt.UTC,
    "date": dt.date,
    "datetime": dt.datetime,
}


def test_the_examples_run() -> None:
    examples = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert len(examples) == 5
    names: dict[str, Any] = {"__name__": __name__}
    for example in examples:
        exec(compile(example, "docs/shard-keys.md", "exec", dont_inherit=True), names)


def test_the_lengths_are_as_listed() -> None:
    rows = re.findall(r"^\| [^|]+ \| `([^`]+)` \| (\d+) \|$", GUIDE, re.MULTILINE)
    assert len(rows) == 12
    for expression, characters in rows:
        key = eval(expression, dict(NAMES))
        assert len(KEYS.encode(key)) == int(characters), expression
        ids = sum(len(part) for part in key.parts[2:])
        size = 10 + len(key.shard) + ids + 2 * (len(key.ids) - 1)
        assert int(characters) == -(-size * 8 // 6), expression


def test_the_limits_and_the_types_are_as_listed() -> None:
    assert f"more than {MAX_TEXT_CHARACTERS:,} characters" in GUIDE
    assert f"up to {MAX_ID_BYTES:,} bytes" in GUIDE
    listed = re.findall(r"^\| `([a-zA-Z.]+)` \| [^|]+ \| [^|]+ \|$", GUIDE, re.MULTILINE)
    assert [name.removeprefix("uuid.") for name in listed] == [python.__name__ for python in IDS]
