"""The protocol searched exhaustively, with two writers."""

from __future__ import annotations

from tests.simulator.model import search


def test_two_writers() -> None:
    states, wrong = search(writers=2)
    assert not wrong
    assert states > 60_000
