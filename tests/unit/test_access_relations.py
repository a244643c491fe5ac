"""Relations between records of tenants: none leads from one tenant to another, whatever it goes by."""

from __future__ import annotations

import pytest
from pydantic import Field

from shardweave.access import claim_property
from shardweave.declarations import Unique, belongs_to, has_many
from shardweave.entity import Entity, HashKey, nanoid, unique_property
from shardweave.schema import Index, Schema
from tests.unit.access_world import Person, person
from tests.unit.api_world import api_of, json_of, problem_of


class Shelf(Entity, token="shelf", collection="shelves", partition="tenant_id", sort="name"):
    """Its tenant is in its identity."""

    tenant_id: str = claim_property("tenant")
    name: str


class Book(Entity, token="book"):
    """Its id is made up."""

    book_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    shelf_name: str
    code: str | None = None
    see_code: str | None = None
    see_id: str | None = None
    see_ids: list[str] = Field(default_factory=list)

    tenant_hash_key = HashKey("tenant_id")
    code_hash_key = HashKey("code")

    codes = Unique("code", within="tenant_id")
    shelf = belongs_to(Shelf, by=("tenant_id", "shelf_name"), enforced=True)
    by_id = belongs_to("book", by="see_id")
    by_ids = has_many("book", by="see_ids")
    by_lookup = belongs_to("book", by=("tenant_id", "see_code"), on="code")
    by_index = belongs_to("book", by="see_code", on="code", index="byCode")


SCHEMA = Schema(
    entities=[Shelf, Book],
    indexes=[
        Index("byTenant", "tenant_hash_key", "range_key"),
        Index("byCode", "code_hash_key", "range_key", exposed=False),
    ],
)


@pytest.fixture
def tenants() -> tuple[Person, Person]:
    api = api_of(SCHEMA)
    acme, bolt = person(api, tenant="acme"), person(api, tenant="bolt")
    for each, name in ((acme, "ours"), (bolt, "theirs")):
        each.made("shelves", name=name)
    return acme, bolt


def test_no_expansion_leads_across(tenants: tuple[Person, Person]) -> None:
    acme, bolt = tenants
    theirs = bolt.made("books", shelfName="theirs", code="c")
    leading = {"seeId": theirs["bookId"], "seeIds": [theirs["bookId"]], "seeCode": "c"}
    mine = acme.made("books", shelfName="ours", **leading)
    for each, is_theirs in ((mine, False), (bolt.made("books", shelfName="theirs", **leading), True)):
        caller = bolt if is_theirs else acme
        found = json_of(caller.get(f"/v1/books/{each['bookId']}?expand=byId,byIds,byLookup,byIndex,shelf"))["expanded"]
        assert found.pop("shelf")["tenantId"] == each["tenantId"]
        one, many = (theirs, [theirs]) if is_theirs else (None, [])
        assert found == {"byId": one, "byIds": many, "byLookup": one, "byIndex": one}


def test_the_parent_of_another_is_none_and_their_children_keep_nobody_elses_parent(
    tenants: tuple[Person, Person],
) -> None:
    acme, bolt = tenants
    problem_of(acme.post("/v1/books", {"shelfName": "theirs"}), 409, "parent_missing")
    acme.made("shelves", name="theirs")
    bolt.made("books", shelfName="theirs")
    assert acme.ask("DELETE", "/v1/shelves/acme/theirs").status == 204, "the children of the other's are not its"
    problem_of(bolt.ask("DELETE", "/v1/shelves/bolt/theirs"), 409, "has_children")
