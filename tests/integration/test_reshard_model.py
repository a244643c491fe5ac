"""The protocol searched exhaustively, with two writers."""

from __future__ import annotations

from tests.simulator.model import ADDITIONS, search


def test_two_writers() -> None:
    states, wrong = search(writers=2)
    assert not wrong
    assert states > 60_000


def test_additions_that_the_table_carries_out() -> None:
    """They change whatever is live and bears no unknown mark, without having read it."""
    states, wrong = search(writers=2, kinds=ADDITIONS)
    assert not wrong
    assert states > 20_000
