"""Operations render themselves, purely, into the requests of the DynamoDB client."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from shardweave.table.conditions import Between, Compare, Exists, Missing
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import (
    BatchGet,
    BatchWrite,
    ConditionCheck,
    DeleteItem,
    Describe,
    GetItem,
    Interval,
    Operation,
    PutItem,
    Query,
    Scan,
    TransactGet,
    TransactWrite,
    UpdateItem,
    key_of,
)
from shardweave.table.stream_operations import StreamRead, StreamShards

KEY = {"hashKey": "h", "rangeKey": "r"}
TYPED_KEY = {"hashKey": {"S": "h"}, "rangeKey": {"S": "r"}}


# -- every request is one that the client knows -----------------------------------------------------------------------

OPERATIONS: list[Operation[Any]] = [
    GetItem(KEY, consistent=True, projection=("a", "b")),
    BatchGet((KEY,), projection=("a",)),
    TransactGet((KEY,)),
    Query("hashKey", "h", "rangeKey"),
    Query(
        "hashKey",
        "h",
        "n",
        Interval(1, 2),
        index="byN",
        filter=Compare("a", "=", 1),
        projection=("a", "b"),
        descending=True,
        limit=5,
        start_key=KEY | {"n": 1},
    ),
    Query("hashKey", "h", "rangeKey", consistent=True, count_only=True),
    Scan(1, 3, index="byN", filter=Exists("a"), limit=1, start_key=KEY, projection=("a",)),
    PutItem(KEY, condition=Missing("hashKey"), return_values="ALL_OLD", return_on_failure=True),
    UpdateItem(KEY, set={"a": 1}, remove=("b",), add={"c": 1}, condition=Exists("a"), return_values="UPDATED_NEW"),
    UpdateItem(KEY),
    DeleteItem(KEY, condition=Exists("hashKey"), return_on_failure=True),
    TransactWrite(
        (PutItem(KEY), UpdateItem(KEY, remove=("a",)), DeleteItem(KEY), ConditionCheck(KEY, Exists("a"))), token="t"
    ),
    BatchWrite(puts=(KEY,), deletes=(KEY,)),
    Describe(),
]


@pytest.fixture(scope="module")
def service() -> Any:
    return botocore.session.Session().get_service_model("dynamodb")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: type(operation).__name__)
def test_a_request_fits_the_clients_model(service: Any, operation: Operation[Any]) -> None:
    name = "".join(word.title() for word in operation.method.split("_"))
    shape = service.operation_model(name).input_shape
    report = ParamValidator().validate(operation.request("table"), shape)
    assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: type(operation).__name__)
def test_a_request_is_rendered_anew_and_alike(operation: Operation[Any]) -> None:
    assert operation.request("table") == operation.request("table")
    assert operation.request("table") is not operation.request("table")


def test_a_layouts_request_fits_the_clients_model(service: Any) -> None:
    layout = TableLayout(
        indexes=(
            IndexLayout("byN", KeyAttribute("hashKey"), KeyAttribute("n", "N")),
            IndexLayout("some", KeyAttribute("group"), KeyAttribute("n", "N"), ("color",)),
        )
    )
    request = layout.create_request("table")
    report = ParamValidator().validate(request, service.operation_model("CreateTable").input_shape)
    assert not report.has_errors(), report.generate_report()
    assert [each["AttributeName"] for each in request["AttributeDefinitions"]] == ["hashKey", "rangeKey", "n", "group"]


# -- reads ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval", "text", "values"),
    [
        (Interval(), "#n0 = :v0", ["h"]),
        (Interval("a", "b"), "#n0 = :v0 AND #n1 BETWEEN :v1 AND :v2", ["h", "a", "b"]),
        (Interval(low="a"), "#n0 = :v0 AND #n1 >= :v1", ["h", "a"]),
        (Interval(high="b"), "#n0 = :v0 AND #n1 <= :v1", ["h", "b"]),
        (Interval("a", "a"), "#n0 = :v0 AND #n1 = :v1", ["h", "a"]),
    ],
)
def test_an_interval_is_one_condition_on_the_range_key(interval: Interval, text: str, values: list[str]) -> None:
    request = Query("hashKey", "h", "rangeKey", interval).request("table")
    assert request["KeyConditionExpression"] == text
    assert [value["S"] for value in request["ExpressionAttributeValues"].values()] == values


def test_a_query_names_everything_by_placeholder() -> None:
    query = Query("size", "h", "between", Interval("a", "b"), filter=Between("and", 1, 2), projection=("or", "size"))
    request = query.request("table")
    assert request["KeyConditionExpression"] == "#n0 = :v0 AND #n1 BETWEEN :v1 AND :v2"
    assert request["FilterExpression"] == "#n3 BETWEEN :v3 AND :v4"
    assert request["ProjectionExpression"] == "#n2, #n0"
    assert request["ExpressionAttributeNames"] == {"#n0": "size", "#n1": "between", "#n2": "or", "#n3": "and"}


def test_a_plain_query_asks_for_nothing_else() -> None:
    assert Query("hashKey", "h", "rangeKey").request("table") == {
        "TableName": "table",
        "KeyConditionExpression": "#n0 = :v0",
        "ExpressionAttributeNames": {"#n0": "hashKey"},
        "ExpressionAttributeValues": {":v0": {"S": "h"}},
        "ScanIndexForward": True,
        "ReturnConsumedCapacity": "TOTAL",
    }


@pytest.mark.parametrize(
    "page", [Query("hashKey", "h", "r", projection=("a",), count_only=True), Scan(count_only=True)]
)
def test_counting_asks_for_no_attributes(page: Operation[Any]) -> None:
    request = page.request("table")
    assert request["Select"] == "COUNT"
    assert "ProjectionExpression" not in request


def test_an_attribute_is_asked_for_once() -> None:
    assert GetItem(KEY, projection=("a", "b", "a")).request("table")["ProjectionExpression"] == "#n0, #n1"


# -- writes -----------------------------------------------------------------------------------------------------------


def test_an_update_has_a_clause_for_each_kind_of_change() -> None:
    update = UpdateItem(KEY, set={"a": 1, "b": "x"}, remove=("c",), add={"d": 2}, condition=Compare("a", "=", 0))
    request = update.request("table")
    assert request["UpdateExpression"] == "SET #n0 = :v0, #n1 = :v1 REMOVE #n2 ADD #n3 :v2"
    assert request["ConditionExpression"] == "#n0 = :v3"
    assert "UpdateExpression" not in UpdateItem(KEY).request("table")


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (PutItem(KEY, condition=Missing("hashKey"), return_on_failure=True), "Put"),
        (UpdateItem(KEY, set={"a": 1}, condition=Exists("a")), "Update"),
        (DeleteItem(KEY, condition=Exists("a")), "Delete"),
    ],
)
def test_a_write_is_the_same_alone_and_in_a_transaction(write: Any, kind: str) -> None:
    (action,) = TransactWrite((write,)).request("table")["TransactItems"]
    alone = write.request("table")
    assert alone == action[kind] | {"ReturnValues": "NONE", "ReturnConsumedCapacity": "TOTAL"}


def test_a_transaction_has_its_token_only_when_given() -> None:
    assert TransactWrite((PutItem(KEY),), token="abc").request("table")["ClientRequestToken"] == "abc"
    assert "ClientRequestToken" not in TransactWrite((PutItem(KEY),)).request("table")


def test_an_action_of_a_transaction_answers_nothing() -> None:
    with pytest.raises(ValueError, match="return_values"):
        TransactWrite((PutItem(KEY, return_values="ALL_OLD"),))


def test_a_batch_holds_puts_then_deletes() -> None:
    assert BatchWrite(puts=(KEY | {"a": 1},), deletes=(KEY,)).request("table")["RequestItems"] == {
        "table": [{"PutRequest": {"Item": TYPED_KEY | {"a": {"N": "1"}}}}, {"DeleteRequest": {"Key": TYPED_KEY}}]
    }


# -- the stream -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("TRIM_HORIZON", {"ShardIteratorType": "TRIM_HORIZON"}),
        ("LATEST", {"ShardIteratorType": "LATEST"}),
        ("123", {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": "123"}),
    ],
)
def test_a_stream_is_read_after_a_position(after: str, expected: dict[str, str]) -> None:
    assert StreamRead("shard", after).request("table") == {"ShardId": "shard", **expected}
    assert StreamShards().request("table") == {}


# -- layouts ----------------------------------------------------------------------------------------------------------

LAYOUT = TableLayout(
    indexes=(
        IndexLayout("all", KeyAttribute("hashKey"), KeyAttribute("n", "N")),
        IndexLayout("keys", KeyAttribute("g"), KeyAttribute("n", "N"), "KEYS_ONLY"),
        IndexLayout("some", KeyAttribute("g"), KeyAttribute("rangeKey"), ("a", "b")),
    )
)


def test_a_start_key_holds_the_indexs_keys_and_the_tables_once_each() -> None:
    assert LAYOUT.start_key_names(None) == ("hashKey", "rangeKey")
    assert LAYOUT.start_key_names("all") == ("hashKey", "n", "rangeKey")
    assert LAYOUT.start_key_names("keys") == ("g", "n", "hashKey", "rangeKey")
    assert LAYOUT.start_key_names("some") == ("g", "rangeKey", "hashKey")


def test_an_index_shows_its_keys_and_what_it_projects() -> None:
    assert LAYOUT.projected(None) is None
    assert LAYOUT.projected("all") is None
    assert LAYOUT.projected("keys") == {"g", "n", "hashKey", "rangeKey"}
    assert LAYOUT.projected("some") == {"g", "hashKey", "rangeKey", "a", "b"}


def test_an_index_is_found_by_its_name() -> None:
    found = LAYOUT.index("keys")
    assert found is not None
    assert LAYOUT.keys_of("keys") == (found.hash_key, found.range_key)
    assert LAYOUT.index("unknown") is None
    with pytest.raises(KeyError):
        LAYOUT.keys_of("unknown")


def test_the_key_of_an_item() -> None:
    assert key_of(LAYOUT.key_names, KEY | {"a": 1}) == KEY
