"""`./run serve`: the API of a service on this machine.

Standard output gets one line, `ready http://127.0.0.1:8123`, when requests are answered and a test write to the table
has succeeded. Everything else goes to the log on standard error, see `log`. Exit codes: 0 after SIGTERM or SIGINT, 1 if
it can't start, 2 for wrong arguments or a wrong configuration. A write that was answered is in the table's file, no
matter how the process ends.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..access.authorization import Authorization
from ..access.tokens import ISSUER
from ..api.app import Observation
from ..api.emf_metrics import QueryMetrics
from ..api.http import Response
from ..api.operators import EVERYBODY, GROUP, Operators
from ..api.rate_limit import MOST, Rates
from ..api.safe_traceback import trace
from ..cli.console import visible
from ..cli.open_table import folder_path
from ..database.data_folder import DataFolder, SampleState
from ..database.project import command_name, data_folder
from ..errors import ConfigurationError, ShardweaveError
from ..errors.exit_codes import EXIT_CODES, exit_code_of
from ..errors.fault_text import with_fix
from ..keys.key_format import KEY_FORMATS, key_format
from ..query.fanout import DEFAULT_THROTTLE
from ..query.plan import Plan
from ..query.runner import Observer
from ..query.spec import QueryStats
from ..reshard.phases import Waits
from ..reshard.timings import LOCAL, LOCAL_PACE, decode_waits
from ..schema.access_rules import GROUP_NAME
from ..schema.checks.access import access_advice
from ..schema.schema import Schema
from ..service.build import Service, Settings, build, feeding, reshard_driver
from ..service.files import default_service, named_service, service_file
from ..service.loader import has_sample_data, service_module, service_sample_data, service_schema
from ..table.embedded import EmbeddedTable
from ..table.operations import Scan
from ..table.retry import RetryClock
from .asgi import AsgiApi, Event, Page
from .authorizer import LocalAuthorizer
from .background import Background, Stopping, pause
from .cross_origin import NamedOrigins, origin_of
from .loading import load
from .log import LOG, METRICS, configure
from .memory import Memory
from .operator_pages import Metrics, explorer_pages, health
from .plan_lines import plan_lines
from .reload import Reloader, watched
from .server import GRACE_SECONDS, HttpServer, address_of, listen
from .swagger import swagger_page
from .write_lines import ToldWrites

if TYPE_CHECKING:
    from types import FrameType

THREADS = 16
EVERYONE_HERE = Operators(frozenset({EVERYBODY}))
"""The default operators without access rules: everybody, since the server listens on loopback only."""
OPERATORS = Operators.of_text(f"{GROUP}operators")
"""The default operators of a schema with access rules."""
HOST = (
    "a loopback address (default: 127.0.0.1): every program and user of this machine can reach it, and where the "
    "service declares no access may read and change all; other machines can't, for whom a service is deployed"
)
LOCAL_BUDGET_MS = 2000
MAX_PORT = 65_535
MAX_SCANNED = 100
"""The number of items read together to see whether the table has a record."""
FIRST_DAY = dt.date(2002, 9, 1)
"""The earliest day for sample data of the 300 days before it, whose times then have 13 digits."""


class Stopped(BaseException):
    """A signal requested a stop before the server was running."""


def main(
    arguments: list[str],
    folder_at: Callable[[Path], DataFolder] = DataFolder,
    *,
    listening: socket.socket | None = None,
) -> int:
    """Serve until a signal arrives. `folder_at` makes the data folder of a path. A `listening` socket is given to a
    server that was started, or restarted, because of `--reload`."""
    options = parser().parse_args(arguments)
    try:
        given = options.given or options.service
        options.service = named_service(given) if given else default_service()
        service_file(options.service)
    except ConfigurationError as error:
        place = "" if error.where == "service" else f"{error.where}: "
        parser().error(visible(f"argument --service: {place}{with_fix(error.message, error.fix)}"))
    written = configure(sys.stderr)
    if options.empty and options.day is not None:
        parser().error("argument --day: it is of the sample data, which --empty does not load; leave one of them out")
    try:
        if options.reload and listening is None:
            files = partial(watched, options.service)
            Reloader(serve_again, arguments, listen(options.host, options.port), files).run()
            return 0
        signals = _Signals()
        run(options, signals, folder_at(options.data), every_second=written.write_counts, listening=listening)
    except ShardweaveError as error:
        print(visible(f"error: {error}"), file=sys.stderr, flush=True)
        return exit_code_of(error)
    except Stopped:
        say("stopped")
    finally:
        written.write_counts(all_of_them=True)
    return 0


def serve_again(arguments: list[str], listening: socket.socket) -> int:
    """Serve with a socket that is listening already."""
    return main(arguments, listening=listening)


def run(
    options: argparse.Namespace,
    signals: _Signals,
    folder: DataFolder,
    *,
    every_second: Callable[[], None] = lambda: None,
    listening: socket.socket | None = None,
) -> None:
    """Start, serve, stop. Raises ShardweaveError if it can't start, or can't write."""
    with ExitStack() as stack:
        listening = stack.enter_context(listening or listen(options.host, options.port))
        stack.enter_context(folder.used_by_this_process())
        service, table = open_service(options, folder)
        stack.callback(service.close)
        for name in service.parts.store.decide_lookups():
            say(f"{name} does not hold all records yet: run `shardweave backfill`")
        if not options.empty:
            fill(service, folder, options.day)
        address = address_of(listening)
        background = drive(service, folder)
        stack.callback(background.stop)

        def stop_soon() -> None:
            say(f"stopping: requests under way have {GRACE_SECONDS} seconds")
            table.stop_waiting()
            background.stop_soon()

        file = folder.table_path(service.settings.service, service.settings.key_format)
        metrics = Metrics(lambda: app, file, lambda: server.connections, lambda: background.lag, started=monotonic())
        pages: dict[str, Page] = {**pages_beside(service), "/health": lambda _: health(table), "/metrics": metrics}
        app = AsgiApi(
            service.api,
            pages,
            THREADS,
            authorize=LocalAuthorizer(folder.token_secret()).authorize,
            origins=NamedOrigins(frozenset(options.cors_origin)),
        )
        stack.callback(app.close)
        memory = Memory(app.answers.total)

        def housekeeping() -> None:
            every_second()
            memory.give_back()

        ready = partial(print, f"ready {address}", flush=True)
        server = HttpServer(app, ready, stopping=stop_soon, every_second=housekeeping)
        table.check()
        signals.server = server
        say(who_may(service.parts.schema, options.cors_origin))
        say(f"{options.service} {__version__}: try {address}/docs; Ctrl+C stops it")
        server.run(sockets=[listening])
    say("stopped")


def pages_beside(service: Service) -> dict[str, Page]:
    """The pages that only the local server has. The page for the OpenAPI document has the document's access rules."""

    def docs(event: Event) -> dict[str, Any]:
        path = "/openapi.json"
        context = {**event["requestContext"], "http": {"method": "GET", "path": path}}
        described = service.api.resolve({**event, "rawPath": path, "rawQueryString": "", "requestContext": context})
        if described["statusCode"] != HTTPStatus.OK:
            return described
        return swagger_page(described["body"].encode()).as_lambda_answer()

    first = Response(307, b"", {"location": "/docs"})
    return {"/docs": docs, "/": lambda _: first.as_lambda_answer(), **explorer_pages()}


