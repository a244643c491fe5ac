"""Lists over HTTP: conditions, order, pages, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from shardweave.reshard.phases import Waits
from tests.unit.api_world import NOW, PARTS, Client, Clock, api_of, json_of, problem_of, user_service

DAY = 86_400_000
NAMES = ["Ann", "Anna", "Annabel", "Jason", "Jasmine", "Zoë"]


def fill(client: Client) -> None:
    for number, name in enumerate(NAMES):
        user = {
            "userId": f"u{number}",
            "firstName": name,
            "lastName": "Smith",
            "beneficiaryId": f"b{number % 2}",
            "created": NOW - number * DAY,
        }
        assert client.post("/v1/users", {**user, **({"phone": f"1773{number}"} if number else {})}).status == 201


@pytest.fixture(scope="module")
def client() -> Client:
    """What the tests here only read."""
    found = Client(user_service().api)
    fill(found)
    return found


def listed(client: Client, query: str, collection: str = "users") -> list[dict[str, Any]]:
    answer = client.get(f"/v1/{collection}?{query}")
    assert answer.status == 200, answer.body
    page = json_of(answer)
    assert set(page) == {"items", "nextToken", "prevToken", "complete"}
    assert page["complete"] is True
    items: list[dict[str, Any]] = page["items"]
    return items


def names(client: Client, query: str) -> list[str]:
    return [item["firstName"] for item in listed(client, query)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("index=firstName", sorted(NAMES, key=lambda name: name.replace("ë", "e"))),
        ("index=firstName&reverse=true", ["Zoë", "Jason", "Jasmine", "Annabel", "Anna", "Ann"]),
        ("index=firstName&reverse=false&limit=2", ["Ann", "Anna"]),
        ("firstNameCanonical=ann", ["Ann"]),
        ("firstNameCanonical.prefix=ann", ["Ann", "Anna", "Annabel"]),
        ("firstNameCanonical.prefix=", ["Ann", "Anna", "Annabel", "Jasmine", "Jason", "Zoë"]),
        ("firstNameCanonical.from=anna&firstNameCanonical.to=jason", ["Anna", "Annabel", "Jasmine", "Jason"]),
        ("firstNameCanonical=anna&lastNameCanonical.prefix=smi", ["Anna"]),
        ("phone.prefix=1773&limit=3", ["Anna", "Annabel", "Jason"]),
        ("phone=17735", ["Zoë"]),
        ("beneficiaryId=b1&index=userBeneficiaryFirstName", ["Anna", "Jason", "Zoë"]),
        ("beneficiaryId=b0&phone.from=0", ["Annabel", "Jasmine"]),
        ("userId=u3", ["Jason"]),
        (f"created.from={NOW - 2 * DAY}", ["Annabel", "Anna", "Ann"]),
        (f"created.to={NOW - 4 * DAY}&reverse=true", ["Jasmine", "Zoë"]),
        (f"created={NOW}", ["Ann"]),
        ("userId=u3&consistent=true", ["Jason"]),
    ],
)
def test_conditions_choose_the_records_and_the_index_their_order(
    client: Client, query: str, expected: list[str]
) -> None:
    assert names(client, query) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-10-26", ["Anna", "Ann"]),
        ("2024-10-27T03:33:20Z", ["Ann"]),
        ("2024-10-27T03:33:20.001Z", []),
        ("2024-10-27T05:33:20%2B02:00", ["Ann"]),
        (str(NOW), ["Ann"]),
    ],
)
def test_a_time_can_be_given_as_a_number_or_as_a_date(client: Client, text: str, expected: list[str]) -> None:
    assert NOW == 1_730_000_000_000  # 2024-10-27T03:33:20Z
    assert names(client, f"created.from={text}") == expected


@pytest.mark.parametrize("text", ["2024-10-27T05:33:20+02:00", "2024-10-27T05:33:20.5+0200", "2024-10-27T05:33+02:00"])
def test_a_plus_that_a_url_makes_a_space_is_told_of(client: Client, text: str) -> None:
    assert "%2B" in problem_of(client.get(f"/v1/users?created.from={text}"), 400, "value_refused")["fix"]
    other = problem_of(client.get("/v1/users?created.from=2024-10-27+05:33"), 400, "value_refused")
    assert "%2B" not in other["fix"]


def test_a_time_of_a_property_in_seconds_is_in_seconds() -> None:
    parts = Client(api_of(PARTS))
    serial = "12345678-1234-5678-1234-567812345678"
    parts.post("/v1/parts", {"sku": "a", "serial": serial, "checked": 1_704_067_200, "price": "2.50", "tags": ["t"]})
    for query in ("checked.from=1704067200", "checked.to=2024-01-01", "checked=2024-01-01T00:00:00.5Z"):
        (part,) = listed(parts, f"serial={serial}&{query}", "parts")
        assert (part["sku"], part["checked"]) == ("a", 1_704_067_200)
    assert listed(parts, f"serial={serial}&checked.from=2024-01-01T00:00:01Z", "parts") == []


def test_an_index_that_projects_some_properties_gives_those() -> None:
    parts = Client(api_of(PARTS))
    serial = "12345678-1234-5678-1234-567812345678"
    parts.post("/v1/parts", {"sku": "a", "serial": serial, "price": "2.50", "tags": ["t"], "labels": {"x": 1}})
    (part,) = listed(parts, f"serial={serial}", "parts")
    assert part == {"sku": "a", "serial": serial, "price": "2.5", "tags": ["t"]}


def test_values_of_every_type_are_read_from_text() -> None:
    parts = Client(api_of(PARTS))
    parts.post("/v1/parts", {"sku": "a", "state": "worn", "urgent": True, "number": -3, "price": "1.25"})
    found = ["state=worn&urgent=true&number=-3", "state=worn&urgent=true&number=-3&price.to=1.25"]
    missed = ["state=worn&urgent=false&number=-3", "state=worn&urgent=true&number.from=-2", "state=new&urgent=true"]
    assert [len(listed(parts, query, "parts")) for query in found + missed] == [1, 1, 0, 0, 0]


def test_a_property_named_like_a_parameter_is_compared_with_eq() -> None:
    parts = Client(api_of(PARTS))
    for sku, limit in (("a", "large"), ("b", "small")):
        parts.post("/v1/parts", {"sku": sku, "limit": limit})
    assert [part["sku"] for part in listed(parts, "limit.eq=small&limit=1", "parts")] == ["b"]
    assert [part["sku"] for part in listed(parts, "limit.prefix=l", "parts")] == ["a"]


def test_equality_may_be_called_eq_for_any_property(client: Client) -> None:
    both = [names(client, f"beneficiaryId{eq}=b1&firstNameCanonical{eq}=anna") for eq in ("", ".eq")]
    assert both[0] == both[1] == ["Anna"]
    problem_of(client.get("/v1/users?beneficiaryId=b1&beneficiaryId.eq=b1"), 400, "unsupported_query")


def test_a_list_gives_chosen_properties_or_whole_records(client: Client) -> None:
    (found,) = json_of(client.get("/v1/users?index=firstName&properties=firstName,lastName&limit=1"))["items"]
    assert set(found) == {"firstName", "lastName"}
    refused = problem_of(client.get("/v1/users?index=firstName&properties=firstName,nosuch"), 400, "unknown_name")
    assert refused["where"] == "properties"
    problem_of(client.get("/v1/users?index=firstName&properties="), 400, "unknown_name")
    both = problem_of(client.get("/v1/users?index=firstName&properties=firstName&hydrate=true"), 400, "invalid_input")
    assert both["where"] == "hydrate"


def test_a_narrow_index_is_hydrated_on_request() -> None:
    parts = Client(api_of(PARTS))
    serial = "12345678-1234-5678-1234-567812345678"
    made = parts.post("/v1/parts", {"sku": "a", "serial": serial, "price": "2.50", "labels": {"x": 1}})
    assert listed(parts, f"serial={serial}&hydrate=true", "parts") == [json_of(made)]


def test_without_a_limit_a_page_has_100_records_and_with_500_it_has_500() -> None:
    service = user_service()
    client = Client(service.api)
    for number in range(501):
        client.post("/v1/users", {"userId": f"{number}", "firstName": "A", "lastName": "B", "beneficiaryId": "b"})
    assert len(listed(client, "")) == 100
    assert len(listed(client, "limit=500")) == 500


def test_120_users_on_4_shards_with_limit_10_are_12_pages_in_order() -> None:
    client = Client(user_service().api)
    for number in range(120):
        user = {"firstName": f"N{number % 7}", "lastName": f"L{number}", "beneficiaryId": "b", "userId": f"id{number}"}
        client.post("/v1/users", user)
    pages: list[list[dict[str, Any]]] = []
    query = {"index": "firstName", "limit": "10"}
    while True:
        page = json_of(client.get(f"/v1/users?{urlencode(query)}"))
        pages.append(page["items"])
        if page["nextToken"] is None:
            break
        query["nextToken"] = page["nextToken"]
    assert [len(page) for page in pages] == [10] * 12
    walked = [user for page in pages for user in page]
    assert len({user["userId"] for user in walked}) == 120
    order = [(user["firstNameCanonical"], user["lastNameCanonical"]) for user in walked]
    assert all(before <= after for before, after in pairwise(order))


def test_the_limit_may_change_from_page_to_page(client: Client) -> None:
    first = json_of(client.get("/v1/users?index=firstName&limit=1"))
    rest = names(client, f"index=firstName&limit=500&nextToken={first['nextToken']}")
    assert [first["items"][0]["firstName"], *rest] == ["Ann", "Anna", "Annabel", "Jasmine", "Jason", "Zoë"]


class TestTokens:
    def token(self, client: Client, query: str = "index=firstName&limit=2") -> str:
        token: str = json_of(client.get(f"/v1/users?{query}"))["nextToken"]
        return token

    def test_any_changed_character_is_noticed(self, client: Client) -> None:
        token = self.token(client)
        for position in range(len(token)):
            other = "A" if token[position] != "A" else "B"
            altered = token[:position] + other + token[position + 1 :]
            answer = client.get(f"/v1/users?index=firstName&limit=2&nextToken={altered}")
            problem_of(answer, 400, "invalid_cursor")

    @pytest.mark.parametrize("token", ["", "x", "=", "ä", "a" * 5000, "%00", "AQ"])
    def test_what_is_no_token_is_refused(self, client: Client, token: str) -> None:
        answer = client.get(f"/v1/users?index=firstName&nextToken={quote(token, safe='%')}")
        problem_of(answer, 400, "invalid_cursor")

    @pytest.mark.parametrize(
        "query",
        [
            "index=lastName",
            "index=firstName&reverse=true",
            "index=firstName&firstNameCanonical.prefix=a",
            "firstNameCanonical.prefix=a",
            "",
        ],
    )
    def test_a_token_of_another_query_is_refused(self, client: Client, query: str) -> None:
        answer = client.get(f"/v1/users?{query}&nextToken={self.token(client)}")
        problem_of(answer, 400, "cursor_mismatch")

    def test_a_token_of_another_entity_is_refused(self, client: Client) -> None:
        token = self.token(client, "index=created&limit=2")
        problem_of(client.get(f"/v1/emails?index=created&nextToken={token}"), 400, "cursor_mismatch")

    def test_a_walk_that_lasts_too_long_is_refused(self) -> None:
        clock = Clock()
        client = Client(user_service(clock, waits=Waits(cursor_life_ms=1000)).api)
        fill(client)
        token = self.token(client)
        clock.now += 900
        second = json_of(client.get(f"/v1/users?index=firstName&limit=2&nextToken={token}"))["nextToken"]
        clock.now += 200
        for late in (token, second):
            answer = client.get(f"/v1/users?index=firstName&limit=2&nextToken={late}")
            problem_of(answer, 400, "cursor_expired")


@pytest.mark.parametrize(
    ("query", "code", "where"),
    [
        ("limit=0", "limit_exceeded", "limit"),
        ("limit=501", "limit_exceeded", "limit"),
        ("limit=-1", "limit_exceeded", "limit"),
        ("limit=ten", "invalid_input", "limit"),
        ("limit=1.5", "invalid_input", "limit"),
        ("limit=٣", "invalid_input", "limit"),
        ("limit=", "invalid_input", "limit"),
        ("reverse=yes", "invalid_input", "reverse"),
        ("consistent=1", "invalid_input", "consistent"),
        ("limit=1&limit=1", "invalid_input", "limit"),
        ("firstName=A", "unknown_name", "firstName"),
        ("first_name_canonical=a", "unknown_name", "first_name_canonical"),
        ("firstNameCanonical.like=a", "unknown_name", "firstNameCanonical.like"),
        ("created.prefix=17", "unknown_name", "created.prefix"),
        ("hashKey=user!0", "unknown_name", "hashKey"),
        ("&=x", "unknown_name", None),
        ("index=nosuch", "unknown_name", "index"),
        ("index=", "unknown_name", "index"),
        ("firstNameCanonical.prefix=a&firstNameCanonical.from=b", "unsupported_query", "firstNameCanonical"),
        ("firstNameCanonical=a&firstNameCanonical.to=b", "unsupported_query", "firstNameCanonical"),
        ("firstNameCanonical=a&firstNameCanonical.prefix=b", "unsupported_query", "firstNameCanonical"),
        ("index=userBeneficiaryPhone", "unsupported_query", None),
        ("phone=1&firstNameCanonical=a", "unsupported_query", None),
        ("index=firstName&consistent=true", "unsupported_query", None),
        ("created.from=yesterday", "value_refused", "created.from"),
        ("created.from=2024-01-31T10:00:00", "value_refused", "created.from"),
        ("created.from=2024-01-31T10:00:00+01:00", "value_refused", "created.from"),
        ("created.from=1726880933", "value_refused", "created.from"),
        ("created.from=2024-01-31&created.to=99999999999999999999", "value_refused", "created.to"),
    ],
)
def test_what_can_not_be_asked_is_refused_with_its_place(
    client: Client, query: str, code: str, where: str | None
) -> None:
    problem = problem_of(client.get(f"/v1/users?{query}"), 400, code)
    assert where is None or problem["where"] == where
    assert problem["fix"]


def test_an_unknown_parameter_is_answered_with_those_there_are(client: Client) -> None:
    problem = problem_of(client.get("/v1/users?colour=red"), 400, "unknown_name")
    assert {"index", "limit", "phone.prefix", "created.from"} <= set(problem["fix"].replace(",", "").split())


def test_a_record_takes_no_query_parameters(client: Client) -> None:
    problem_of(client.get("/v1/users/u1?limit=1"), 400, "unknown_name")
