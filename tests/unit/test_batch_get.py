"""Reads of many items by key: every key once, at most a hundred a request, again while any are left unprocessed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.table.batch_get import KeysToRead, read_in_turn
from shardweave.table.operations import MAX_BATCH_GET, BatchGet, BatchGetAnswer
from shardweave.table.retry import RetryClock, RetryPolicy
from shardweave.table.values import Item

NAMES = ("hashKey", "rangeKey")


def key(number: int) -> Item:
    return {"hashKey": f"h{number}", "rangeKey": "r"}


class Table:
    """Has the items of even numbers, processes what it draws, and does not answer now and then."""

    def __init__(self, seed: int, *, processes: float = 0.5, answers: float = 0.8) -> None:
        self.draw = random.Random(seed)
        self.processes, self.answers = processes, answers
        self.asked: list[BatchGet] = []

    def ask(self, request: BatchGet) -> BatchGetAnswer | None:
        self.asked.append(request)
        if self.draw.random() >= self.answers:
            return None
        read = [each for each in request.keys if self.draw.random() < self.processes]
        there = [{**each, "n": 1} for each in read if int(each["hashKey"][1:]) % 2 == 0]
        return BatchGetAnswer(tuple(there), tuple(each for each in request.keys if each not in read))


def patient() -> RetryClock:
    return RetryClock(sleep=lambda _: None, random=lambda: 1.0, monotonic=lambda: 0.0)


@given(numbers=st.lists(st.integers(0, 250), max_size=300), seed=st.integers(0, 1_000))
def test_each_key_is_read_once_whatever_is_left_unprocessed(numbers: list[int], seed: int) -> None:
    table, wanted = Table(seed), KeysToRead(NAMES, map(key, numbers))
    assert read_in_turn(wanted, table.ask, patient().pauses(RetryPolicy(attempts=10_000)))
    assert wanted.found == {
        (f"h{number}", "r"): {**key(number), "n": 1} if number % 2 == 0 else None for number in numbers
    }
    assert all(0 < len(request.keys) <= MAX_BATCH_GET and request.consistent for request in table.asked)
    assert all(len({each["hashKey"] for each in request.keys}) == len(request.keys) for request in table.asked)


@pytest.mark.parametrize(("answers", "processes"), [(0.0, 1.0), (1.0, 0.0)], ids=["unanswered", "unprocessed"])
def test_a_table_without_any_progress_is_given_up(answers: float, processes: float) -> None:
    table, wanted = Table(1, answers=answers, processes=processes), KeysToRead(NAMES, [key(2), key(4)])
    assert not read_in_turn(wanted, table.ask, patient().pauses(RetryPolicy(attempts=3)))
    assert (len(table.asked), wanted.found, wanted.left) == (3, {}, 2)


def test_what_was_read_before_a_table_was_given_up_is_kept() -> None:
    table, wanted = Table(7, answers=1.0), KeysToRead(NAMES, map(key, range(20)))
    (request,) = wanted.requests(consistent=False)
    answer = table.ask(request)
    assert answer is not None
    assert wanted.take(request, answer)
    assert 0 < len(wanted.found) == 20 - wanted.left < 20
    (again,) = wanted.requests(consistent=False)
    assert again.keys == answer.unprocessed
