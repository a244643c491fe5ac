"""Items: whatever is stored, our reading of the reply's JSON and botocore's give the same, of the same types."""

from __future__ import annotations

import base64
import json
from typing import Any

import botocore.session
import pytest
from botocore.parsers import JSONParser
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import TableUnavailable
from shardweave.table.dynamodb.answers import answer
from shardweave.table.dynamodb.items import native_item
from shardweave.table.dynamodb.replies import ReplyParser
from shardweave.table.operations import GetItem, Query
from shardweave.table.values import from_attribute_values, to_attribute_values
from tests.unit.test_values import texts, typed_equal, values

SHAPE = botocore.session.Session().get_service_model("dynamodb").operation_model("Query").output_shape
QUERY = Query("hashKey", "h", "rangeKey")


def reply(typed_item: Any) -> dict[str, Any]:
    body = {"Items": [typed_item], "Count": 1, "ScannedCount": 1}
    content = json.dumps(body, default=lambda binary: base64.b64encode(binary).decode()).encode()
    return {"status_code": 200, "headers": {}, "body": content, "context": {}}


@given(st.dictionaries(texts.filter(bool), values, max_size=5))
def test_items_are_read_as_botocore_and_values_read_them(stored: dict[str, Any]) -> None:
    typed = to_attribute_values(stored)
    replied = reply(typed)
    (ours,) = answer(QUERY, ReplyParser().parse(replied, SHAPE), "t").items
    (stock,) = JSONParser().parse(replied, SHAPE)["Items"]
    assert typed_equal(ours, from_attribute_values(stock))
    assert typed_equal(ours, native_item(stock))
    assert typed_equal(ours, stored)


@given(st.text("0123456789.eE+-", min_size=1, max_size=12))
def test_numbers_are_read_as_values_reads_them(text: str) -> None:
    def read(reader: Any) -> Any:
        try:
            return reader({"n": {"N": text}})
        except (ValueError, ArithmeticError) as error:
            return type(error)

    assert typed_equal(read(native_item), read(from_attribute_values))


@pytest.mark.parametrize(
    "typed",
    [
        {},
        {"X": "1"},
        {"N": "one"},
        {"N": None},
        {"B": "A"},
        {"L": [{"N": "1", "BOOL": True}]},
        {"M": {"a": "text"}},
        {"NS": 3},
        "text",
        None,
    ],
    ids=str,
)
def test_what_is_no_attribute_value_is_no_answer(typed: Any) -> None:
    with pytest.raises(TableUnavailable, match="get_item"):
        answer(GetItem({"hashKey": "h"}), {"Item": {"attribute": typed}}, "t")
