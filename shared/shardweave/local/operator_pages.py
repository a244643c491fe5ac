"""What an operator of the local server asks it: whether it works, and what it is at work on.

    /health   200 when a read and a write of the table succeeded just now, else a problem document that says what failed
    /metrics  counts since the start, and what is under way, as one JSON object
    /explorer the page of the Explorer, which has no data: it asks the API for it, with its reader's token

None asks who is there: the server listens on loopback, and no record's value is in them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .. import __version__
from ..api.explorer.files import PAGE, PATH, page_files
from ..api.http import Response
from ..api.problems import problem
from ..errors import ShardweaveError
from .asgi import AsgiApi, Event, Page


class Checked(Protocol):
    """A table that can be tried."""

    def check(self) -> None:
        """Read, and write without changing anything. Raises TableError."""
        ...


def health(table: Checked) -> dict[str, Any]:
    """The answer of /health."""
    try:
        table.check()
    except ShardweaveError as error:
        return problem(error).as_lambda_answer()
    return _json({"status": "ok", "version": __version__})


@dataclass(frozen=True)
class Metrics:
    """The answer of /metrics. `file` is the table's; `connections` and `poller_lag` say how many there are, and for how
    many seconds changes have waited at most."""

    app: Callable[[], AsgiApi]
    file: Path
    connections: Callable[[], int]
    poller_lag: Callable[[], float]
    monotonic: Callable[[], float] = time.monotonic
    started: float = 0.0

    def __call__(self, event: Event) -> dict[str, Any]:
        """The counts now."""
        del event
        app = self.app()
        document = {
            "version": __version__,
            "uptimeSeconds": round(self.monotonic() - self.started, 3),
            "answers": dict(sorted(app.answers.items())),
            "connections": self.connections(),
            "reads": app.reads.accepted,
            "writes": app.writes.accepted,
            "tableBytes": _size(self.file),
            "logBytes": _size(self.file.with_name(f"{self.file.name}-wal")),
            "pollerLagSeconds": round(self.poller_lag(), 3),
        }
        return _json(document)


def explorer_pages() -> dict[str, Page]:
    """The Explorer's page and its files, by their paths."""
    return {PATH if name == PAGE else f"{PATH}/{name}": _always(file) for name, file in page_files().items()}


def _always(response: Response) -> Page:
    return lambda _: response.as_lambda_answer()


def _json(document: dict[str, Any]) -> dict[str, Any]:
    return Response.json(200, json.dumps(document).encode()).as_lambda_answer()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
