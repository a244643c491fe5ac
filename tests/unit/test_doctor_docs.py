"""The guide lists the kinds of faults as the doctor has them."""

from __future__ import annotations

import os
from pathlib import Path

from shardweave.maintenance.fault_kinds import KINDS, Severity, kinds_table

GUIDE = Path(__file__).parents[2] / "docs" / "doctor.md"
BEGIN, END = "<!-- kinds -->\n", "<!-- end of kinds -->"


def test_the_guide_has_every_kind_with_what_it_is_how_it_comes_and_what_repair_does() -> None:
    text = GUIDE.read_text()
    head, rest = text.split(BEGIN)
    if os.environ.get("WRITE_DOCS"):
        GUIDE.write_text(head + BEGIN + "\n" + kinds_table() + "\n" + END + rest.split(END)[1])
    assert GUIDE.read_text().split(BEGIN)[1].split(END)[0].strip() == kinds_table().strip()


def test_what_takes_a_person_is_not_repaired_and_says_what_to_do_instead() -> None:
    for kind in KINDS.values():
        assert kind.what
        assert kind.comes
        assert kind.repair.startswith("none: ") == (kind.severity is Severity.NEEDS_A_PERSON)
