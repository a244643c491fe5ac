"""The page before, wherever pages are: over HTTP, in lists by a lookup, in Python, on the command line."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave import AsyncDatabase, Database, errors
from tests.unit.access_world import person
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.cli_world import shardweave
from tests.unit.database_world import SCHEMA, Account, Clock, accounts
from tests.unit.shop_world import Customer, shop
from tests.unit.test_api_lookup_pages import LIST, NOTES, notes, opened
from tests.unit.test_api_queries import World
from tests.unit.test_unreadable_records import Shop
from tests.unit.test_unreadable_records import World as DamagedShops

# -- over HTTP


@pytest.fixture(scope="module")
def users() -> Client:
    client = World().client
    for number in range(20):
        user = {"firstName": f"N{number:02}", "lastName": "Jay", "beneficiaryId": "b", "userId": f"id{number:02}"}
        assert client.post("/v1/users", user).status == 201
    return client


def list_page(client: Client, **query: Any) -> Any:
    return json_of(client.get("/v1/users?index=firstName&" + "&".join(f"{name}={query[name]}" for name in query)))


def query_page(client: Client, **query: Any) -> Any:
    return json_of(client.post("/v1/users/query", {"index": "firstName", **query}))


def own_page(client: Client, **query: Any) -> Any:
    return json_of(client.get("/v1/user-search?name=n&" + "&".join(f"{name}={query[name]}" for name in query)))


@pytest.mark.parametrize("ask", [list_page, query_page, own_page])
def test_a_page_has_a_token_for_each_direction(users: Client, ask: Any) -> None:
    pages = [ask(users, limit=4)]
    while pages[-1]["nextToken"] is not None:
        pages.append(ask(users, limit=4, nextToken=pages[-1]["nextToken"]))
    assert pages[0]["prevToken"] is None
    page = pages[-1]
    for expected in reversed(pages[:-1]):
        page = ask(users, limit=4, prevToken=page["prevToken"])
        assert (page["items"], page["complete"]) == (expected["items"], True)
        assert ask(users, limit=4, nextToken=page["nextToken"])["items"] == pages[pages.index(expected) + 1]["items"]
    assert page["prevToken"] is None


def test_what_is_wrong_with_a_token_is_wrong_with_the_parameter_that_it_came_in(users: Client) -> None:
    page = list_page(users, limit=4)
    second = list_page(users, limit=4, nextToken=page["nextToken"])
    for name in ("nextToken", "prevToken"):
        for answer in (
            users.get(f"/v1/users?index=firstName&{name}=altered"),
            users.get(f"/v1/user-search?name=n&{name}=altered"),
            users.post("/v1/users/query", {"index": "firstName", name: "altered"}),
            users.post("/v1/users/explain", {"index": "firstName", name: "altered"}),
        ):
            assert problem_of(answer, 400, "invalid_cursor")["where"] == name
        other = users.get(f"/v1/users?index=lastName&{name}={second['prevToken']}")
        assert problem_of(other, 400, "cursor_mismatch")["where"] == name
    both = {"nextToken": page["nextToken"], "prevToken": second["prevToken"]}
    for answer in (
        users.get("/v1/users?index=firstName&" + "&".join(f"{name}={token}" for name, token in both.items())),
        users.post("/v1/users/query", {"index": "firstName", **both}),
    ):
        assert problem_of(answer, 400, "invalid_input")["where"] == "prevToken"


def test_an_answer_that_is_full_lacks_what_stands_at_its_start() -> None:
    client = Client(api_of(NOTES))
    admin = person(client.api, "root", "admin")
    names = [f"n{number:02}" for number in range(20)]
    for number, name in enumerate(names):
        admin.made("notes", noteId=name, userId="a", topic="cats", text="x" * (380_000 if number < 16 else 10))
    for target in ("/v1/notes?noteId.from=a", LIST):
        first = json_of(admin.get(f"{target}&limit=10"))
        second = json_of(admin.get(f"{target}&limit=8&nextToken={first['nextToken']}"))
        third = json_of(admin.get(f"{target}&limit=2&nextToken={second['nextToken']}"))
        page = json_of(admin.get(f"{target}&limit=100&prevToken={third['prevToken']}"))
        assert ([each["noteId"] for each in page["items"]], page["complete"]) == (names[3:18], False)
        rest = json_of(admin.get(f"{target}&limit=100&prevToken={page['prevToken']}"))
        assert ([each["noteId"] for each in rest["items"]], rest["prevToken"]) == (names[:3], None)


# -- by a lookup


@given(owners=st.text("ab", min_size=1, max_size=16), seed=st.integers(0, 1000))
def test_lists_by_a_lookup_go_back_and_forth(owners: str, seed: int) -> None:
    """Every page is the records next to its place, of those that the caller may see."""
    admin, chooser = notes(owners), random.Random(seed)
    caller = person(admin.api, "a")
    mine = [f"secret-{number:03}" for number, owner in enumerate(owners) if owner == "a"]
    gap, asked, backwards = 0, "", False
    for _ in range(12):
        limit = chooser.randint(1, 5)
        page = json_of(caller.get(f"{LIST}&limit={limit}{asked}"))
        left = mine[:gap] if backwards else mine[gap:]
        expected = left[-limit:] if backwards else left[:limit]
        assert [each["noteId"] for each in page["items"]] == expected
        assert page["complete"] is True
        low, high = (gap - len(expected), gap) if backwards else (gap, gap + len(expected))
        assert (page["nextToken"] is None) == (high == len(mine) and not backwards)
        assert (page["prevToken"] is None) == (low == 0 if backwards else not asked)
        ways = [name for name in ("nextToken", "prevToken") if page[name] is not None]
        if not ways:
            return
        way = chooser.choice(ways)
        assert b"secret" not in opened(page[way])
        asked, backwards, gap = f"&{way}={page[way]}", way == "prevToken", high if way == "nextToken" else low


def test_a_lookup_s_page_that_time_cut_leads_both_ways_from_where_it_was_cut() -> None:
    world = shop()
    for number in range(9):
        world.other.create({"customerId": f"c{number}", "city": "Bath"}, Customer)

    def found(**asked: Any) -> Any:
        def visible(item: Any) -> bool:
            return bool(item["customerId"] in ("c0", "c8"))

        return world.store.find_by(Customer, "city", "Bath", limit=1, visibility=visible, **asked)

    first = found()
    cut = found(after=first.after, deadline=0)
    assert (cut.items, cut.cut, cut.begins) == ((), True, cut.after)
    assert [each.customer_id for each in found(after=cut.begins, backwards=True).items] == ["c0"]
    assert [each.customer_id for each in found(after=cut.after).items] == ["c8"]
    end = found(after=found(after=cut.after).after or "customerId#c8")
    assert (end.items, end.begins) == ((), None)
    assert [each.customer_id for each in found(backwards=True).items] == ["c8"], "from the end"


def test_a_lookup_tells_what_cant_be_read_in_its_place_on_the_way_back() -> None:
    world = DamagedShops()
    for number in range(9):
        world.add(f"s{number}", owner_id="o")
        if number % 3 == 1:
            world.damage(f"s{number}", {"state": "sesame"})

    def read(**asked: Any) -> tuple[list[str], Any]:
        page, found = world.store.find_by(Shop, "ownerId", "o", **asked), list[str]()
        for position, item in enumerate((*page.items, None)):
            found += [f"{each.key['shopId']}!" for each in page.unreadable if each.position == position]
            found += [] if item is None else [item.shop_id]
        return found, page

    found, page = read(limit=2)
    assert found == ["s0", "s1!", "s2"]
    found, page = read(limit=2, after=page.after)
    assert found == ["s3", "s4!", "s5"]
    assert read(limit=9, after=page.begins, backwards=True)[0] == ["s2", "s1!", "s0"]
    found, page = read(limit=9, after="shopId#s6")
    assert found == ["s7!", "s8"]
    assert read(limit=2, after=page.begins, backwards=True)[0] == ["s6", "s5"], "before what was told first"


# -- in Python


@pytest.fixture
def db() -> Any:
    with Database(SCHEMA, clock=Clock()) as made:
        assert made.batch_write(accounts(20)).complete
        yield made


def test_a_database_takes_the_token_back(db: Database) -> None:
    first = db.query(Account, index="created", limit=6)
    second = db.query(Account, index="created", limit=6, next_token=first.next_token)
    back = db.query(Account, index="created", limit=4, prev_token=second.prev_token)
    assert [each.balance for each in back.items] == [2, 3, 4, 5]
    assert [each.balance for each in db.query(Account, index="created", prev_token=back.prev_token).items] == [0, 1]
    assert db.explain(Account, index="created", prev_token=second.prev_token).lanes[0].resumes
    found = db.find_by(Account, "city", "Oslo", limit=4)
    after = db.find_by(Account, "city", "Oslo", limit=4, next_token=found.next_token)
    assert db.find_by(Account, "city", "Oslo", limit=4, prev_token=after.prev_token).items == found.items


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"prev_token": "x"}, errors.InvalidCursor, "prev_token: the cursor"),
        ({"prev_token": 5}, errors.InputError, "prev_token: must be text, got int"),
        ({"next_token": "x", "prev_token": "x"}, errors.InputError, "next_token and prev_token exclude one another"),
    ],
)
def test_a_token_that_can_t_be_is_named(
    db: Database, given: dict[str, Any], error: type[errors.ShardweaveError], said: str
) -> None:
    for ask in (
        lambda: db.query(Account, index="created", **given),
        lambda: db.explain(Account, index="created", **given),
        lambda: db.find_by(Account, "city", "Oslo", **given),
    ):
        with pytest.raises(error, match=said):
            ask()


def test_an_asynchronous_database_takes_it_too() -> None:
    async def whole() -> None:
        async with AsyncDatabase(SCHEMA, clock=Clock()) as db:
            await db.batch_write(accounts(20))
            first = await db.query(Account, index="created", limit=6)
            second = await db.query(Account, index="created", limit=6, next_token=first.next_token)
            back = await db.query(Account, index="created", limit=6, prev_token=second.prev_token)
            assert back.items == first.items
            found = await db.find_by(Account, "city", "Oslo", limit=4)
            after = await db.find_by(Account, "city", "Oslo", limit=4, next_token=found.next_token)
            before = await db.find_by(Account, "city", "Oslo", limit=4, prev_token=after.prev_token)
            assert before.items == found.items

    asyncio.run(whole())


# -- on the command line


def test_the_command_line_says_the_token_back_and_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user = {"beneficiaryId": "b", "firstName": "Ann", "lastName": "B"}
    records = "\n".join(json.dumps(user | {"userId": f"u{number}"}) for number in range(5))
    shardweave("load", "-", "--data", str(tmp_path), given=records)
    asked = ["query", "--entity", "user", "--data", str(tmp_path), "beneficiaryId=b"]
    every_page = [*asked[:-1], "--all", asked[-1]]
    capsys.readouterr()

    def ask(*more: str, command: list[str] = asked) -> tuple[list[str], dict[str, str]]:
        assert shardweave(*command, *more).code == 0
        said = capsys.readouterr()
        tokens = [line.partition(": ") for line in said.err.splitlines() if "Token=" in line]
        return [json.loads(line)["userId"] for line in said.out.splitlines()], {
            name: token for name, _, token in tokens
        }

    every, nothing = ask("limit=9")
    assert nothing == {}
    _, first = ask("limit=2")
    assert first.keys() == {"next page"}
    shown, second = ask("limit=2", first["next page"])
    assert (shown, second.keys()) == (every[2:4], {"next page", "page before"})
    shown, before = ask("limit=1", second["page before"])
    assert (shown, before["page before"].startswith("prevToken=")) == (every[1:2], True)
    shown, _ = ask("limit=1", second["page before"], command=every_page)
    assert shown == every[1::-1], "pages in the token's direction"
    shardweave(*asked[:-1], "--json", asked[-1], "limit=2", second["next page"])
    assert json.loads(capsys.readouterr().out)[0]["prevToken"] is not None
    outcome = shardweave(*asked, "prevToken=altered")
    assert outcome.errors.startswith("error: prevToken: the cursor was altered")
