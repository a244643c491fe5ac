"""The whole template on record, so that a change of what is deployed is seen where it is reviewed.

Hashes of assets and versions are left out: they change with every line of the library. `WRITE_DOCS=1` writes the record
anew.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from shardweave.cdk.sources import ROOT

SNAPSHOT = ROOT / "tests" / "data" / "template_snapshot.json"
_HASH = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"(CurrentVersion[0-9A-F]{8}|LayerVersion[0-9A-F]{8})[0-9a-f]{32}")


def scrubbed(template: dict[str, Any]) -> str:
    text = json.dumps(template, indent=1, sort_keys=True) + "\n"
    return _VERSION.sub(r"\1", _HASH.sub("HASH", text))


def test_the_template_is_what_is_on_record(template: dict[str, Any]) -> None:
    made = scrubbed(template)
    if os.environ.get("WRITE_DOCS"):
        SNAPSHOT.write_text(made)
    assert made == SNAPSHOT.read_text(), "what is deployed changes; if it should, WRITE_DOCS=1 writes the new record"
