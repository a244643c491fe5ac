"""Members of models that identify or place records, over HTTP, in GraphQL and in clients."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict

from shardweave import Entity, GraphQL, Schema, claim_property, testing
from shardweave.cli.client import described, written
from shardweave.service.files import named_service
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.graphql_world import Graph
from tests.unit.placing_world import FOUR, KEY, SCHEMA, Address


def client() -> Client:
    world = Client(api_of(SCHEMA, graphql=GraphQL()))
    for number in (1, 2):
        document = {"number": number, "address": {"country": "no", "city_name": "moss"}, "title": f"t{number}"}
        assert world.post("/v1/shops", document).headers["location"] == f"/v1/shops/no/{number}/moss"
    return world


def test_paths_have_the_values_in_order() -> None:
    world = client()
    assert json_of(world.get("/v1/shops/no/1/moss"))["title"] == "t1"
    problem_of(world.get("/v1/shops/se/1/moss"), 404, "not_found")
    found = json_of(world.get("/v1/shops?address.country=no&number.from=2"))["items"]
    assert [each["number"] for each in found] == [2]
    assert len(json_of(world.get("/v1/shops?address.country=no"))["items"]) == 2
    assert json_of(world.get("/v1/shops?address.country=no&sort=1/moss"))["items"][0]["title"] == "t1"
    assert world.delete("/v1/shops/no/2/moss").status == 204
    problem_of(world.get("/v1/shops/no/2/moss"), 404, "not_found")


def test_patches_change_the_rest() -> None:
    world = client()
    changed = world.patch("/v1/shops/no/1/moss", {"address": {"street": "New"}})
    assert json_of(changed)["address"] == {"country": "no", "city_name": "moss", "street": "New", "lines": []}
    same = world.patch("/v1/shops/no/1/moss", {"address": {"country": "no", "street": None}})
    assert json_of(same)["address"]["street"] is None
    for patch in ({"country": "se"}, {"country": None}, None):
        refused = problem_of(world.patch("/v1/shops/no/1/moss", {"address": patch}), 400, "immutable_property")
        assert "address.country" in json.dumps(refused)


def test_puts_may_leave_out_what_the_path_says() -> None:
    world = client()
    put = world.put("/v1/shops/no/1/moss", {"address": {"street": "Put"}})
    assert json_of(put)["address"] == {"country": "no", "city_name": "moss", "street": "Put", "lines": []}
    assert world.put("/v1/shops/no/8/moss", {}).status == 201
    problem_of(world.put("/v1/shops/no/1/moss", {"address": {"country": "se"}}), 400, "value_refused")
    made = world.patch("/v1/shops/no/9/moss?upsert=true", {"address": {"street": "Up"}})
    assert made.status == 201
    assert json_of(made)["address"]["street"] == "Up"


def test_bodies_name_records_by_paths() -> None:
    world = client()
    found = json_of(world.post("/v1/shops/batch-get", {"keys": [KEY, {**KEY, "number": 9}]}))["items"]
    assert found[0]["title"] == "t1"
    assert found[1] is None
    second = {**KEY, "number": 2}
    patches = [{"key": KEY, "patch": {"title": "n"}}, {"key": second, "patch": {"address": {"country": None}}}]
    done = json_of(world.post("/v1/shops/batch-write", {"patches": patches}))["patches"]
    assert done[0]["item"]["title"] == "n"
    assert "immutable" in json.dumps(done[1])
    operations = [
        {"update": "shops", "key": KEY, "patch": {"address": {"street": "T"}}},
        {"add": "shops", "key": second, "amounts": {"visits": 2}},
    ]
    assert [each["number"] for each in json_of(world.post("/v1/_transact", {"operations": operations}))["items"]]
    assert json_of(world.post("/v1/shops/add", {"key": second, "amounts": {"visits": 2}}))["visits"] == 4
    problem_of(world.post("/v1/shops/batch-get", {"keys": [{"number": 1}]}), 400, "invalid_input")


def test_a_record_that_is_placed_by_a_member_has_its_id_alone_in_its_path() -> None:
    world = client()
    site = {"zone": 1, "home": {"country": "no"}}
    assert world.post("/v1/things", {"thingId": "a", "site": site}).status == 201
    assert json_of(world.patch("/v1/things/a", {"site": {"zone": 2}}))["site"]["zone"] == 2
    problem_of(world.patch("/v1/things/a", {"site": {"home": {"country": "se"}}}), 400, "immutable_property")
    assert json_of(world.get("/v1/things/a"))["site"]["home"]["country"] == "no"


def test_graphql_names_records_by_their_parts() -> None:
    world = client()
    asked = Graph(world)
    assert asked.data('{ shop(id: "no", sort: "1/moss") { title } }')["shop"]["title"] == "t1"
    listed = asked.data('{ shopsById(id: "no", prefix: "2/") { items { number address } } }')
    assert [each["number"] for each in next(iter(listed.values()))["items"]] == [2]
    changed = asked.data(
        'mutation { updateShop(id: "no", sort: "1/moss", patch: {address: {street: "G"}}) { address } }'
    )
    assert changed["updateShop"]["address"]["street"] == "G"


def test_the_document_names_path_parameters_without_points() -> None:
    document = json.loads(client().api.openapi)
    path = document["paths"]["/v1/shops/{address_country}/{number}/{address_city_name}"]
    names = [each["name"] for each in path["get"]["parameters"] if each["in"] == "path"]
    assert names == ["address_country", "number", "address_city_name"]
    listed = {each["name"] for each in document["paths"]["/v1/shops"]["get"]["parameters"]}
    assert listed >= {"address.country", "address.country.eq", "sort"}


SERVICE = """
from pydantic import BaseModel
from shardweave import Entity, Schema

