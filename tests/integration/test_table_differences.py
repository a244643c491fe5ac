"""The list of differences says nothing that is out of date."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.integration.table_differences import DIFFERENCES, Difference

SUITE = sorted(path.stem for path in Path(__file__).parent.glob("test_table_contract_*.py"))


def contract() -> dict[str, Any]:
    """Every test of the suite by its name."""
    modules = [importlib.import_module(f"tests.integration.{module}") for module in SUITE]
    return {name: value for module in modules for name, value in vars(module).items() if name.startswith("test_")}


def cases_of(test: Any) -> set[str]:
    cases: set[str] = set()
    for mark in getattr(test, "pytestmark", ()):
        names, values = mark.args[:2]
        if names == "case":
            cases |= set(values)
        elif isinstance(names, tuple) and "case" in names:
            cases |= {value[names.index("case")] for value in values}
    return cases


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: f"{each.backend}-{each.test}")
def test_a_difference_names_a_test_and_its_cases(difference: Difference) -> None:
    tests = contract()
    assert difference.test in tests
    assert set(difference.cases) <= cases_of(tests[difference.test])


def test_the_table_of_our_own_has_no_differences() -> None:
    assert {difference.backend for difference in DIFFERENCES} == {"moto", "ministack"}
