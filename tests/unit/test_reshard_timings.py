"""The waits of a re-shard as a setting."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from shardweave.cli.open_table import open_service
from shardweave.errors import ConfigurationError
from shardweave.reshard.phases import Waits
from shardweave.reshard.timings import FAST, LOCAL, NAMED, SHORTEST_LEASE_MS, decode_waits, encode_waits


@pytest.mark.parametrize("waits", [Waits(), LOCAL, FAST, Waits(recheck_ms=())])
def test_they_come_back_from_their_json(waits: Waits) -> None:
    assert decode_waits(encode_waits(waits), "here") == waits


@pytest.mark.parametrize("name", NAMED)
def test_some_have_names(name: str) -> None:
    assert decode_waits(name, "here") == NAMED[name]


def test_what_is_not_said_is_as_usual() -> None:
    assert decode_waits('{"leaseMs": 700}', "here") == Waits(lease_ms=700)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "[]",
        '{"lease": 1}',
        '{"leaseMs": -1}',
        '{"leaseMs": 249}',
        '{"leaseMs": "1"}',
        '{"leaseMs": true}',
        '{"recheckMs": 1}',
        '{"recheckMs": [1.5]}',
        '{"leaseMs": [1]}',
    ],
)
def test_anything_else_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        decode_waits(text, "RESHARD_WAITS")
    assert caught.value.where == "RESHARD_WAITS"
    assert caught.value.fix


def test_the_command_line_knows_of_no_stages_phase_for_longer_than_its_phases_are_made_for(
    tmp_path: Path,
) -> None:
    where = {"data": tmp_path, "table": "t", "endpoint_url": "http://127.0.0.1:9", "region": "eu-west-1"}
    service = open_service(argparse.Namespace(service="user_service", key_format="ordered", **where))
    shortest = decode_waits(f'{{"leaseMs": {SHORTEST_LEASE_MS}}}', "here")
    assert service.settings.waits.lease_ms == shortest.lease_ms <= min(waits.lease_ms for waits in NAMED.values())
    assert service.settings.waits.cursor_life_ms == Waits().cursor_life_ms
    service.close()


def test_waits_on_one_machine_are_short_enough_for_each_other() -> None:
    """A command that works on the folder of a server knows its own lease only."""
    assert FAST.skew_ms >= LOCAL.lease_ms


def test_the_guide_says_what_the_named_ones_are() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "operating-resharding.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in guide.splitlines() if "Ms` |" in line]
    told = {row[0].strip("`"): row[2:] for row in rows}
    for column, waits in enumerate(("normal", "local", "fast")):
        for name, value in json.loads(encode_waits(NAMED[waits])).items():
            cell = told[name][column].replace("the same", told[name][0])
            assert json.loads(cell if isinstance(value, list) else cell.replace(",", "")) == value, (waits, name)
