"""Commands on a table of DynamoDB that are given another key format than its records have: refused, nothing written."""

from __future__ import annotations

import pytest

from services.user_service import User, schema
from shardweave.keys.key_format import ARTICLE
from shardweave.table.operations import Scan
from tests.integration.conftest import REGION
from tests.integration.table_contract import OpenTable
from tests.unit.cli_world import shardweave
from tests.unit.store_world import World

TABLES = ("ministack",)


@pytest.mark.parametrize("command", [("doctor", "--repair"), ("rewrite",), ("backfill",), ("rebuild",)])
def test_what_writes_keys_anew_refuses_another_key_format(
    open_table: OpenTable, ministack_url: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    table = open_table(schema(ARTICLE).layout)
    world = World(schema=schema(ARTICLE), table=table)
    for number in range(8):
        values = {"userId": f"u{number}", "beneficiaryId": "b", "firstName": f"A{number}", "lastName": "B"}
        world.store.create(values, User)
    where = ("--table", table.name, "--endpoint-url", ministack_url, "--region", REGION, "--service", "user_service")
    before = table.run(Scan(consistent=True)).items
    refused = shardweave(*command, *where, now=world.clock.now)
    assert (refused.code, refused.output) == (2, "")
    assert f"the records of {table.name} are written in the key format 'article', not in 'ordered'" in refused.errors
    assert table.run(Scan(consistent=True)).items == before
    right = shardweave(*command, *where, "--key-format", "article", now=world.clock.now)
    assert right.code == 0, right.errors
