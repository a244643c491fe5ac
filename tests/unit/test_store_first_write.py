"""The parts of a store that write are made with its first write, once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable

from .shop_world import SCHEMA, Issue, Project

THREADS = 8


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """The interpreter goes from thread to thread as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_threads_that_write_first_at_once_share_what_writes() -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(20):
            store, together = Store(SCHEMA, EmbeddedTable(SCHEMA.layout)), Barrier(THREADS)

            def parts(_: int, store: Store = store, together: Barrier = together) -> object:
                together.wait()
                return store.parts

            assert len({id(each) for each in pool.map(parts, range(THREADS))}) == 1


@pytest.mark.usefixtures("eager_threads")
def test_first_writes_at_once_are_all_carried_out() -> None:
    """Each in a transaction with its number, its parent's counter and the first markers of lookups."""
    table = EmbeddedTable(SCHEMA.layout)
    Store(SCHEMA, table).create(Project(project_id="p"))
    store, together = Store(SCHEMA, table), Barrier(THREADS)

    def create(_: int) -> int:
        together.wait()
        return store.create(Issue(project_id="p")).num

    with ThreadPoolExecutor(THREADS) as pool:
        assert sorted(pool.map(create, range(THREADS))) == list(range(1, THREADS + 1))


def test_a_read_may_be_the_first_to_write_a_marker() -> None:
    """A lookup that is asked in a table without records is marked as ready, by the parts that write."""
    table = EmbeddedTable(SCHEMA.layout)
    assert Store(SCHEMA, table).get_by(Issue, "code", "c") is None
    other = Store(SCHEMA, table)
    other.create(Project(project_id="p"))
    other.create(Issue(project_id="p", code="c"))
    found = Store(SCHEMA, table).get_by(Issue, "code", "c")
    assert found is not None
    assert found.code == "c"
