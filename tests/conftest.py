"""What every test gets: hypothesis profiles, and processes that can be interrupted.

`ci` (the default) tries the same examples in every run, so a failure can be repeated; `thorough` tries a hundred
times as many, at random: `HYPOTHESIS_PROFILE=thorough ./run test unit`.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", max_examples=30, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

CASES_A_TEST = 50
HISTORIES_A_TEST = 25


# Where tests run in the background an interruption is ignored, and so it would be by every process that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--query-cases", type=int, default=2000, help="random queries to compare with a brute force")

    parser.addoption("--reshard-users", type=int, default=2000, help="users that are moved while they are used")
    parser.addoption("--histories", type=int, default=500, help="random histories of a re-shard")
    parser.addoption("--first-history", type=int, default=0, help="the seed of the first of them")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "histories" in metafunc.fixturenames:
        first = metafunc.config.getoption("--first-history")
        seeds = range(first, first + metafunc.config.getoption("--histories"))
        parts = [seeds[start : start + HISTORIES_A_TEST] for start in range(0, len(seeds), HISTORIES_A_TEST)]
        metafunc.parametrize("histories", parts, ids=[f"from {part.start}" for part in parts])
    if "query_cases" in metafunc.fixturenames:
        cases = range(metafunc.config.getoption("--query-cases"))
        parts = [cases[start : start + CASES_A_TEST] for start in range(0, len(cases), CASES_A_TEST)]
        metafunc.parametrize("query_cases", parts, ids=[f"from {part.start}" for part in parts])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # It takes minutes by itself: begun last, it would be waited for when everything else is told.
    items.sort(key=lambda item: item.path.name != "test_reshard_http.py")
