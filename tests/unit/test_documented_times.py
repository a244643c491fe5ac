"""Records that the documents show were written after they were created, as records are."""

from __future__ import annotations

import re
from pathlib import Path

SHOWN = re.compile(r'"created": (\d+)[^{}]*?"updated": (\d+)')


def test_no_record_is_older_than_itself() -> None:
    documents = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
    times = [
        (document.name, created, updated)
        for document in documents
        for created, updated in SHOWN.findall(document.read_text(encoding="utf-8"))
    ]
    assert times
    assert [each for each in times if int(each[1]) > int(each[2])] == []
