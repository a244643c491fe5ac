"""Pages for the operator of the local server: health, metrics, and the Explorer.

    /health   200 if a read and a write of the table have just succeeded, else a problem document with the reason
    /metrics  counts since the start, and the work in progress, as one JSON object
    /explorer the page of the Explorer, which contains no data: it calls the API, with its user's token

They require no authentication, since the server listens on loopback, and contain no value of a record.
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
    """A table with a self-test."""

    def check(self) -> None:
        """Carry out a read, and a write that changes nothing. Raises TableError."""
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
    """The answer of /metrics. `file` is the table's file. `connections` returns the number of connections, `poller_lag`
    the longest time in seconds that a change may have waited."""

    app: Callable[[], AsgiApi]
    file: Path
    connections: Callable[[], int]
    poller_lag: Callable[[], float]
    monotonic: Callable[[], float] = time.monotonic
    started: float = 0.0

    def __call__(self, event: Event) -> dict[str, Any]:
        """The current counts."""
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
