"""Filters of properties that have many values: one value is no list, and a list is no value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api_world import Client, api_of, problem_of
from tests.unit.test_values_every_way import SCHEMA

MANY = ["tags", "numbers", "many", "pair", "nested", "days", "document"]


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("test", ["eq", "ne", "in"])
@pytest.mark.parametrize("value", [5, "a", ["a"]], ids=repr)
def test_a_test_of_a_whole_list_says_what_to_use_instead(name: str, test: str, value: Any) -> None:
    given = [value] if test == "in" else value
    body = {"filter": {"property": name, test: given}}
    refused = problem_of(Client(api_of(SCHEMA)).post("/v1/cases/query", body), 400, "invalid_input")
    assert refused["where"].startswith(f"filter.{test}")
    assert refused["fix"].startswith("use contains for a member, or size")
