"""The tables that the contract suite runs on.

`open_table(layout)` gives a new, empty table of the backend that the test runs on. The backends are one list below;
what the emulators do otherwise than DynamoDB is one list in `table_differences`, and each entry makes its test a strict
expected failure on that backend: when the emulator is mended, the test fails until the entry is removed.

MiniStack runs on a Python of its own, since it pins another boto3. `./run test` makes that environment in
`.tools/ministack`; `MINISTACK_ENVIRONMENT` names another folder. One server is started for a test process that needs
it, on a free port of the loopback interface, and stopped at its end. The contract suite asks it over both transports,
and as work of event loops: a fifth of its cases and of the outcomes of writes, since an event loop differs from threads
only in how it waits. `--every-loop-case` plays all of them.
"""

from __future__ import annotations

import itertools
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from shardweave.table import Table
from shardweave.table.dynamodb import DynamoDBTable, create_table
from shardweave.table.dynamodb.client import Connection, Settings
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import TableLayout
from tests.integration.held_port import held_port
from tests.integration.local_server import START_SECONDS
from tests.integration.one_at_a_time import OneAtATime
from tests.integration.question_shapes import table_of, too_rare
from tests.integration.raw_server import LoopTable, make_certificates
from tests.integration.scripted_server import LAYOUT, UNHURRIED, Reply, Script, ScriptedServer, table_over
from tests.integration.table_contract import OpenTable
from tests.integration.table_differences import DIFFERENCES
from tests.integration.transport_world import World

BACKENDS = ("embedded", "moto", "ministack")
EMULATORS = {"direct": "ministack", "loop": "ministack"}
CONTRACT_BACKENDS = (*BACKENDS, *EMULATORS)
PART_OF_LOOP_CASES = 5
DEFAULT_ENVIRONMENT = Path(__file__).parents[2] / ".tools" / "ministack"
REGION = "us-east-1"

_numbers = itertools.count(1)


def _leave_loop_cases_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves most cases on event loops out, unless all are asked for; the same ones each time."""
    if config.getoption("--every-loop-case"):
        return
    left_out = [item for item in items if _is_loop_case(item) and zlib.crc32(item.nodeid.encode()) % PART_OF_LOOP_CASES]
    config.hook.pytest_deselected(items=left_out)
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]


def _is_loop_case(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    long = item.path.name.startswith(("test_table_contract", "test_write_outcomes"))
    return long and called is not None and "loop" in called.params.values()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that opens tables runs once for each backend, or for those that its module names in TABLES."""
    if "backend" in metafunc.fixturenames:
        is_contract = metafunc.module.__name__.rpartition(".")[2].startswith("test_table_contract")
        backends = getattr(metafunc.module, "TABLES", BACKENDS)
        metafunc.parametrize("backend", CONTRACT_BACKENDS if is_contract else backends)


class QuestionShapes:
    """Adds up the shapes that the questions of all test processes met, and fails the run where one was too rare."""

    def __init__(self, *, printed: bool) -> None:
        self._printed = printed
        self._questions = 0
        self._counts: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and "shapes" in told:
            self._questions += told["questions"]
            self._counts.update(told["shapes"])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if too_rare(self._counts, self._questions) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        rare = too_rare(self._counts, self._questions)
        if self._questions and (self._printed or rare):
            terminalreporter.section("shapes of questions")
            for line in [*table_of(self._counts, self._questions), *(f"met too rarely: {each}" for each in rare)]:
                terminalreporter.line(line)


