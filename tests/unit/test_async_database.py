"""The database for an event loop: the methods of the other one, awaitable, and none of them blocks the loop."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from shardweave import AsyncDatabase, Create, Database, errors
from tests.unit.async_uses import USES, Use, fill
from tests.unit.database_world import SCHEMA, Account, Clock, accounts


def run(work: Use) -> None:
    """Do something with a database of ten accounts."""

    async def whole() -> None:
        async with AsyncDatabase(SCHEMA, clock=Clock()) as db:
            await fill(db)
            await work(db)

    asyncio.run(whole())


def public(of: type) -> dict[str, inspect.Signature]:
    return {name: inspect.signature(each) for name, each in vars(of).items() if callable(each) and name[0] != "_"}


def test_it_has_the_methods_of_the_other_one_with_the_same_parameters() -> None:
    there = {name: list(each.parameters.values()) for name, each in public(Database).items() if name != "over"}
    here = {name: list(each.parameters.values()) for name, each in public(AsyncDatabase).items()}
    assert here == there
    opened, opened_here = (inspect.signature(each).parameters for each in (Database, AsyncDatabase))
    assert opened.keys() == opened_here.keys() - {"threads"}


@pytest.mark.parametrize("work", USES)
def test_it_does_what_the_other_one_does(work: Use) -> None:
    run(work)


def test_several_calls_are_under_way_at_once_and_the_loop_goes_on() -> None:
    """Two updates wait for one another: neither could end if one held the loop, or the other's thread."""
    meeting = threading.Barrier(2, timeout=600)

    async def work(db: AsyncDatabase) -> None:
        def meet(record: Account) -> dict[str, int]:
            if record.limit != 7:
                meeting.wait()
            return {"limit": 7}

        both = await asyncio.gather(db.update(Account, "red000", meet), db.update(Account, "red001", meet))
        assert [each.limit for each in both] == [7, 7]

    run(work)


def test_errors_are_those_of_the_other_one() -> None:
    async def work(db: AsyncDatabase) -> None:
        with pytest.raises(errors.AlreadyExists):
            await db.transact([Create(accounts(1)[0])])
        with pytest.raises(errors.UnknownName, match="citty"):
            await db.query(Account, citty="x")

    run(work)


def test_a_closed_one_refuses_everything() -> None:
    async def whole() -> None:
        db = AsyncDatabase(SCHEMA)
        await db.close()
        await db.close()
        with pytest.raises(errors.InputError, match="database: it is closed"):
            await db.get(Account, "x")
        with pytest.raises(errors.InputError, match="database: it is closed"):
            async with db:
                pass

    asyncio.run(whole())


@pytest.mark.parametrize("threads", [0, True, "5", 10_000])
def test_a_number_of_threads_that_none_can_be_is_refused(threads: int) -> None:
    with pytest.raises(errors.InputError, match="threads: must be a number from 1 to"):
        AsyncDatabase(SCHEMA, threads=threads)