def open_service(options: argparse.Namespace, folder: DataFolder) -> tuple[Service, EmbeddedTable]:
    """The service and its table in the folder."""
    schema = service_schema(options.service, key_format(options.key_format))
    for advice in access_advice(schema.entities.values()):
        say(f"advice: {advice}")
    settings = Settings(
        cursor_keys=folder.cursor_keys(),
        service=options.service,
        key_format=options.key_format,
        throttle=DEFAULT_THROTTLE,
        external_keys=folder.external_keys,
        waits=options.reshard_waits,
        operators=options.operators or operators_here(schema),
        rates=Rates(options.tenant_requests, options.tenant_read_units),
        introspection=True,
    )
    table = folder.open_table(schema, options.service, options.key_format, create=True, serving=True, say=say)
    service = build(
        settings,
        open_table=lambda _: ToldWrites(table, schema, say) if options.plans else table,
        observe=partial(log_and_count, options.service) if options.metrics else log,
        observe_query=query_observer(options),
    )
    return service, table


def operators_here(schema: Schema) -> Operators:
    """The operators if the arguments name none: everybody, if everybody may do everything else."""
    return OPERATORS if Authorization(schema.entities).restricts else EVERYONE_HERE


def who_may(schema: Schema, origins: Sequence[str]) -> str:
    """The text that says to whom the server is open."""
    restricted = Authorization(schema.entities).restricts
    limited = "with a token all that it allows (`shardweave token --claim NAME=VALUE` makes one)"
    allowed = limited if restricted else "all records, without a token"
    pages = f", and to pages of {', '.join(sorted(set(origins)))} in a browser" if origins else ""
    return f"open to every program on this machine: {allowed}{pages}; to no other machine"


