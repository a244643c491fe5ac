"""The OpenAPI document says exactly what the API does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from aws_lambda_powertools.event_handler.openapi.models import OpenAPI
from pydantic import BaseModel

from shardweave.api.app import Api
from shardweave.api.http import Response
from shardweave.api.operation import Answer, Body, Call, Operation, model_of
from shardweave.api.problems import Problem
from shardweave.service.build import Service
from shardweave.wire.record_models import RecordModels
from tests.unit.api_world import PARTS, Client, api_of, code_of, json_of, user_service
from tests.unit.openapi_answers import undescribed


@pytest.fixture(scope="module")
def service() -> Service:
    return user_service()


@pytest.fixture(scope="module")
def document(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = json_of(Client(service.api).get("/openapi.json"))
    return found


def test_it_is_a_valid_document(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    OpenAPI.model_validate(document)


def test_it_has_every_operation_and_no_other(service: Service, document: dict[str, Any]) -> None:
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(each.method, each.path) for each in service.api.operations}
    assert ("POST", "/v1/sign-up") in described
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(set(ids)) == len(ids)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    references = list(_references(document))
    assert references
    for reference in references:
        found: Any = document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        assert found


def test_path_parameters_are_those_of_the_path(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            named = [each["name"] for each in operation.get("parameters", []) if each["in"] == "path"]
            assert named == re.findall(r"\{(\w+)\}", path)


NAMES = ("firstName", "firstNameCanonical", "lastName", "lastNameCanonical")


def test_every_list_parameter_is_described_with_the_indexes_that_use_it(document: dict[str, Any]) -> None:
    parameters = {each["name"]: each for each in document["paths"]["/v1/users"]["get"]["parameters"]}
    assert set(parameters) == {
        "index",
        "reverse",
        "limit",
        "nextToken",
        "prevToken",
        "consistent",
        "timeLimitMs",
        "onShardError",
        "properties",
        "hydrate",
        "beneficiaryId",
        "beneficiaryId.eq",
        *(f"{name}{end}" for name in ("created", "updated") for end in ("", ".eq", ".from", ".to")),
        *(
            f"{name}{end}"
            for name in ("userId", "firstNameCanonical", "lastNameCanonical", "phone")
            for end in ("", ".eq", ".prefix", ".from", ".to")
        ),
        *(f"filter.{name}{end}" for name in ("created", "updated") for end in ("", ".from", ".to")),
        *(
            f"filter.{name}{end}"
            for name in ("userId", "beneficiaryId", "phone", *NAMES)
            for end in ("", ".prefix", ".from", ".to")
        ),
    }
    assert parameters["index"]["schema"]["enum"] == [
        "created",
        "firstName",
        "lastName",
        "phone",
        "updated",
        "userBeneficiaryCreated",
        "userBeneficiaryFirstName",
        "userBeneficiaryLastName",
        "userBeneficiaryPhone",
        "userBeneficiaryUpdated",
        "userCreated",
    ]
    assert "userBeneficiaryPhone" in parameters["phone.prefix"]["description"]
    assert "userBeneficiaryPhone" in parameters["beneficiaryId"]["description"]
    limit = parameters["limit"]["schema"]
    assert {"type": "integer", "minimum": 1, "maximum": 500, "default": 100}.items() <= limit.items()


def test_the_description_of_a_list_has_a_row_for_each_index(document: dict[str, Any]) -> None:
    description = document["paths"]["/v1/users"]["get"]["description"]
    row = (
        "| userBeneficiaryFirstName | `beneficiaryId` | `firstNameCanonical`, `lastNameCanonical`, `created` "
        "| `firstNameCanonical`, `lastNameCanonical`, `created` |"
    )
    assert row in description.splitlines()


def test_what_is_written_leaves_out_what_the_service_makes(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert set(schemas["UserWrite"]["required"]) == {"beneficiaryId", "firstName", "lastName"}
    assert "required" not in schemas["UserPatch"]
    assert set(schemas["User"]["properties"]) - set(schemas["User"]["required"]) == {"phone"}
    for name in ("firstNameCanonical", "lastNameCanonical", "updated"):
        assert schemas["UserWrite"]["properties"][name]["readOnly"] is True
    assert schemas["UserWrite"]["additionalProperties"] is False
    assert {"type": "null"} in schemas["UserPatch"]["properties"]["phone"]["anyOf"]
    assert schemas["UserPatch"]["properties"]["firstName"]["type"] == "string"


def test_every_answer_lists_the_problems_that_can_come(document: dict[str, Any]) -> None:
    create = document["paths"]["/v1/users"]["post"]["responses"]
    assert {"201", "400", "409", "413", "415", "500", "503", "507"} == set(create)
    assert "`already_exists`" in create["409"]["description"]
    problem = {"$ref": "#/components/schemas/Problem"}
    assert create["409"]["content"] == {"application/problem+json": {"schema": problem}}
    assert "404" in document["paths"]["/v1/users/{key}"]["get"]["responses"]


def test_put_is_described_with_both_of_its_answers(document: dict[str, Any]) -> None:
    answers = document["paths"]["/v1/users/{key}"]["put"]["responses"]
    assert "Location" in answers["201"]["headers"]
    assert answers["200"]["content"] == answers["201"]["content"]


def test_no_title_only_repeats_a_name(document: dict[str, Any]) -> None:
    titled = [
        (name, each["title"])
        for schema in document["components"]["schemas"].values()
        for name, each in schema.get("properties", {}).items()
        if "title" in each
    ]
    assert [(name, title) for name, title in titled if title.replace(" ", "").lower() == name.lower()] == []
    parameters = document["paths"]["/v1/users"]["get"]["parameters"]
    assert all("title" not in each["schema"] for each in parameters)


def test_every_schema_is_used(document: dict[str, Any]) -> None:
    used = {reference.rpartition("/")[2] for reference in _references(document)}
    assert set(document["components"]["schemas"]) == used


def test_every_described_parameter_is_accepted(service: Service) -> None:
    client = Client(service.api)
    listing = next(each for each in service.api.operations if each.name == "listUser")
    for parameter in listing.query_parameters:
        answer = client.get(f"/v1/users?{parameter.name}=true")
        assert answer.status == 200 or code_of(answer) != "unknown_name" or parameter.name in ("index", "properties")


def test_answers_fit_their_models() -> None:
    api = api_of(PARTS)
    client = Client(api)
    operations = {each.name: each for each in api.operations}
    part = {"sku": "a", "number": 1, "price": "1.5", "image": "AP8=", "seen": "2024-01-31T01:02:03Z", "tags": ["t"]}
    serial = "12345678-1234-5678-1234-567812345678"
    answers = [
        ("createPart", client.post("/v1/parts", {**part, "serial": serial})),
        ("getPart", client.get("/v1/parts/a")),
        ("patchPart", client.patch("/v1/parts/a", {"urgent": True})),
        ("putPart", client.put("/v1/parts/a", part)),
        ("listPart", client.get("/v1/parts")),
        ("listPart", client.get(f"/v1/parts?index=bySerial&serial={serial}")),
        ("createShelf", client.post("/v1/shelves", {"room": "r", "number": 1})),
    ]
    for name, answer in answers:
        expected = operations[name].answer
        assert answer.status == expected.status
        assert expected.model is not None
        model_of(expected.model).model_validate_json(answer.body)


def test_models_are_made_once_an_entity() -> None:
    models = RecordModels(PARTS.entity("part"))
    assert models.write is models.write
    assert {models.read.__name__, models.write.__name__, models.patch.__name__} == {"Part", "PartWrite", "PartPatch"}


def test_a_service_can_add_operations(service: Service) -> None:
    added = [each for each in service.api.operations if each.tag == "sign-up"]
    assert [each.name for each in added] == ["signUp"]
    assert isinstance(added[0], Operation)


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for each in node.values():
            yield from _references(each)
    elif isinstance(node, list):
        for each in node:
            yield from _references(each)


def test_requests_are_answered_without_the_forms_that_only_the_document_needs() -> None:
    made: list[str] = []

    def form() -> type[BaseModel]:
        made.append("made")
        return Problem

    def run(call: Call) -> Response:
        return Response.json(200, b"{}")

    operation = Operation("POST", "/sent", "send", "Sent", run, Answer(200, "Well.", form), body=Body(form))
    client = Client(undescribed(Api([operation], title="Test")))
    assert client.post("/sent", {}).status == 200
    assert made == []
    client.get("/openapi.json")
    assert made == ["made", "made"]