class Address(BaseModel):
    country: str
    zone: int = 0
    street: str | None = None

class Shop(Entity, token="shop", partition="address.country", sort=("number", "address.zone")):
    number: int
    address: Address

def schema(key_format):
    return Schema([Shop], [], key_format=key_format)
"""


def test_clients_have_arguments_for_the_parts_of_a_key(tmp_path: Path) -> None:
    service = tmp_path / "shops.py"
    service.write_text(SERVICE, encoding="utf-8")
    for_python = written(described(named_service(str(service)), "ordered"), "python")
    compile(for_python, "client.py", "exec")
    assert "def get(self, address_country: str, number: int, address_zone: int)" in for_python
    assert 'record_path("/v1/shops", address_country, number, address_zone)' in for_python
    for_typescript = written(described(named_service(str(service)), "ordered"), "typescript")
    assert 'readonly "address.country": string;' in for_typescript
    assert 'readonly "address.zone": number;' in for_typescript


class Office(Entity, token="office", partition=("tenant_id", "address.country"), sort="number"):
    """An office of a tenant."""

    tenant_id: str = claim_property("tenant")
    number: int
    address: Address


class Desk(Entity, token="desk", origin="D", partition="address.country", sort="number", shard_bumps=FOUR):
    """Named by shard keys."""

    number: int
    address: Address


def test_what_a_token_says_is_left_out_of_paths_beside_members() -> None:
    offices = testing.Client(Schema([Office]))
    ann, bob = offices.as_caller("ann", tenant="acme"), offices.as_caller("bob", tenant="bolt")
    assert ann.post("/v1/offices", {"number": 1, "address": {"country": "no"}}).status == 201
    found = ann.get("/v1/offices/no/1")
    assert (found.status, found.json["tenantId"]) == (200, "acme")
    assert bob.get("/v1/offices/no/1").status == 404
    assert bob.get("/v1/offices/acme/no/1").status == 404
    assert ann.put("/v1/offices/no/1", {"address": {"street": "s"}}).json["address"]["street"] == "s"
    assert [each["number"] for each in ann.get("/v1/offices?address.country=no").json["items"]] == [1]
    assert bob.get("/v1/offices?address.country=no").json["items"] == []
    key = {"address.country": "no", "number": 1}
    assert ann.post("/v1/offices/batch-get", {"keys": [key]}).json["items"][0]["number"] == 1


def test_a_shard_key_stands_for_the_members_that_identify_a_record() -> None:
    client = Client(api_of(Schema([Desk])))
    made = json_of(client.post("/v1/desks", {"number": 1, "address": {"country": "no"}}))
    changed = json_of(client.patch(f"/v1/desks/{made['key']}", {"address": {"street": "s"}}))
    assert (changed["key"], changed["address"]["street"]) == (made["key"], "s")
    again = json_of(client.put(f"/v1/desks/{made['key']}", {"address": {"street": "t"}}))
    assert (again["number"], again["address"]["country"]) == (1, "no")
    other = {"key": made["key"], "number": 1, "address": {"country": "se"}}
    problem_of(client.post("/v1/desks", other), 400, "value_refused")


class Part(TypedDict):
    """Where something lies in its box."""

    shelf_no: int


@dataclasses.dataclass
class Case:
    """A box in a box."""

    post_box: int = 1


@dataclasses.dataclass
class Crate:
    """What has a name of two words."""

    zip_code: int = 5
    in_case: Case = dataclasses.field(default_factory=Case)


class Found(TypedDict):
    """What may have a case."""

    in_case: NotRequired[Case]


class Load(Entity, token="load", partition="crate.zip_code", sort="part.shelf_no"):
    """Placed by members of a dataclass and of a TypedDict."""

    crate: Crate
    part: Part
    crates: list[Crate]
    found: Found
    title: str = ""


def test_members_of_dataclasses_and_typed_dicts_are_shown_by_the_names_by_which_they_are_given() -> None:
    world = Client(api_of(Schema([Load]), graphql=GraphQL()))
    document: dict[str, Any] = {"crate": {"zip_code": 7}, "part": {"shelf_no": 2}, "crates": [{"zip_code": 1}]}
    document["found"] = {"in_case": {"post_box": 4}}
    made = world.post("/v1/loads", document)
    assert made.headers["location"] == "/v1/loads/7/2"
    whole = {"zip_code": 7, "in_case": {"post_box": 1}}
    shown = {**document, "crate": whole, "crates": [{**whole, "zip_code": 1}], "title": ""}
    assert json_of(made) == shown
    assert json_of(world.put("/v1/loads/7/2", shown)) == shown
    patched = world.patch("/v1/loads/7/2", {"crate": {"in_case": {"post_box": 3}}, "part": {"shelf_no": 2}})
    assert json_of(patched)["crate"] == {"zip_code": 7, "in_case": {"post_box": 3}}
    problem_of(world.patch("/v1/loads/7/2", {"crate": {"zip_code": 8}}), 400, "immutable_property")
    found = json_of(world.get("/v1/loads?crate.zip_code=7&properties=crate,part"))["items"]
    assert found == [{"crate": {"zip_code": 7, "in_case": {"post_box": 3}}, "part": {"shelf_no": 2}}]
