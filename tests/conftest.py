"""What every test gets: hypothesis profiles.

`ci` (the default) tries the same examples in every run, so a failure can be repeated; `thorough` tries a hundred
times as many, at random: `HYPOTHESIS_PROFILE=thorough ./run test unit`.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", max_examples=30, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

CASES_A_TEST = 50


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--query-cases", type=int, default=2000, help="random queries to compare with a brute force")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "query_cases" in metafunc.fixturenames:
        cases = range(metafunc.config.getoption("--query-cases"))
        parts = [cases[start : start + CASES_A_TEST] for start in range(0, len(cases), CASES_A_TEST)]
        metafunc.parametrize("query_cases", parts, ids=[f"from {part.start}" for part in parts])
