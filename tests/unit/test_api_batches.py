"""Batches over HTTP: many records in a request, each with its own outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardweave.api.http import Response
from shardweave.api.operation import model_of
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import ProcessPart, Script, SimulatedTable, Throttle
from shardweave.table.operations import BatchGet, BatchWrite, Scan
from tests.unit.api_world import NOW, PARTS, Client, CountedTable, api_of, json_of, problem_of
from tests.unit.lambda_context import Context
from tests.unit.shop_world import SCHEMA as SHOP
from tests.unit.test_api_expand import SCHEMA as SALES


@pytest.fixture
def table() -> CountedTable:
    return CountedTable(EmbeddedTable(PARTS.layout, clock=lambda: NOW / 1000))


@pytest.fixture
def client(table: CountedTable) -> Client:
    return Client(api_of(PARTS, table=table))


def hurried(schema: Any, script: Script) -> Client:
    """A client of a table with faults, whose requests must be answered within 200 ms."""
    inner = EmbeddedTable(schema.layout, clock=lambda: NOW / 1000)
    api = api_of(schema, table=SimulatedTable(inner, script))

    class Hurried(Client):
        def answer(self, event: Any, context: Any = None) -> Response:
            return super().answer(event, Context(700))

    return Hurried(api)


class TestReading:
    def test_records_come_in_the_order_of_the_keys_and_null_where_there_is_none(
        self, client: Client, table: CountedTable
    ) -> None:
        parts = [json_of(client.post("/v1/parts", {"sku": sku})) for sku in "abc"]
        table.asked_since()
        answer = client.post("/v1/parts/batch-get", {"keys": ["c", "nosuch", "a"]})
        assert json_of(answer) == {"items": [parts[2], None, parts[0]], "unprocessed": []}
        assert table.asked_since() == ["BatchGet"]

    def test_several_properties_make_an_object_of_a_key(self, client: Client) -> None:
        shelf = json_of(client.post("/v1/shelves", {"room": "x", "number": 7}))
        keys = [{"room": "x", "number": 7}, {"number": 8, "room": "x"}]
        assert json_of(client.post("/v1/shelves/batch-get", {"keys": keys}))["items"] == [shelf, None]
        client.post("/v1/counters", {"total": 3})
        assert json_of(client.post("/v1/counters/batch-get", {"keys": [{}]}))["items"] == [{"total": 3}]

    def test_external_keys_are_keys_of_a_batch_and_spare_the_search(self) -> None:
        table = CountedTable(EmbeddedTable(SALES.layout, clock=lambda: NOW / 1000))
        client = Client(api_of(SALES, table=table))
        buyers = [json_of(client.post("/v1/buyers", {"buyerId": name})) for name in "ab"]
        table.asked_since()
        answer = client.post("/v1/buyers/batch-get", {"keys": [buyer["key"] for buyer in buyers]})
        assert json_of(answer)["items"] == buyers
        assert [len(each.keys) for each in table.asked if isinstance(each, BatchGet)] == [2]
        wrong = client.post("/v1/buyers/batch-get", {"keys": [buyers[0]["key"], "a"]})
        assert problem_of(wrong, 400, "invalid_shard_key")["where"] == "keys[1]"
        assert (
            problem_of(client.post("/v1/buyers/batch-get", {"keys": [7]}), 400, "invalid_input")["where"] == "keys[0]"
        )

    def test_relations_are_expanded(self) -> None:
        client = Client(api_of(SALES))
        client.post("/v1/products", {"productId": "pen"})
        client.post("/v1/sales", {"saleId": "s", "productIds": ["pen"]})
        answer = client.post("/v1/sales/batch-get", {"keys": ["gone", "s"], "expand": ["products"]})
        missing, sale = json_of(answer)["items"]
        assert (missing, sale["expanded"]) == (None, {"products": [{"productId": "pen"}]})

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({}, "limit_exceeded"),
            ({"keys": []}, "limit_exceeded"),
            ({"keys": [str(number) for number in range(101)]}, "limit_exceeded"),
            ({"keys": "a"}, "validation_failed"),
            ({"keys": [7]}, "validation_failed"),
            ({"keys": [None]}, "validation_failed"),
            ({"keys": ["a"], "more": 1}, "validation_failed"),
            ({"keys": ["a", "b", "a"]}, "invalid_input"),
        ],
    )
    def test_what_is_no_batch_is_refused(self, client: Client, body: Any, code: str) -> None:
        problem_of(client.post("/v1/parts/batch-get", body), 400, code)

    def test_every_key_that_is_none_is_named(self, client: Client) -> None:
        asked = {"keys": [None, "a", 5, {}]}
        problem = problem_of(client.post("/v1/parts/batch-get", asked), 400, "validation_failed")
        assert [fault["where"] for fault in problem["errors"]] == ["keys[0]", "keys[2]", "keys[3]"]
        shelves = {"keys": [7, {"room": "x"}, {"room": 1, "number": "y"}]}
        problem = problem_of(client.post("/v1/shelves/batch-get", shelves), 400, "validation_failed")
        assert {fault["where"] for fault in problem["errors"]} >= {"keys[0]", "keys[1]", "keys[2].room"}

    @pytest.mark.parametrize(("count", "fix"), [(0, "give at least one"), (101, "send several batches")])
    def test_a_batch_of_a_wrong_size_says_what_to_do(self, client: Client, count: int, fix: str) -> None:
        keys = [str(number) for number in range(count)]
        for path, body in (("batch-get", {"keys": keys}), ("batch-write", {"deletes": keys})):
            problem = problem_of(client.post(f"/v1/parts/{path}", body), 400, "limit_exceeded")
            assert problem["fix"] == fix

    def test_what_could_not_be_read_in_time_is_told_by_position(self) -> None:
        client = hurried(PARTS, Script(ProcessPart(2), *[Throttle()] * 100, matching=[BatchGet]))
        parts = [json_of(client.post("/v1/parts", {"sku": sku})) for sku in "abc"]
        answer = json_of(client.post("/v1/parts/batch-get", {"keys": ["a", "b", "c"]}))
        assert answer == {"items": [*parts[:2], None], "unprocessed": [2]}


class TestWriting:
    def test_each_item_has_its_outcome_in_the_order_given(self, client: Client) -> None:
        client.post("/v1/parts", {"sku": "old", "number": 1})
        body = {"puts": [{"sku": "new"}, {"sku": "old", "number": 2}], "deletes": ["gone"]}
        answer = client.post("/v1/parts/batch-write", body)
        assert answer.status == 200
        made, replaced = (json_of(client.get(f"/v1/parts/{sku}")) for sku in ("new", "old"))
        assert json_of(answer) == {
            "puts": [{"status": "written", "item": made}, {"status": "written", "item": replaced}],
            "deletes": [{"status": "written"}],
            "complete": True,
        }
        assert json_of(client.post("/v1/parts/batch-write", {"deletes": ["old", "new"]}))["complete"] is True
        assert client.get("/v1/parts/old").status == client.get("/v1/parts/new").status == 404

    def test_one_that_fails_keeps_nothing_else_from_being_written(self) -> None:
        client = Client(api_of(SHOP))
        client.post("/v1/customers", {"customerId": "ann", "phone": "1"})
        puts = [{"customerId": "bob", "phone": "1"}, {"customerId": "cid", "phone": "2"}]
        answer = json_of(client.post("/v1/customers/batch-write", {"puts": puts}))
        assert [outcome["status"] for outcome in answer["puts"]] == ["failed", "written"]
        failed = answer["puts"][0]["problem"]
        assert (failed["status"], failed["type"].rsplit(":", 1)[1], failed["where"]) == (409, "value_taken", "phone")
        assert answer["complete"] is False

    def test_every_fault_of_every_record_is_listed_and_nothing_is_written(
        self, client: Client, table: CountedTable
    ) -> None:
        body = {"puts": [{"sku": "a"}, {"number": "x"}, 7, {"sku": "b", "colour": 1}]}
        problem = problem_of(client.post("/v1/parts/batch-write", body), 400, "validation_failed")
        assert {fault["where"] for fault in problem["errors"]} == {
            "puts[1].sku",
            "puts[1].number",
            "puts[2]",
            "puts[3].colour",
        }
        assert table.run(Scan()).items == ()
        body = {"puts": [{"sku": "a"}, {"sku": 1}], "deletes": ["b", 7]}
        problem = problem_of(client.post("/v1/parts/batch-write", body), 400, "validation_failed")
        assert [fault["where"] for fault in problem["errors"]] == ["puts[1].sku", "deletes[1]"]
        body = {"puts": [{"sku": "a"}, {"sku": "b"}, {"sku": "a"}]}
        problem = problem_of(client.post("/v1/parts/batch-write", body), 400, "invalid_input")
        assert "puts[2]" in problem["where"] + problem["detail"]

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({}, "limit_exceeded"),
            ({"puts": [], "deletes": []}, "limit_exceeded"),
            ({"puts": [{"sku": str(number)} for number in range(99)], "deletes": ["a", "b"]}, "limit_exceeded"),
            ({"puts": {}}, "validation_failed"),
            ({"deletes": "a"}, "validation_failed"),
            ({"deletes": [7]}, "validation_failed"),
            ({"puts": [{"sku": "a"}], "updates": []}, "validation_failed"),
            ({"puts": [{"sku": "a"}], "deletes": ["a"]}, "invalid_input"),
            ({"deletes": ["a", "a"]}, "invalid_input"),
        ],
    )
    def test_what_is_no_batch_is_refused_and_nothing_is_written(
        self, client: Client, table: CountedTable, body: Any, code: str
    ) -> None:
        problem_of(client.post("/v1/parts/batch-write", body), 400, code)
        assert table.run(Scan()).items == ()

    def test_what_could_not_be_written_in_time_is_unprocessed(self) -> None:
        client = hurried(SHOP, Script(*[Throttle()] * 1000, matching=[BatchWrite]))
        answer = json_of(client.post("/v1/orders/batch-write", {"puts": [{"city": "Rome"}] * 3}))
        assert answer == {"puts": [{"status": "unprocessed"}] * 3, "deletes": [], "complete": False}

    def test_a_batch_that_is_repeated_with_its_key_is_answered_as_the_first_time(
        self, client: Client, table: CountedTable
    ) -> None:
        body = {"puts": [{"sku": "a"}, {"sku": "b"}], "deletes": ["c"]}
        first = client.post("/v1/parts/batch-write", body, idempotency_key="one")
        before = table.run(Scan()).items
        assert client.post("/v1/parts/batch-write", body, idempotency_key="one") == first
        assert table.run(Scan()).items == before
        other = client.post("/v1/parts/batch-write", {"deletes": ["a"]}, idempotency_key="one")
        problem_of(other, 409, "idempotency_mismatch")


def test_the_answers_are_what_the_document_describes(client: Client) -> None:
    operations = {operation.name: operation for operation in client.api.operations}
    asked = {"puts": [{"sku": "a"}], "deletes": ["b"]}
    for name, path, body in (
        ("batchWritePart", "/v1/parts/batch-write", asked),
        ("batchGetPart", "/v1/parts/batch-get", {"keys": ["a", "b"]}),
    ):
        operation = operations[name]
        assert operation.body is not None
        assert operation.answer.model is not None
        model_of(operation.body.model).model_validate_json(json.dumps(body), strict=True)
        model_of(operation.answer.model).model_validate_json(client.post(path, body).body, strict=True)


def test_a_record_that_is_named_twice_is_named_by_the_body_s_own_lists(client: Client) -> None:
    body = {"puts": [{"sku": "b", "number": 1}], "deletes": ["a"], "patches": [{"key": "a", "patch": {}}]}
    refused = problem_of(client.post("/v1/parts/batch-write", body), 400, "invalid_input")
    assert (refused["where"], refused["detail"]) == (
        "patches[0]",
        "deletes[0] and patches[0] are about the same part",
    )


def test_the_key_of_a_single_record_is_the_empty_object(client: Client) -> None:
    refused = problem_of(client.post("/v1/counters/batch-get", {"keys": ["counter"]}), 400, "invalid_input")
    assert (refused["where"], refused["fix"]) == ("keys[0]", "give {}")
    assert client.post("/v1/counters/batch-get", {"keys": [{}]}).status == 200
