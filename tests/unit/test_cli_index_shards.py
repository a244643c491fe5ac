"""The command line where indexes have shards of their own: what `plan` advises, and what `space` and `keys` print."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.cli.plan import PARTITION_WRITE_UNITS, index_plan, plan

from .cli_world import shardweave

LEAN = ("--service", "user_service_lean", "--entity", "user")
MINE = "beneficiaryId#JCcwi4vyqwMJdaBwbjLG3"


def test_the_shards_of_indexes_follow_from_their_writes() -> None:
    outcome = shardweave(
        "plan", "--records", "3e9", "--bytes", "512", "--writes", "2000",
        "--index", "seller=1e6", "--index", "all=1", "--index", "state=2",
    )  # fmt: skip
    assert outcome.code == 0
    indexes = json.loads(outcome.output)["indexes"]
    assert indexes["seller"] == {
        "values": 1_000_000,
        "shards": 1,
        "requestsPerPage": 1,
        "recordsPerKey": 3000,
        "bytesPerKey": 1_536_000,
        "writeUnitsPerKey": 1,
    }
    assert [indexes[name]["shards"] for name in ("all", "state")] == [4, 2]
    assert [indexes[name]["writeUnitsPerKey"] for name in ("all", "state")] == [500, 500]


def test_an_index_that_needs_as_many_as_the_table_needs_none_of_its_own() -> None:
    table = plan(10**6, 1024)
    assert table["shards"] == 1
    found = index_plan(table, 5000, 1)
    assert (found["shards"], found["requestsPerPage"]) == (None, 1)


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.sampled_from([100, 1024, 5000]))
def test_no_hash_key_is_written_more_than_a_partition_takes_and_half_as_many_would_be_too_few(
    writes: int, values: int, size: int
) -> None:
    table = plan(10**12, size)
    found = index_plan(table, writes, values)
    shards, units = found["shards"], writes * -(-size // 1024)
    if shards is None:
        return
    assert units * 1.2 <= values * shards * PARTITION_WRITE_UNITS
    assert shards == 1 or units * 1.2 > values * shards / 2 * PARTITION_WRITE_UNITS
    assert shards & (shards - 1) == 0


@pytest.mark.parametrize("given_index", ["seller", "=5", "seller=", "seller=0", "seller=x"])
def test_what_is_no_name_and_number(given_index: str) -> None:
    with pytest.raises(SystemExit) as exited:
        shardweave("plan", "--records", "1", "--bytes", "1", "--writes", "1", "--index", given_index)
    assert exited.value.code == 2


def test_without_the_writes_nothing_is_advised() -> None:
    outcome = shardweave("plan", "--records", "1", "--bytes", "1", "--index", "seller=5")
    assert outcome.code == 2
    assert "give --writes" in outcome.errors


@pytest.mark.parametrize(
    ("hash_key", "item", "space"),
    [
        ("hash_key", {}, ["user!0", "user!1", "user!2", "user!3"]),
        ("all_hash_key", {}, ["user!0", "user!1", "user!2", "user!3"]),
        ("userBeneficiaryHashKey", {"beneficiaryId": "JCcwi4vyqwMJdaBwbjLG3"}, [f"user!0 |{MINE}"]),
    ],
)
def test_the_space_of_a_hash_key_has_its_own_shards(hash_key: str, item: Any, space: list[str]) -> None:
    assert shardweave("space", *LEAN, "--hash-key", hash_key, "--item", json.dumps(item)).lines == [space]


def test_keys_have_their_own_shards() -> None:
    user = {"userId": "wf5yU_5f63gqauSOLpP5O", "beneficiaryId": "JCcwi4vyqwMJdaBwbjLG3", "created": 1726880933000}
    (line,) = shardweave("keys", *LEAN, given=json.dumps(user)).lines
    assert {name: line[name] for name in ("hashKey", "userBeneficiaryHashKey", "allHashKey")} == {
        "hashKey": "user!1",
        "userBeneficiaryHashKey": f"user!0 |{MINE}",
        "allHashKey": "user!1",
    }
