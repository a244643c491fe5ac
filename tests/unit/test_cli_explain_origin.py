"""`shardweave explain` of a service whose records have shard keys: planning makes no keys and needs none."""

from __future__ import annotations

from pathlib import Path

import pytest

from .cli_world import shardweave

SERVICE = '''
from shardweave import ORDERED, Entity, Schema, unique_property


class Ticket(Entity, token="ticket", origin="t"):
    """It has a key."""

    ticket_id: str = unique_property()


def schema(key_format=ORDERED):
    return Schema([Ticket], key_format=key_format)
'''


def test_a_query_of_records_with_shard_keys_is_explained_and_no_folder_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tickets.py").write_text(SERVICE)
    folder = tmp_path / "data"
    given = ("--service", str(tmp_path / "tickets.py"), "--data", str(folder), "--entity", "ticket", "limit=2")
    outcome = shardweave("explain", *given)
    assert outcome.code == 0, outcome.errors
    assert "ticket by the table" in capsys.readouterr().out
    assert not folder.exists()
