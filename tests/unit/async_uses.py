"""What a program does with a database on an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from shardweave import Add, AsyncDatabase, Delete, Update
from tests.unit.database_world import Account, Team, accounts

Use = Callable[[AsyncDatabase], Awaitable[None]]
"""Does something with a database of ten accounts."""


async def fill(db: AsyncDatabase) -> None:
    await db.create(Team(team_id="red", name="Red"))
    assert (await db.batch_write(accounts(10))).complete


async def write_and_read(db: AsyncDatabase) -> None:
    made = await db.create(Account(team_id="red", email="ann@example.org"))
    assert await db.get(Account, made.account_id) == made
    assert (await db.update(Account, made.account_id, {"limit": 2})).limit == 2
    assert (await db.put(made)).limit == 0
    assert await db.get_by(Account, "email", "ann@example.org") == made
    assert await db.transact([Delete(Account, made.account_id)]) == (None,)
    assert not await db.delete(Account, made.account_id)
    assert await db.batch_get(Account, [made.account_id]) == [None]
    assert (await db.create("team", {"team_id": "blue", "name": "Blue"})).name == "Blue"


async def ask(db: AsyncDatabase) -> None:
    page = await db.query(Account, team_id="red", city="Oslo", limit=2)
    assert [each.balance for each in page.items] == [1, 3]
    assert [each.balance async for each in db.records(Account, index="created", limit=3)] == [*range(10)]
    assert (await db.count(Account, team_id="red"), await db.exists(Account, team_id="blue")) == (10, False)
    first = await db.first(Account, index="created", reverse=True)
    assert first is not None
    assert first.balance == 9
    assert (await db.find_by(Account, "city", "Oslo")).items[0].balance == 1
    assert (await db.explain(Account, team_id="red")).entity == "account"
    assert sorted([each.balance async for each in db.scan(Account)]) == [*range(10)]
    assert await db.expand([first], "team") == [{"team": Team(team_id="red", name="Red")}]


async def change(db: AsyncDatabase) -> None:
    """What depends on what is stored, or gives what was there."""
    made = await db.update(Account, "new", {"limit": 1}, upsert={"team_id": "red", "email": "new@example.org"})
    assert (made.account_id, made.limit) == ("new", 1)
    assert (await db.update(Account, "new", lambda account: {"limit": account.limit + 1}, upsert={})).limit == 2
    assert (await db.add(Account, "new", {"balance": 5})).balance == 5
    added = await db.add(Account, "added", {"balance": 1}, upsert={"team_id": "red", "email": "added@example.org"})
    assert added.balance == 1
    await asyncio.gather(*(db.add(Account, "added", {"balance": 1}) for _ in range(10)))
    updates = [Update(Account, "added", {"limit": 3}), Update(Account, "nobody", {"limit": 3})]
    assert [each.status for each in (await db.batch_write(updates=updates)).updates] == ["written", "failed"]
    _, last = await db.transact([Add(Account, "new", {"balance": 1}), Add(Account, "added", {"balance": 1})])
    assert isinstance(last, Account)
    assert (last.balance, last.limit) == (12, 3)
    assert await db.put(last.model_copy(update={"limit": 4}), returning="old") == last
    gone = await db.delete(Account, "added", returning="old")
    assert gone is not None
    assert (gone.limit, await db.delete(Account, "added", returning="old")) == (4, None)
    assert list(await db.deletions()) == []


USES = (write_and_read, ask, change)
