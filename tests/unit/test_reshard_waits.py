"""The waits of a re-shard as a setting."""

from __future__ import annotations

import pytest

from shardweave.errors import ConfigurationError
from shardweave.reshard.phases import Waits
from shardweave.reshard.wait_settings import FAST, LOCAL, NAMED, decode_waits, encode_waits


@pytest.mark.parametrize("waits", [Waits(), LOCAL, FAST, Waits(recheck_ms=())])
def test_they_come_back_from_their_json(waits: Waits) -> None:
    assert decode_waits(encode_waits(waits), "here") == waits


@pytest.mark.parametrize("name", NAMED)
def test_some_have_names(name: str) -> None:
    assert decode_waits(name, "here") == NAMED[name]


def test_what_is_not_said_is_as_usual() -> None:
    assert decode_waits('{"leaseMs": 5}', "here") == Waits(lease_ms=5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "[]",
        '{"lease": 1}',
        '{"leaseMs": -1}',
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


def test_waits_on_one_machine_are_short_enough_for_each_other() -> None:
    """A command that works on the folder of a server knows its own lease only."""
    assert FAST.skew_ms >= LOCAL.lease_ms
