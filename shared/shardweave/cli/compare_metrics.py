"""`shardweave compare-metrics`: compares two versions of a deployment by what their functions logged.

    shardweave compare-metrics old.log new.log

A file has the JSON lines of the API function's log, such as `aws logs tail` or an export writes them, or those of the
local server. Compared are the latency of each route, the shares of failed, throttled, empty and partial
answers, and the read units of a query. A figure is worse if it has grown by more than the tolerance and by more than
chance.

The exit code is 0 if the new version is as good, 1 if it is worse, 3 if there are too few requests to decide, or none
that both versions have: then ask again when there are more. 2: the arguments are wrong.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..errors import ConfigurationError
from ..maintenance.version_metrics import OK, UNDECIDED, VersionFigures, VersionReport, compared, figures_of
from .console import Streams

TOO_FEW = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("old", type=Path, metavar="OLD", help="the log of the version that is to be replaced")
    parser.add_argument("new", type=Path, metavar="NEW", help="the log of the new version")
    parser.add_argument(
        "--tolerance", type=float, default=0.2, metavar="SHARE", help="by how much a figure may grow (default: 0.2)"
    )
    parser.add_argument("--json", action="store_true", help="write one JSON document")


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Compare, print the verdict, and return the exit code."""
    if not 0 <= options.tolerance <= 10:
        raise ConfigurationError("it must be a share from 0 to 10", where="--tolerance", fix="give 0.2 for a fifth")
    report = compared(_read(options.old), _read(options.new), options.tolerance)
    streams.write(json.dumps(document(report)) if options.json else readable(report))
    return {OK: 0, UNDECIDED: TOO_FEW}.get(report.verdict, 1)


def _read(path: Path) -> VersionFigures:
    try:
        with path.open("rb") as file:
            found, is_empty = figures_of(file), file.tell() == 0
    except OSError as error:
        message = f"{path} can't be read: {error.strerror}"
        raise ConfigurationError(message, where="compare-metrics", fix="check the name") from None
    if not (found.documents or is_empty):
        fix = "give the JSON lines that the API function logged"
        raise ConfigurationError(f"{path} has no line of a log", where="compare-metrics", fix=fix)
    return found


def readable(report: VersionReport) -> str:
    """The report for people."""
    lines = [f"{each.name}: {each.old:,.4g}, now {each.new:,.4g}: {each.verdict}" for each in report.figures]
    old, new = report.requests
    return "\n".join([*lines, f"{old:,} requests, now {new:,}: {report.verdict}"])


def document(report: VersionReport) -> dict[str, object]:
    """The report as JSON."""
    figures = [{"name": e.name, "old": e.old, "new": e.new, "verdict": e.verdict} for e in report.figures]
    return {"verdict": report.verdict, "requests": list(report.requests), "figures": figures}
