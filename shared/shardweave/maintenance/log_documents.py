"""The JSON documents of a log, in each form in which CloudWatch gives it.

    {"route": ...}                                  a line each, as the function writes them and an export has them
    2026-01-01T00:00:00 stream {"route": ...}       after a time and the name of a stream (`aws logs tail`)
    2026-01-01T00:00:00 stream {                    over several lines (`aws logs tail --format json`)
        "route": ...
    }
    {"events": [{"message": "{...}"}, ...]}         the events of `aws logs filter-log-events`

All else is passed over.

Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

MAX_LINES = 1_000_000
"""A document of more lines is none."""


def documents(lines: Iterable[str | bytes]) -> Iterator[dict[str, Any]]:
    """The documents, in order."""
    begun: list[str] = []
    for each in lines:
        line = each.decode("utf-8", "replace") if isinstance(each, bytes) else each
        if begun:
            begun.append(line)
            if line.rstrip() == "}" or len(begun) > MAX_LINES:
                yield from _of("".join(begun))
                begun = []
            continue
        start = line.find("{")
        if start < 0:
            continue
        if line[start:].rstrip() == "{":
            begun = [line[start:]]
        else:
            yield from _of(line[start:])


def _of(text: str) -> Iterator[dict[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(document, dict):
        return
    events = document.get("events")
    if not isinstance(events, list):
        yield document
        return
    for event in events:
        message = event.get("message") if isinstance(event, dict) else None
        if isinstance(message, str):
            yield from _of(message[max(0, message.find("{")) :])
