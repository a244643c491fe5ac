"""Lists by a lookup: consistent, by a value."""

from __future__ import annotations

import pytest

from tests.unit.api_world import PARTS, Client, api_of, json_of, problem_of
from tests.unit.shop_world import SCHEMA


@pytest.fixture
def client() -> Client:
    client = Client(api_of(SCHEMA))
    for number in range(5):
        customer = {"customerId": f"c{number}", "phone": f"+4{number}", "email": f"C{number}@x.org", "city": "Rome"}
        assert client.post("/v1/customers", customer).status == 201
    return client


def ids(client: Client, query: str) -> list[str]:
    page = json_of(client.get(f"/v1/customers?{query}"))
    assert (page["nextToken"], page["complete"]) == (None, True)
    return [item["customerId"] for item in page["items"]]


def test_a_unique_value_finds_the_one_that_has_it(client: Client) -> None:
    assert ids(client, "lookup=phone&phone=%2B43") == ["c3"]
    assert ids(client, "lookup=phone&phone.eq=%2B43") == ["c3"]
    assert ids(client, "lookup=phone&phone=nobody") == []
    client.patch("/v1/customers/c3", {"phone": "new"})
    assert ids(client, "lookup=phone&phone=%2B43") == []
    assert ids(client, "lookup=phone&phone=new") == ["c3"]


def test_a_value_is_found_in_its_canonical_form_and_within_what_separates_it(client: Client) -> None:
    assert ids(client, "lookup=email&tenant=t&email=c2%40X.ORG") == ["c2"]
    assert ids(client, "lookup=email&tenant=other&email=c2%40x.org") == []


def test_all_records_with_a_value_come_in_pages(client: Client) -> None:
    assert ids(client, "lookup=city&city=Rome") == ["c0", "c1", "c2", "c3", "c4"]
    seen: list[str] = []
    token = ""
    while True:
        page = json_of(client.get(f"/v1/customers?lookup=city&city=Rome&limit=2{token}"))
        seen += [item["customerId"] for item in page["items"]]
        if page["nextToken"] is None:
            break
        token = f"&nextToken={page['nextToken']}"
    assert seen == ["c0", "c1", "c2", "c3", "c4"]


def test_what_is_found_can_be_filtered(client: Client) -> None:
    assert ids(client, "lookup=city&city=Rome&filter.phone.from=%2B43") == ["c3", "c4"]
    assert ids(client, "lookup=phone&phone=%2B43&filter.city=Rome") == ["c3"]
    assert ids(client, "lookup=phone&phone=%2B43&filter.city=Bath") == []


def test_what_is_found_can_be_expanded() -> None:
    client = Client(api_of(SCHEMA))
    client.post("/v1/projects", {"projectId": "p"})
    client.post("/v1/issues", {"issueId": "i", "projectId": "p"})
    (found,) = json_of(client.get("/v1/issues?lookup=num&projectId=p&num=1&expand=project"))["items"]
    assert (found["issueId"], found["expanded"]["project"]["projectId"]) == ("i", "p")


@pytest.mark.parametrize(
    ("query", "code", "where"),
    [
        ("lookup=nosuch&phone=1", "unknown_name", "lookup"),
        ("lookup=phone", "invalid_input", "phone"),
        ("lookup=phone&phone=1&phone.eq=1", "invalid_input", "phone.eq"),
        ("lookup=email&email=a", "invalid_input", "tenant"),
        ("lookup=phone&phone=1&city=Rome", "unsupported_query", "city"),
        ("lookup=phone&phone=1&reverse=true", "unsupported_query", "reverse"),
        ("lookup=phone&phone=1&index=city", "unsupported_query", "index"),
        ("lookup=city&city=Rome&limit=501", "limit_exceeded", "limit"),
        ("lookup=city&city=Rome&nextToken=%C3%A9", "invalid_cursor", "nextToken"),
        ("lookup=city&city=Rome&nextToken=a", "invalid_cursor", "nextToken"),
    ],
)
def test_what_is_no_lookup_is_refused(client: Client, query: str, code: str, where: str) -> None:
    assert problem_of(client.get(f"/v1/customers?{query}"), 400, code)["where"] == where


@pytest.mark.parametrize("name", ["phone", "phone.eq", "email", "tenant"])
def test_a_value_of_a_lookup_without_its_name_is_refused_and_never_passed_over(client: Client, name: str) -> None:
    refused = problem_of(client.get(f"/v1/customers?{name}=%2B43"), 400, "unsupported_query")
    assert refused["where"] == name
    assert refused["fix"] in ("give lookup=phone too", "give lookup=email too")
    both = problem_of(client.get(f"/v1/customers?city=Rome&{name}=%2B43"), 400, "unsupported_query")
    assert both["where"] == name


def test_a_value_that_an_index_finds_too_needs_no_lookup(client: Client) -> None:
    assert len(json_of(client.get("/v1/customers?city=Rome"))["items"]) == 5


def test_an_entity_without_lookups_has_no_such_parameter() -> None:
    problem_of(Client(api_of(PARTS)).get("/v1/parts?lookup=sku&sku=a"), 400, "unknown_name")


def test_a_put_with_another_number_is_refused_as_a_patch_is() -> None:
    client = Client(api_of(SCHEMA))
    client.post("/v1/projects", {"projectId": "p"})
    made = json_of(client.post("/v1/issues", {"issueId": "i", "projectId": "p"}))
    for answer in (client.put("/v1/issues/i", {**made, "num": 9}), client.patch("/v1/issues/i", {"num": 9})):
        assert problem_of(answer, 400, "immutable_property")["where"] == "num"
    for document in ({**made, "title": "equal"}, {"projectId": "p", "title": "absent"}):
        put = json_of(client.put("/v1/issues/i", document))
        assert (put["num"], put["title"]) == (1, document["title"])
