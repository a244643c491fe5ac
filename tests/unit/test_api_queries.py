"""Queries over HTTP: several indexes at once, filters, counts, plans; what happens when shards fail or time ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from services.user_service import search_user
from shardweave.api.http import Response
from shardweave.api.lambda_event import event_of
from shardweave.api.operation import Call
from shardweave.api.pages import within
from shardweave.errors import TransactionConflict, ValueRefused
from shardweave.query.spec import QuerySpec
from shardweave.table import Table
from shardweave.table.operations import Query
from tests.unit.api_world import PARTS, Client, Stopwatch, WatchedTable, api_of, json_of, problem_of, user_service

NAMES = [("Jason", "Wu"), ("Ann", "Jackson"), ("Jay", "Jacobs"), ("Zoë", "Ja"), ("Bob", "Bell"), ("Ján", "Adams")]
EITHER = {
    "branches": [
        {"index": "firstName", "conditions": {"firstNameCanonical": {"prefix": "ja"}}},
        {"index": "lastName", "conditions": {"lastNameCanonical": {"prefix": "ja"}}},
    ]
}
IN_ORDER = ["Zoë", "Ann", "Jay", "Ján", "Jason"]
"""By the name that was found: ja, jackson, jacobs, jan, jason."""


class World:
    """Six users, a client, and a table that can be made to fail or wait."""

    def __init__(self) -> None:
        self.stopwatch = Stopwatch()
        self.service = user_service(watch=self._watched, stopwatch=self.stopwatch)
        self.client = Client(self.service.api)
        for number, (first, last) in enumerate(NAMES):
            user = {"userId": f"u{number}", "firstName": first, "lastName": last, "beneficiaryId": f"b{number % 2}"}
            assert self.client.post("/v1/users", user | ({"phone": f"1{number}"} if number else {})).status == 201

    def _watched(self, table: Table) -> Table:
        self.table = WatchedTable(table)
        return self.table

    def ask(self, document: Any, what: str = "query") -> Response:
        return self.client.post(f"/v1/users/{what}", document)

    def names(self, document: dict[str, Any]) -> list[str]:
        answer = self.ask(document)
        assert answer.status == 200, answer.body
        return [user["firstName"] for user in json_of(answer)["items"]]

    def fail(self, *hash_values: str) -> None:
        """Let reads of these hash keys fail, in a way in which they are not tried again; of none, none."""

        def before(query: Query) -> None:
            if query.hash_value in hash_values:
                raise TransactionConflict("another transaction is in progress")

        self.table.before = before


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.service.close()


@pytest.fixture(scope="module")
def kept() -> Iterator[World]:
    """For tests that change nothing."""
    made = World()
    yield made
    made.service.close()


class TestQuery:
    def test_branches_are_answered_in_one_order_each_record_once(self, world: World) -> None:
        answer = json_of(world.ask(EITHER))
        assert [user["firstName"] for user in answer.pop("items")] == IN_ORDER
        assert answer == {"nextToken": None, "prevToken": None, "complete": True, "failed": [], "late": 0}

    @pytest.mark.parametrize("reverse", [False, True])
    def test_pages_put_together_are_the_whole(self, kept: World, reverse: bool) -> None:
        found: list[str] = []
        document: dict[str, Any] = {**EITHER, "limit": 2, "reverse": reverse}
        while True:
            page = json_of(kept.ask(document))
            found += [user["firstName"] for user in page["items"]]
            if page["nextToken"] is None:
                break
            document["nextToken"] = page["nextToken"]
        assert found == (IN_ORDER[::-1] if reverse else IN_ORDER)

    @pytest.mark.parametrize(
        ("document", "expected"),
        [
            ({"conditions": {"firstNameCanonical": "ann"}}, ["Ann"]),
            ({"conditions": {"firstNameCanonical": {"from": "b", "to": "jason"}}}, ["Bob", "Ján", "Jason"]),
            ({"index": "firstName", "filter": {"property": "phone", "exists": False}}, ["Jason"]),
            ({"index": "firstName", "filter": {"not": {"property": "phone", "exists": True}}}, ["Jason"]),
            (EITHER | {"filter": {"property": "lastName", "begins_with": "Ja"}}, ["Zoë", "Ann", "Jay"]),
            (
                {
                    "index": "firstName",
                    "filter": {"or": [{"property": "phone", "in": ["14"]}, {"property": "firstName", "eq": "Zoë"}]},
                },
                ["Bob", "Zoë"],
            ),
            ({"index": "userBeneficiaryFirstName", "conditions": {"beneficiaryId": ["b1"]}}, ["Ann", "Ján", "Zoë"]),
            ({"conditions": {"userId": "u4"}, "consistent": True}, ["Bob"]),
            ({"conditions": {"created": {"to": "2024-01-01"}}}, []),
            ({"index": "firstName", "earliest": "2030-01-01T00:00:00Z"}, []),
        ],
    )
    def test_conditions_and_filters_choose_the_records(
        self, kept: World, document: dict[str, Any], expected: list[str]
    ) -> None:
        assert kept.names(document) == expected

    def test_named_properties_alone_are_answered(self, kept: World) -> None:
        page = json_of(kept.ask({"conditions": {"firstNameCanonical": "jason"}, "properties": ["lastName", "phone"]}))
        assert page["items"] == [{"lastName": "Wu"}]

    def test_whole_records_are_read_where_the_index_has_less(self) -> None:
        parts = Client(api_of(PARTS))
        serial = "12345678-1234-5678-1234-567812345678"
        parts.post("/v1/parts", {"sku": "a", "serial": serial, "labels": {"x": 1}})
        asked = {"index": "bySerial", "conditions": {"serial": serial}}
        assert "labels" not in json_of(parts.post("/v1/parts/query", asked))["items"][0]
        assert json_of(parts.post("/v1/parts/query", asked | {"hydrate": True}))["items"][0]["labels"] == {"x": 1}

    def test_what_it_cost_is_said_when_it_is_asked(self, world: World) -> None:
        stats = json_of(world.ask(EITHER | {"stats": True}))["stats"]
        assert (stats["lanes"], stats["rounds"], stats["returned"], stats["cut"]) == (8, 1, 5, False)
        assert stats["scanned"] == 6  # Jay Jacobs is found twice and given once
        assert sum(lane["returned"] for lane in stats["reports"]) == 5

    def test_a_record_may_be_called_like_a_question(self, world: World) -> None:
        user = {"userId": "query", "firstName": "Q", "lastName": "Q", "beneficiaryId": "b"}
        assert world.client.post("/v1/users", user).headers["location"] == "/v1/users/query"
        assert json_of(world.client.get("/v1/users/query"))["firstName"] == "Q"
        assert world.client.delete("/v1/users/query").status == 204
        refused = world.client.request("OPTIONS", "/v1/users/query")
        assert refused.headers["allow"] == "DELETE, GET, HEAD, PATCH, POST, PUT"


class TestCount:
    def test_it_is_exact_whatever_page_is_asked(self, world: World) -> None:
        assert json_of(world.ask(EITHER, "count")) == {"count": 5}
        token = json_of(world.ask(EITHER | {"limit": 1}))["nextToken"]
        assert json_of(world.ask(EITHER | {"limit": 1, "nextToken": token}, "count")) == {"count": 5}
        assert json_of(world.ask({"index": "phone"}, "count")) == {"count": 5}
        assert json_of(world.ask({"conditions": {"phone": "none"}, "stats": True}, "count"))["stats"]["returned"] == 0

    def test_a_count_without_a_shard_is_no_count(self, world: World) -> None:
        world.fail("user!1")
        for mode in ("fail", "partial"):
            answer = world.ask({"index": "phone", "onShardError": mode}, "count")
            assert problem_of(answer, 503, "lane_failed")["where"] == "phone user!1"


class TestExplain:
    def test_without_a_run_nothing_is_read(self, world: World) -> None:
        plan = json_of(world.ask(EITHER | {"reverse": True, "limit": 7, "stats": True}, "explain"))
        assert world.table.queries == 0
        assert (plan["entity"], plan["indexes"], plan["order"]) == ("user", ["firstName", "lastName"], "descending")
        assert (plan["limit"], plan["stats"]) == (7, None)
        assert [lane["hashKey"] for lane in plan["lanes"]] == [f"user!{shard}" for shard in "01230123"]
        assert plan["lanes"][0]["low"] == "firstNameCanonical#ja"
        assert plan["reasons"][:2] == ["firstName was named", "lastName was named"]

    def test_with_a_run_it_says_what_that_cost(self, world: World) -> None:
        plan = json_of(world.ask(EITHER | {"run": True}, "explain"))
        assert (plan["stats"]["requests"], plan["stats"]["returned"]) == (world.table.queries, 5)

    def test_a_token_shows_where_lanes_go_on(self, world: World) -> None:
        token = json_of(world.ask({"index": "phone", "limit": 3}))["nextToken"]
        lanes = json_of(world.ask({"index": "phone", "nextToken": token}, "explain"))["lanes"]
        assert all(lane["resumes"] for lane in lanes)
        refused = world.ask({"index": "created", "nextToken": token}, "explain")
        assert problem_of(refused, 400, "cursor_mismatch")["where"] == "nextToken"


DEEP: dict[str, Any] = {"property": "phone", "exists": True}
for _ in range(8):
    DEEP = {"not": DEEP}


@pytest.mark.parametrize("what", ["query", "count", "explain"])
@pytest.mark.parametrize(
    ("document", "code", "where"),
    [
        ({"wher": {}}, "validation_failed", None),
        ({"limit": "5"}, "validation_failed", None),
        ({"stats": "yes"}, "validation_failed", None),
        ({"limit": 501}, "limit_exceeded", "limit"),
        ({"timeLimitMs": 0}, "limit_exceeded", "timeLimitMs"),
        ({"timeLimitMs": 3_600_001}, "limit_exceeded", "timeLimitMs"),
        ({"timeLimitMs": 10**13}, "limit_exceeded", "timeLimitMs"),
        ({"timeLimitMs": 10**400}, "limit_exceeded", "timeLimitMs"),
        ({"budget": 0}, "limit_exceeded", "budget"),
        ({"budget": 1_000_001}, "limit_exceeded", "budget"),
        ({"branches": []}, "invalid_input", "branches"),
        ({"branches": [], "index": "phone"}, "invalid_input", "branches"),
        ({"branches": [], "conditions": {"phone": "1"}}, "invalid_input", "branches"),
        ({"conditions": {"phone": []}}, "limit_exceeded", "phone"),
        ({"branches": [{"index": "phone"}] * 51}, "limit_exceeded", "branches"),
        ({"conditions": {"beneficiaryId": [f"b{n}" for n in range(51)]}}, "limit_exceeded", "beneficiaryId"),
        ({"index": "phone", "filter": DEEP}, "limit_exceeded", None),
        ({"index": "phone", "filter": {"and": [{"property": "phone", "exists": True}] * 100}}, "limit_exceeded", None),
        ({"index": "phone", "filter": {"property": "phone"}}, "invalid_input", "filter"),
        ({"index": "phone", "filter": {"property": "colour", "eq": "red"}}, "unknown_name", None),
        ({"index": "colour"}, "unknown_name", "index"),
        ({"conditions": {"colour": "red"}}, "unknown_name", None),
        ({"onShardError": "ignore"}, "invalid_input", "onShardError"),
        ({"branches": [{}], "index": "phone"}, "invalid_input", "branches"),
        ({"branches": [{"index": "phone"}, {"index": "firstName"}]}, "unsupported_query", None),
        ({"conditions": {"firstName": "Ann"}}, "unsupported_query", None),
        ({"index": "phone", "consistent": True}, "unsupported_query", None),
        ({"conditions": {"created": "yesterday"}}, "value_refused", None),
        ({"conditions": {"phone": "\ud800"}}, "malformed_request", "body"),
    ],
)
def test_what_can_not_be_asked_is_refused(
    kept: World, document: dict[str, Any], code: str, where: str | None, what: str
) -> None:
    before = kept.table.queries
    problem = problem_of(kept.ask(document, what), 400, code)
    assert where is None or problem["where"] == where
    assert kept.table.queries == before


@pytest.mark.parametrize(
    ("asked", "faulty"),
    [({"colour": 1}, "colour"), ({"branches": [{"where": {}}]}, "branches[0].where"), ({"limit": "1"}, "limit")],
)
def test_a_body_that_is_no_query_is_told_where_and_what_to_do(kept: World, asked: Any, faulty: str) -> None:
    problem = problem_of(kept.ask(asked), 400, "validation_failed")
    assert (problem["where"], problem["errors"][0]["where"]) == ("body", faulty)
    assert problem["fix"]


def test_a_list_of_no_values_is_not_asked_in_several_queries(kept: World) -> None:
    problem = problem_of(kept.ask({"conditions": {"phone": []}}), 400, "limit_exceeded")
    assert problem["fix"].startswith("give at least one")


def test_a_property_that_the_index_does_not_hold_can_not_be_filtered_on() -> None:
    asked = {"index": "bySerial", "filter": {"property": "labels", "exists": True}}
    problem_of(Client(api_of(PARTS)).post("/v1/parts/query", asked), 400, "unsupported_query")


class TestFailingShards:
    def test_a_page_fails_with_the_lane_named_and_may_be_tried_again(self, world: World) -> None:
        world.fail("user!2")
        for answer in (world.ask({"index": "phone"}), world.client.get("/v1/users?index=phone")):
            assert problem_of(answer, 503, "lane_failed")["where"] == "phone user!2"
            assert answer.headers["retry-after"] == "1"
        world.fail()
        assert world.ask({"index": "phone"}).status == 200

    @pytest.mark.parametrize("limit", [1, 2, 10])
    def test_the_rest_is_answered_when_asked_and_nothing_is_lost(self, world: World, limit: int) -> None:
        everyone = world.names({"index": "firstName"})
        world.fail("user!2")
        document: dict[str, Any] = {"index": "firstName", "limit": limit, "onShardError": "partial"}
        page = json_of(world.ask(document))
        assert (page["failed"], page["complete"]) == (["firstName user!2"], False)
        world.fail()
        found, late = list(page["items"]), 0
        while page["nextToken"] is not None:
            page = json_of(world.ask(document | {"nextToken": page["nextToken"]}))
            assert page["failed"] == []
            found += page["items"]
            late += page["late"]
        assert sorted(user["firstName"] for user in found) == sorted(everyone)
        assert late > 0

    def test_a_lane_is_named_without_the_values_of_its_key(self, world: World) -> None:
        world.fail("user!1 |beneficiaryId#b1", "user!1 |beneficiaryId#b0")
        asked = {"index": "userBeneficiaryCreated", "conditions": {"beneficiaryId": "b1"}}
        for what in ("query", "count"):
            problem = problem_of(world.ask(asked, what), 503, "lane_failed")
            assert problem["where"] == "userBeneficiaryCreated user!1"
            assert "b1" not in str(problem)
        assert json_of(world.ask({**asked, "onShardError": "partial"}))["failed"] == ["userBeneficiaryCreated user!1"]
        both = {**asked, "conditions": {"beneficiaryId": ["b0", "b1"]}, "onShardError": "partial"}
        assert json_of(world.ask(both))["failed"] == [
            "userBeneficiaryCreated user!1, branches[0]",
            "userBeneficiaryCreated user!1, branches[1]",
        ]

    def test_a_list_says_so_too_and_only_then(self, world: World) -> None:
        usual = json_of(world.client.get("/v1/users?index=firstName&onShardError=partial"))
        assert usual.keys() == {"items", "nextToken", "prevToken", "complete"}
        world.fail("user!2")
        partial = json_of(world.client.get("/v1/users?index=firstName&onShardError=partial&limit=1"))
        assert (partial["complete"], partial["failed"]) == (False, ["firstName user!2"])
        world.fail()
        token = partial["nextToken"]
        after = json_of(world.client.get(f"/v1/users?index=firstName&onShardError=partial&limit=9&nextToken={token}"))
        assert after["late"] > 0
        assert len(partial["items"]) + len(after["items"]) == len(NAMES)


class TestTime:
    def test_a_budget_cuts_a_page_and_the_token_goes_on(self, world: World) -> None:
        found: list[str] = []
        document: dict[str, Any] = {"index": "firstName", "budget": 1, "filter": {"property": "phone", "eq": "14"}}
        while True:
            page = json_of(world.ask(document))
            found += [user["firstName"] for user in page["items"]]
            assert page["complete"] == (page["nextToken"] is None)
            if page["nextToken"] is None:
                break
            document["nextToken"] = page["nextToken"]
        assert found == ["Bob"]

    def test_no_time_for_a_single_read_is_the_callers_to_mend_who_gave_it(self, world: World) -> None:
        world.table.before = lambda query: world.stopwatch.passes(0.002)
        target = "/v1/users?index=phone&timeLimitMs=1"
        for answer in (world.ask({"index": "phone", "timeLimitMs": 1}), world.client.get(target)):
            assert "more time" in problem_of(answer, 400, "time_limit_too_short")["fix"]
            assert "retry-after" not in answer.headers

    def test_a_function_that_is_about_to_end_has_no_time(self, world: World) -> None:
        class Ending:
            def get_remaining_time_in_millis(self) -> int:
                return 400

        world.table.before = lambda query: world.stopwatch.passes(0.4)
        event = event_of("GET", "/v1/users", "index=phone&timeLimitMs=60000", {}, b"")
        answer = world.client.answer(event, Ending())
        problem_of(answer, 503, "deadline_too_short")
        assert answer.headers["retry-after"] == "1"

    @pytest.mark.parametrize(
        ("asked", "left", "expected"), [(None, None, None), (5, None, 5), (None, 7, 7), (5, 7, 5), (9, 7, 7)]
    )
    def test_a_query_takes_no_longer_than_asked_and_than_there_is(
        self, asked: int | None, left: int | None, expected: int | None
    ) -> None:
        spec = QuerySpec("user", time_limit_ms=asked)
        assert within(spec, Call(time_left_ms=left)).time_limit_ms == expected

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("timeLimitMs=soon", "invalid_input"),
            ("timeLimitMs=0", "limit_exceeded"),
            ("timeLimitMs=3600001", "limit_exceeded"),
            ("timeLimitMs=10000000000000", "limit_exceeded"),
            ("limit=10000000000000", "limit_exceeded"),
            ("onShardError=ignore", "invalid_input"),
        ],
    )
    def test_parameters_that_make_no_sense(self, kept: World, query: str, code: str) -> None:
        for target in ("users?index=phone", "user-search?name=ja"):
            problem_of(kept.client.get(f"/v1/{target}&{query}"), 400, code)


class TestUserSearch:
    @pytest.mark.parametrize("name", ["ja", "JA", "Já", "j-a", " ja "])
    def test_either_name_is_found_however_it_is_written(self, kept: World, name: str) -> None:
        page = json_of(kept.client.get(f"/v1/user-search?name={name.replace(' ', '%20')}".replace("á", "%C3%A1")))
        assert [user["firstName"] for user in page["items"]] == IN_ORDER
        assert page.keys() == {"items", "nextToken", "prevToken", "complete"}

    def test_it_is_paged_in_both_directions(self, kept: World) -> None:
        for reverse, expected in (("false", IN_ORDER), ("true", IN_ORDER[::-1])):
            found: list[str] = []
            query = f"name=ja&limit=2&reverse={reverse}"
            token = ""
            while True:
                page = json_of(kept.client.get(f"/v1/user-search?{query}{token}"))
                found += [user["firstName"] for user in page["items"]]
                if page["nextToken"] is None:
                    break
                token = f"&nextToken={page['nextToken']}"
            assert found == expected

    def test_a_token_of_another_name_is_refused(self, kept: World) -> None:
        token = json_of(kept.client.get("/v1/user-search?name=ja&limit=1"))["nextToken"]
        answer = kept.client.get(f"/v1/user-search?name=jas&nextToken={token}")
        assert problem_of(answer, 400, "cursor_mismatch")["where"] == "nextToken"

    @pytest.mark.parametrize(
        ("query", "code"), [("", "invalid_input"), ("name=", "value_refused"), ("name=-!", "value_refused")]
    )
    def test_there_has_to_be_a_name(self, kept: World, query: str, code: str) -> None:
        assert problem_of(kept.client.get(f"/v1/user-search?{query}"), 400, code)["where"] == "name"

    def test_without_letters_there_is_nothing_to_search(self) -> None:
        with pytest.raises(ValueRefused):
            search_user("…")
