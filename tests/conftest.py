"""What every test gets: hypothesis profiles, processes that can be interrupted, and modules of its own.

`ci` (the default) tries the same examples in every run, so a failure can be repeated; `thorough` tries a hundred
times as many, at random: `HYPOTHESIS_PROFILE=thorough ./run test unit`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import shardweave

settings.register_profile(
    "ci", max_examples=30, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# No profile, region or endpoint of whoever runs the tests is that of the tests.
for variable in [name for name in os.environ if name.startswith("AWS_") and name != "AWS_CA_BUNDLE"]:
    del os.environ[variable]

QUESTIONS_A_TEST = 50
HISTORIES_A_TEST = 25


# Where tests run in the background an interruption is ignored, and so it would be by every process that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_modules(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test imports from its own folder ends with it: the next may have a service of the same name."""
    if "tmp_path" not in request.fixturenames:
        yield
        return
    folder: Path = request.getfixturevalue("tmp_path")
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
            del sys.modules[name]
    sys.path[:] = [each for each in sys.path if not Path(each).is_relative_to(folder)]


def pytest_configure() -> None:
    """Where the library is to be that of a wheel, it is."""
    wheel = os.environ.get("SHARDWEAVE_WHEEL")
    if wheel is not None and not Path(str(shardweave.__file__)).is_relative_to(wheel):
        raise pytest.UsageError(f"the library is {shardweave.__file__}, and not that of {wheel}")


def pytest_addoption(parser: pytest.Parser) -> None:
    long = bool(os.environ.get("SHARDWEAVE_LONG_SEARCHES"))
    questions, histories = (2000, 500) if long else (200, 50)
    parser.addoption("--questions", type=int, default=questions, help="random queries to compare with a brute force")
    parser.addoption("--first-question", type=int, default=0, help="the seed of the first of them")
    parser.addoption("--question-shapes", action="store_true", help="print how often each shape of query was met")
    parser.addoption("--reshard-users", type=int, default=2000, help="users that are moved while they are used")
    parser.addoption("--faults", type=int, default=1000, help="random faults on the way to DynamoDB")
    parser.addoption("--histories", type=int, default=histories, help="random histories of a re-shard")
    parser.addoption("--kills", type=int, default=6, help="how often the local server is killed under load")
    parser.addoption("--first-kill", type=int, default=0, help="the seed of the moments at which it is")
    parser.addoption("--every-loop-case", action="store_true", help="the whole contract as work of event loops, too")
    parser.addoption("--first-history", type=int, default=0, help="the seed of the first of them")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "histories" in metafunc.fixturenames:
        first = metafunc.config.getoption("--first-history")
        seeds = range(first, first + metafunc.config.getoption("--histories"))
        parts = [seeds[start : start + HISTORIES_A_TEST] for start in range(0, len(seeds), HISTORIES_A_TEST)]
        metafunc.parametrize("histories", parts, ids=[f"from {part.start}" for part in parts])
    if "questions" in metafunc.fixturenames:
        first = metafunc.config.getoption("--first-question")
        seeds = range(first, first + metafunc.config.getoption("--questions"))
        parts = [seeds[start : start + QUESTIONS_A_TEST] for start in range(0, len(seeds), QUESTIONS_A_TEST)]
        metafunc.parametrize("questions", parts, ids=[f"from {part.start}" for part in parts])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # It takes minutes by itself: begun last, it would be waited for when everything else is told.
    items.sort(key=lambda item: item.path.name != "test_reshard_http.py")


def pytest_collection_finish() -> None:
    """What importing and collecting has made stays to the end: no search for garbage has to go through it again."""
    gc.collect()
    gc.freeze()
