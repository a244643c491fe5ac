"""Relations between records of tenants: none leads from one tenant to another, whatever it goes by."""

from __future__ import annotations

from uuid import UUID

import pytest
from pydantic import Field

from shardweave.access import claim_property
from shardweave.schema.declarations import Index, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from tests.unit.access_world import Person, person
from tests.unit.api_world import api_of, json_of, problem_of


class Shelf(Entity, token="shelf", collection="shelves", partition="tenant_id", sort="name"):
    """Its tenant is in its identity."""

    tenant_id: UUID = claim_property("tenant")
    name: str


class Book(Entity, token="book"):
    """Its id is made up."""

    book_id: str = unique_property(default_factory=nanoid)
    tenant_id: UUID = claim_property("tenant")
    shelf_name: str
    code: str | None = None
    see_code: str | None = None
    see_id: str | None = None
    see_ids: list[str] = Field(default_factory=list)

    tenant_hash_key = HashKey("tenant_id")
    code_hash_key = HashKey("code")
    tenant_code_hash_key = HashKey("tenant_id", "code")

    codes = Unique("code", within="tenant_id")
    shelf = belongs_to(Shelf, by=("tenant_id", "shelf_name"), enforced=True)
    by_id = belongs_to("book", by="see_id")
    by_ids = has_many("book", by="see_ids")
    by_lookup = belongs_to("book", by=("tenant_id", "see_code"), on="code")
    by_index = belongs_to("book", by="see_code", on="code", index="byCode")
    of_tenant = belongs_to("book", by="see_code", on="code", index="ofTenant")


SCHEMA = Schema(
    entities=[Shelf, Book],
    indexes=[
        Index("byTenant", "tenant_hash_key", "range_key"),
        Index("byCode", "code_hash_key", "range_key", exposed=False),
        Index("ofTenant", "tenant_code_hash_key", "range_key"),
    ],
)


ACME, BOLT = str(UUID(int=1)), str(UUID(int=2))


@pytest.fixture
def tenants() -> tuple[Person, Person]:
    api = api_of(SCHEMA)
    acme, bolt = person(api, tenant=ACME), person(api, tenant=BOLT)
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
        found = json_of(caller.get(f"/v1/books/{each['bookId']}?expand=byId,byIds,byLookup,byIndex,ofTenant,shelf"))[
            "expanded"
        ]
        assert found.pop("shelf")["tenantId"] == each["tenantId"]
        one, many = (theirs, [theirs]) if is_theirs else (None, [])
        assert found == {"byId": one, "byIds": many, "byLookup": one, "byIndex": one, "ofTenant": one}


def test_an_index_leads_to_ones_own_though_another_tenants_comes_first(tenants: tuple[Person, Person]) -> None:
    acme, bolt = tenants
    books = [each.made("books", shelfName=name, code="c") for each, name in ((acme, "ours"), (bolt, "theirs"))]
    for caller, name, own in ((acme, "ours", books[0]), (bolt, "theirs", books[1])):
        leading = caller.made("books", shelfName=name, seeCode="c")
        found = json_of(caller.get(f"/v1/books/{leading['bookId']}?expand=byIndex,ofTenant"))["expanded"]
        assert found == {"byIndex": own, "ofTenant": own}


def test_the_parent_of_another_is_none_and_their_children_keep_nobody_elses_parent(
    tenants: tuple[Person, Person],
) -> None:
    acme, bolt = tenants
    problem_of(acme.post("/v1/books", {"shelfName": "theirs"}), 409, "parent_missing")
    acme.made("shelves", name="theirs")
    bolt.made("books", shelfName="theirs")
    assert acme.ask("DELETE", f"/v1/shelves/{ACME}/theirs").status == 204, "the children of the other's are not its"
    problem_of(bolt.ask("DELETE", f"/v1/shelves/{BOLT}/theirs"), 409, "has_children")
