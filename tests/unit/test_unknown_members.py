"""Bodies of many members that nobody knows: a hundred are told one by one and the rest counted, so that what a client
sends does not decide how much is made of it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from shardweave.errors import ValidationFailed
from shardweave.values.json_types import JSON_CONFIG
from shardweave.values.json_validation import MAX_UNKNOWN, read_model
from tests.unit.api_world import Client, json_of, user_service

MANY = 19_000
UNKNOWN = {f"x{number}": number for number in range(MANY)}


class Form(BaseModel):
    """Two members."""

    model_config = JSON_CONFIG

    name: str
    size: int = 0


@pytest.mark.parametrize("count", [0, 1, MAX_UNKNOWN, MAX_UNKNOWN + 1, MANY])
def test_as_many_faults_are_made_as_are_told(count: int) -> None:
    given = {"name": 7, **{f"x{number}": number for number in range(count)}, "size": "much"}
    with pytest.raises(ValidationFailed) as failure:
        read_model(Form, given)
    unknown = [each for each in failure.value.fields if each.type == "extra_forbidden"]
    assert [each.location for each in unknown] == [(f"x{number}",) for number in range(min(count, MAX_UNKNOWN))]
    assert failure.value.more == max(0, count - MAX_UNKNOWN)
    assert {each.location for each in failure.value.fields} >= {("name",), ("size",)}


USER = {"userId": "u", "firstName": "Ann", "lastName": "B", "beneficiaryId": "b"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/users", {**USER, **UNKNOWN}),
        ("/v1/users/batch-get", {"keys": ["u"], **UNKNOWN}),
        ("/v1/users/batch-write", {"puts": [], **UNKNOWN}),
        ("/v1/users/batch-write", {"puts": [{**USER, **UNKNOWN}]}),
        ("/v1/users/query", {"index": "beneficiaryId", **UNKNOWN}),
    ],
    ids=["a record", "keys", "a batch", "a record in a batch", "a query"],
)
def test_an_answer_lists_a_hundred_and_says_how_many_more_there_are(path: str, body: dict[str, Any]) -> None:
    answer = Client(user_service().api).post(path, body)
    assert answer.status == 400
    document = json_of(answer)
    assert len(document["errors"]) <= MAX_UNKNOWN
    assert document["detail"].endswith(f"; and {MANY - MAX_UNKNOWN} more")
