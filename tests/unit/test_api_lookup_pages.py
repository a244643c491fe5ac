"""Pages of lists by a lookup: exactly as many records as were asked for, and tokens that tell nothing and are bound."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.access import Allow
from shardweave.api.lambda_event import event_of
from shardweave.errors import InputError
from shardweave.query.cursor import DEFAULT_LIFE_MS
from shardweave.schema.declarations import Lookup, Unique
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from tests.unit.access_world import Person, person, two_tenants
from tests.unit.api_world import Client, Clock, Stopwatch, WatchedTable, api_of, json_of, problem_of
from tests.unit.lambda_context import Context
from tests.unit.shop_world import Customer, shop


class Note(Entity, token="note", access=[Allow("*", groups="admin"), Allow("list", "create", owner="user_id")]):
    """What somebody wrote down."""

    note_id: str = unique_property()
    user_id: str
    topic: str
    code: str | None = None
    text: str = ""

    topics = Lookup("topic")
    codes = Unique("code")


NOTES = Schema(entities=[Note])
LIST = "/v1/notes?lookup=topic&topic=cats"


def notes(owners: str, clock: Clock | None = None) -> Person:
    """Notes about cats, each of the one whose letter it has; who may see all of them."""
    admin = person(api_of(NOTES, clock), "root", "admin")
    for number, owner in enumerate(owners):
        admin.made("notes", noteId=f"secret-{number:03}", userId=owner, topic="cats", code=f"code-{number}")
    return admin


def walked(caller: Person, target: str, limit: int) -> list[list[str]]:
    pages = []
    token = ""
    while True:
        page = json_of(caller.get(f"{target}&limit={limit}{token}"))
        assert page["complete"] is True
        pages.append([item["noteId"] for item in page["items"]])
        if page["nextToken"] is None:
            return pages
        token = f"&nextToken={page['nextToken']}"


@given(owners=st.text("ab", max_size=14), limit=st.integers(1, 5))
def test_a_page_has_as_many_records_as_asked_for_of_those_that_the_caller_may_see(owners: str, limit: int) -> None:
    admin = notes(owners)
    pages = walked(person(admin.api, "a"), LIST, limit)
    assert [name for page in pages for name in page] == [
        f"secret-{number:03}" for number, owner in enumerate(owners) if owner == "a"
    ]
    assert all(len(page) == limit for page in pages[:-1])
    assert pages == [[]] or 1 <= len(pages[-1]) <= limit


def test_a_unique_value_of_another_is_not_found() -> None:
    admin = notes("ab")
    caller = person(admin.api, "a")
    assert [len(json_of(caller.get(f"/v1/notes?lookup=code&code=code-{n}"))["items"]) for n in (0, 1)] == [1, 0]


def test_many_records_of_others_are_passed_over_in_few_reads() -> None:
    world = shop()
    for number in range(120):
        world.other.create({"customerId": f"c{number:03}", "city": "Bath"}, Customer)
    world.requests()
    page = world.store.find_by(Customer, "city", "Bath", limit=1, visibility=lambda item: item["customerId"] == "c119")
    assert [each.customer_id for each in page.items] == ["c119"]
    assert world.requests().count("Query") == 7, "2, 4, 8, 16, 32, 64 at a time, then the end"


def test_time_that_is_up_ends_a_page_which_is_gone_on_from() -> None:
    world = shop()
    for number in range(5):
        world.other.create({"customerId": f"c{number}", "city": "Bath"}, Customer)
    found, after, cuts = [], None, 0
    while True:
        page = world.store.find_by(
            Customer,
            "city",
            "Bath",
            limit=1,
            after=after,
            visibility=lambda item: item["customerId"] == "c4",
            deadline=0,
        )
        found += [each.customer_id for each in page.items]
        after, cuts = page.after, cuts + page.cut
        if after is None:
            break
    assert (found, cuts > 1) == (["c4"], True)


def test_a_list_says_that_its_page_was_cut_and_its_token_tells_nothing_of_others() -> None:
    table = WatchedTable(EmbeddedTable(NOTES.layout))
    stopwatch = Stopwatch()
    api = api_of(NOTES, table=table, stopwatch=stopwatch)
    for number, owner in enumerate("bbbba"):
        person(api, "root", "admin").made("notes", noteId=f"secret-{number}", userId=owner, topic="cats")
    table.before = lambda query: stopwatch.passes(0.002)  # longer than the request's time
    client, claims = Client(api), {"jwt": {"claims": {"iss": "https://i", "sub": "a"}}}
    token, pages = "", []
    while not pages or pages[-1]["nextToken"] is not None:
        event = event_of("GET", "/v1/notes", f"lookup=topic&topic=cats&limit=1{token}", {}, b"", claims)
        pages.append(json_of(client.answer(event, Context(remaining_ms=0))))
        token = f"&nextToken={pages[-1]['nextToken']}"
    assert [len(page["items"]) for page in pages if page["items"]] == [1]
    assert pages[0] == {"items": [], "nextToken": pages[0]["nextToken"], "prevToken": None, "complete": False}
    assert b"secret" not in opened(pages[0]["nextToken"])


def test_a_list_says_that_its_records_filled_an_answer() -> None:
    admin = person(api_of(NOTES), "root", "admin")
    for number in range(17):
        text = f"{number:02}" + "x" * 380_000
        admin.made("notes", noteId=f"{number:02}", userId="a", topic="cats", text=text)
    first = json_of(admin.get(LIST))
    assert (len(first["items"]), first["complete"]) == (13, False)
    second = json_of(admin.get(f"{LIST}&nextToken={first['nextToken']}"))
    assert (len(second["items"]), second["complete"], second["nextToken"]) == (4, True, None)


# -- tokens ---------------------------------------------------------------------------------------------------------


def token_of(caller: Person, target: str = LIST) -> str:
    found: str = json_of(caller.get(f"{target}&limit=1"))["nextToken"]
    return found


def opened(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def test_a_token_does_not_show_where_it_stands() -> None:
    admin = notes("aab")
    for caller in (admin, person(admin.api, "a")):
        token = token_of(caller)
        assert b"secret" not in opened(token)
        assert "secret" not in token


@pytest.mark.parametrize(
    "forged",
    [
        base64.urlsafe_b64encode(b"noteId#secret-000").decode(),
        base64.urlsafe_b64encode(b"noteId#" + b"x" * 3000).decode(),
        "",
        "a",
        "é",
    ],
)
def test_a_token_that_was_not_made_here_is_refused(forged: str) -> None:
    problem = problem_of(notes("aab").get(f"{LIST}&nextToken={quote(forged)}"), 400, "invalid_cursor")
    assert problem["where"] == "nextToken"


def test_a_token_that_was_altered_is_refused() -> None:
    admin = notes("aab")
    token = token_of(admin)
    for place in range(len(token)):
        altered = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        problem_of(admin.get(f"{LIST}&nextToken={altered}"), 400, "invalid_cursor")


def test_a_token_is_of_one_lookup_one_value_and_one_caller() -> None:
    admin = notes("aab")
    token = token_of(admin)
    assert len(json_of(admin.get(f"{LIST}&nextToken={token}&limit=7"))["items"]) == 2, "the limit may change"
    for target in ("/v1/notes?lookup=topic&topic=dogs", "/v1/notes?lookup=code&code=cats"):
        problem = problem_of(admin.get(f"{target}&nextToken={token}"), 400, "cursor_mismatch")
        assert problem["where"] == "nextToken"
    problem_of(person(admin.api, "a").get(f"{LIST}&nextToken={token}"), 400, "cursor_mismatch")
    problem_of(admin.get(f"/v1/notes?noteId.from=a&nextToken={token}"), 400, "cursor_mismatch")


def test_a_token_is_of_one_tenant() -> None:
    tenants = two_tenants()
    target = "/v1/tasks?lookup=label&label=urgent"
    for each in tenants:
        each.made("teams", name="red")
        for _ in range(2):
            each.made("tasks", teamName="red", label="urgent")
    acme, bolt = tenants
    token = token_of(acme, target)
    assert len(json_of(acme.get(f"{target}&nextToken={token}"))["items"]) == 1
    problem_of(bolt.get(f"{target}&nextToken={token}"), 400, "cursor_mismatch")


def test_a_token_lives_as_long_as_those_of_other_lists_from_the_first_page_on() -> None:
    clock = Clock()
    admin = notes("aaaa", clock)
    first = token_of(admin)
    clock.now += DEFAULT_LIFE_MS
    second = json_of(admin.get(f"{LIST}&limit=1&nextToken={first}"))["nextToken"]
    clock.now += 1
    problem = problem_of(admin.get(f"{LIST}&limit=1&nextToken={second}"), 400, "cursor_expired")
    assert problem["where"] == "nextToken"


def test_in_python_a_place_is_plain_and_one_that_no_id_can_be_is_refused() -> None:
    world = shop()
    world.store.create({"customerId": "a", "city": "Bath"}, Customer)
    with pytest.raises(InputError) as refused:
        world.store.find_by(Customer, "city", "Bath", after="customerId#" + "x" * 3000)
    assert refused.value.where == "after"