def drive(service: Service, folder: DataFolder) -> Background:
    """Start the work that drives re-shards: it gets the table's changes, and is called every second."""
    parts = service.parts
    assert parts.maps is not None
    waits = service.settings.waits
    stopping = threading.Event()
    driver = reshard_driver(
        parts.schema,
        parts.table,
        parts.maps,
        waits,
        pace=LOCAL_PACE,
        budget_ms=LOCAL_BUDGET_MS,
        waiting=RetryClock(sleep=partial(pause, stopping)),
    )
    name = service.settings.service, service.settings.key_format
    handler, position = feeding(driver, parts.store), folder.position_file(*name)
    background = Background(handler, parts.table, position, failed=log_failure, stopping=stopping)
    background.start()
    return background


def fill(service: Service, folder: DataFolder, day: dt.date | None) -> None:
    """Load the sample data into a table that never had records, or complete an interrupted load. Raises
    ConfigurationError for a day that is too early for sample data."""
    name = service.settings.service, service.settings.key_format
    module, state = service_module(name[0]), folder.sample_state(*name)
    has_any = has_sample_data(module)
    if not has_any or (state is None and not is_empty(service)):
        if day is not None:
            what = "the service has no sample data" if not has_any else f"{folder.path} has other records already"
            raise ConfigurationError(f"{what}, so there is none for a day", where="--day", fix="leave it out")
        return
    if state is None:
        state = SampleState((day or dt.datetime.now(dt.UTC).date()).isoformat(), complete=False)
        folder.set_sample_state(*name, state)
    elif day is not None and state.day != day.isoformat():
        raise ConfigurationError(
            f"the sample data in {folder.path} looks back from {state.day} already",
            where="--day",
            fix="leave it out, or choose another folder with --data",
        )
    if state.complete:
        return
    samples = service_sample_data(module, dt.date.fromisoformat(state.day))
    written = load(service.parts.store, samples, "Loading sample data", sys.stderr)
    folder.set_sample_state(*name, SampleState(state.day, complete=True))
    what = "records and events" if service.parts.schema.read_models else "records"
    say(f"{written:,} sample {what} loaded")


def is_empty(service: Service) -> bool:
    """Whether the table has no records. Items that the library keeps for itself, such as those of lookups, do not
    count."""
    schema, scan = service.parts.schema, Scan(limit=MAX_SCANNED)
    while True:
        page = service.parts.table.run(scan)
        if any(schema.entity_of_key(str(item[schema.hash_key])) is not None for item in page.items):
            return False
        if page.last_key is None:
            return True
        scan = replace(scan, start_key=page.last_key)


def log(seen: Observation) -> None:
    """Log a request: one line, one more for the audit trail, and any internal error."""
    detail = f" {seen.problem}" if seen.problem else ""
    route = seen.route or "(no such path)"
    say(f"{seen.method} {route} {seen.status} {seen.milliseconds:.1f} ms {seen.request_id}{detail}")
    if seen.audit is not None:
        for written in (seen.audit, *seen.beside):
            say(f"audit {json.dumps(written)}")
    for each in seen.unreadable:
        LOG.warning(f"record unreadable {json.dumps(each)}")
    if seen.failure is not None:
        LOG.error("\n".join(trace(seen.failure)))


def log_and_count(service: str, seen: Observation) -> None:
    """As `log`, and write the line of metrics that a deployed function writes for what no query counts."""
    log(seen)
    metrics = QueryMetrics(METRICS.info, service=service, dimensions={"stage": "local"})
    metrics.count_unreadable(seen.uncounted)
    metrics.flush()


def log_failure(failure: Exception) -> None:
    """Log an exception of background work, which is repeated."""
    if isinstance(failure, Stopping):
        return
    if isinstance(failure, ShardweaveError):
        LOG.warning("re-shard: %s", failure)
    elif isinstance(failure, OSError):
        LOG.warning("re-shard: %s: %s", failure.filename or "a file of the data folder", failure.strerror)
    else:
        LOG.error("\n".join(trace(failure)))


def log_query(service: str, plan: Plan, stats: QueryStats) -> None:
    """Write the line of metrics that a deployed function writes for a query."""
    metrics = QueryMetrics(METRICS.info, service=service, dimensions={"stage": "local"})
    metrics.observe(plan, stats)
    metrics.flush()


def query_observer(options: argparse.Namespace) -> Observer | None:
    """The function to call with each query; None if there is none."""
    told: list[Observer] = [partial(log_query, options.service)] if options.metrics else []
    told += [lambda plan, stats: say("\n".join(plan_lines(plan, stats)))] if options.plans else []

    def observe(plan: Plan, stats: QueryStats) -> None:
        for each in told:
            each(plan, stats)

    return observe if told else None


