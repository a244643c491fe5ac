"""`--json`: the report of a command as one JSON document on standard output. Its lines stay on standard error."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from .console import Streams


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="write one JSON document")


def write_report(options: argparse.Namespace, streams: Streams, document: Mapping[str, Any]) -> None:
    """Write a report, if `--json` is given."""
    if options.json:
        streams.write(json.dumps(document, ensure_ascii=False, default=str))