class Kills:
    """Tells in which phases of a move the server was killed, and how many answers its clients got in all."""

    def __init__(self) -> None:
        self._told: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and "kills" in told:
            self._told.append(f"{told['answers']:,} answers, and killed in: {told['kills']}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self._told:
            terminalreporter.line(line)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    # A process that tests are handed to has no terminal, and tells the one that has.
    if config.pluginmanager.has_plugin("terminalreporter") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(QuestionShapes(printed=config.getoption("--question-shapes")))
        config.pluginmanager.register(Kills())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _leave_loop_cases_out(config, items)
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is None or "backend" not in callspec.params:
            continue
        for difference in DIFFERENCES:
            if (
                difference.backend == EMULATORS.get(callspec.params["backend"], callspec.params["backend"])
                and difference.test == getattr(item, "originalname", item.name)
                and (not difference.cases or callspec.params.get("case") in difference.cases)
            ):
                item.add_marker(pytest.mark.xfail(strict=not difference.sometimes, reason=difference.what))


@pytest.fixture
def open_table(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenTable]:
    """Makes tables of the test's backend, and closes them at its end. None removes expired records by itself: an
    emulator does that by the machine's clock, whatever the test's clock says. A query leaves them out in any case."""
    opened: list[Table] = []

    def open_one(layout: TableLayout) -> Table:
        name = f"contract-{os.getpid()}-{next(_numbers)}"
        if backend == "embedded":
            # So few entries wait that tests meet both those that wait and those that were written.
            table: Table = EmbeddedTable(layout, tmp_path / name, name=name, wait=3)
        elif backend in EMULATORS:
            clients = request.getfixturevalue("ministack_clients")
            url = request.getfixturevalue("ministack_url")
            create_table(DynamoDBTable(replace(layout, ttl_attribute=None), name, **clients))
            table = table_over("direct", layout, name, url, **clients)
            if backend == "loop":
                table = LoopTable(table)
        else:
            clients = request.getfixturevalue(f"{backend}_clients")
            create_table(DynamoDBTable(replace(layout, ttl_attribute=None), name, **clients))
            table = DynamoDBTable(layout, name, **clients)
            if backend == "moto":
                table = OneAtATime(table)
        opened.append(table)
        return table

    yield open_one
    for table in opened:
        table.close()


@pytest.fixture(params=["botocore", "direct"])
def script(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Script]:
    """Makes a table whose requests are answered by the given replies, at one attempt each unless asked otherwise, over
    each of the transports."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    made: list[tuple[DynamoDBTable, ScriptedServer]] = []

    def make(*replies: Reply, max_attempts: int = 1, **settings: Any) -> tuple[DynamoDBTable, ScriptedServer]:
        server = ScriptedServer(replies)
        transport = "botocore" if settings.get("stock_parser") else settings.pop("transport", request.param)
        table = table_over(transport, LAYOUT, "orders", server.url, max_attempts=max_attempts, **settings)
        made.append((table, server))
        return table, server

    yield make
    for table, server in made:
        table.close()
        server.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


DRIVERS = ("threads", "loop")
"""What waits for sockets: the thread that asks, or an event loop."""


@pytest.fixture(params=DRIVERS)
def plain(request: pytest.FixtureRequest, certificates: tuple[Path, ssl.SSLContext]) -> Iterator[World]:
    made = World(certificates[0], None, request.param == "loop")
    yield made
    made.close()


@pytest.fixture(params=DRIVERS)
def secure(request: pytest.FixtureRequest, certificates: tuple[Path, ssl.SSLContext]) -> Iterator[World]:
    made = World(*certificates, request.param == "loop")
    yield made
    made.close()


@pytest.fixture(params=itertools.product(("plain", "TLS"), DRIVERS), ids="-".join)
def world(request: pytest.FixtureRequest, certificates: tuple[Path, ssl.SSLContext]) -> Iterator[World]:
    trusted, context = certificates
    over, driver = request.param
    made = World(trusted, context if over == "TLS" else None, driver == "loop")
    yield made
    made.close()


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> int:
    """How many random faults there are on the way to DynamoDB."""
    return int(request.config.getoption("--faults"))


@pytest.fixture(scope="session")
def moto_clients() -> Iterator[dict[str, Any]]:
    """Clients of moto, in this process."""
    # moto does not know the streams service by the host names that hold an account id.
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")
        with mock_aws():
            yield _clients(Settings(region=REGION))


@pytest.fixture(scope="session")
def ministack_clients(ministack_url: str) -> Iterator[dict[str, Any]]:
    """Clients of the MiniStack server."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield _clients(Settings(endpoint_url=ministack_url, region=REGION, **UNHURRIED))


@pytest.fixture(scope="session")
def ministack_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a MiniStack server that lives as long as the tests."""
    home = tmp_path_factory.mktemp("ministack")
    with held_port() as port, (home / "log").open("wb") as log:
        variables = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            # They would listen on ports of their own, which those of other test processes would want too.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
        }
        url = f"http://127.0.0.1:{port}"
        server = subprocess.Popen(
            [ministack_command()], cwd=home, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            _wait_until_healthy(url, server, home / "log")
            yield url
        finally:
            server.terminate()
            server.wait(timeout=START_SECONDS)


def _clients(settings: Settings) -> dict[str, Any]:
    """Clients as the library makes them, for all tables of a test process: making one takes longer than most tests."""
    connection = Connection(settings)
    return {"client": connection.client, "streams_client": connection.streams}


def ministack_command() -> Path:
    """MiniStack's command in its own environment."""
    environment = Path(os.environ.get("MINISTACK_ENVIRONMENT", DEFAULT_ENVIRONMENT))
    command = environment / "bin" / "ministack"
    if not command.exists():
        pytest.fail(f"{command} does not exist: run `./run test`, which makes it, or set MINISTACK_ENVIRONMENT")
    return command


def _wait_until_healthy(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < ends:
        try:
            with urllib.request.urlopen(f"{url}/_ministack/health", timeout=60):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    pytest.fail(f"MiniStack did not start:\n{log.read_text(errors='replace')[-2000:]}")