def say(text: str) -> None:
    LOG.info("%s", text)


class _Signals:
    """SIGTERM and SIGINT end the process at once while there is no server, and later tell the server to stop. uvicorn
    takes them over while it runs and raises them again when it has stopped: then they must not end the process."""

    def __init__(self) -> None:
        self.server: HttpServer | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.server is None:
            raise Stopped
        self.server.should_exit = True


def parser() -> argparse.ArgumentParser:
    """The parser of the arguments."""
    found = argparse.ArgumentParser(
        prog=command_name("serve"),
        allow_abbrev=False,
        description="Serve a service's API on this machine, with sample data when its data folder is empty.",
        epilog=f"Ctrl+C and SIGTERM stop it, with 0. {EXIT_CODES}",
    )
    found.add_argument("--version", action="version", version=__version__)
    which = found.add_mutually_exclusive_group()
    which.add_argument("given", nargs="?", metavar="SERVICE", help="a name, or a path such as orders.py")
    which.add_argument("--service", metavar="SERVICE", help="the same (default: what cdk.json says, or the only one)")
    found.add_argument("--host", default="127.0.0.1", help=HOST)
    found.add_argument("--port", type=_port, default=8123, help="0 takes a free one (default: 8123)")
    found.add_argument(
        "--cors-origin",
        type=_origin,
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let pages of this origin use the API in a browser, such as http://localhost:3000; may be given again",
    )
    found.add_argument(
        "--reload",
        action="store_true",
        help="start again after each edit of the service and of what it imports beside it; the data stays",
    )
    found.add_argument(
        "--reshard-waits",
        type=_waits,
        default=LOCAL,
        metavar="WAITS",
        help="how long phases of a re-shard last: local, fast (cursors live 5 s), or JSON (default: local)",
    )
    found.add_argument(
        "--operators",
        type=_operators,
        metavar="LIST",
        help="who may move records and send events, by commas: group:NAME, or `local NAME` of a token's subject "
        "(default: group:operators where the service declares access, else everybody)",
    )
    found.add_argument(
        "--tenant-requests",
        type=_most,
        default=0,
        metavar="N",
        help="requests that a tenant may make in a minute, without tenants each caller (default: any number)",
    )
    found.add_argument(
        "--tenant-read-units",
        type=_most,
        default=0,
        metavar="N",
        help="read units that a tenant may spend in a minute (default: any number)",
    )
    found.add_argument("--data", type=folder_path, default=data_folder(), help="the data folder (default: .data)")
    found.add_argument("--metrics", action="store_true", help="write the metrics of each query to standard error")
    found.add_argument("--plans", action="store_true", help="write what each query and write did to standard error")
    found.add_argument("--empty", action="store_true", help="load no sample data")
    found.add_argument("--key-format", default="ordered", choices=list(KEY_FORMATS), help="default: ordered")
    found.add_argument(
        "--day",
        type=_day,
        help="the day that sample data looks back from, as 2024-01-31 (default: today); for a folder without any",
    )
    return found


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text[:6]) <= MAX_PORT):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a port; give a number from 1 to {MAX_PORT}, or 0")
    return int(text)


def _origin(text: str) -> str:
    try:
        return origin_of(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(f"{error.message}; {error.fix}") from None


def _most(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(MOST)) and int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a whole number from 0 to {MOST:,}; 0 is no limit")
    return int(text)


def _operators(text: str) -> Operators:
    named = Operators.of_text(text)
    known = all(map(GROUP_NAME.fullmatch, named.groups)) and all(map(_is_anybody_here, named.principals))
    if not named or not known:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} names nobody here; give group:NAME, or '{ISSUER} NAME'")
    return named


def _is_anybody_here(principal: str) -> bool:
    issuer, _, subject = principal.partition(" ")
    return principal == EVERYBODY or (issuer == ISSUER and bool(subject))


def _waits(text: str) -> Waits:
    try:
        return decode_waits(text, "--reshard-waits")
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(f"{error.message}; {error.fix}") from None


def _day(text: str) -> dt.date:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a day; give one as 2024-01-31") from None
    if day > dt.datetime.now(dt.UTC).date():
        raise argparse.ArgumentTypeError("it lies ahead, and records are not made ahead of time")
    if day < FIRST_DAY:
        raise argparse.ArgumentTypeError(f"it lies too far back; give {FIRST_DAY} or later")
    return day
