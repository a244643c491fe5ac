"""`dev`: what it says of each query, and when it opens a browser."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from shardweave.access.tokens import decode_token
from shardweave.database.data_folder import DataFolder
from shardweave.local.dev import NO_BROWSER, for_serve, open_when_ready, parser, token
from shardweave.local.plan_lines import plan_lines
from shardweave.local.write_lines import line
from shardweave.query.plan import Plan
from shardweave.query.spec import QueryStats
from shardweave.schema.entity import now_ms
from tests.unit.api_world import Client, user_service

SAID: list[str] = []


def observe(plan: Plan, stats: QueryStats) -> None:
    SAID.extend(plan_lines(plan, stats))


@pytest.fixture
def client() -> Client:
    SAID.clear()
    return Client(user_service(observe_query=observe).api)


def test_each_query_says_what_it_did_and_why(client: Client) -> None:
    assert client.get("/v1/users?firstNameCanonical.prefix=ja&limit=3&reverse=true").status == 200
    first, *reasons = SAID
    assert first.startswith(
        "user by firstName, descending, 3 a page: 4 lanes, 4 reads in 1 round, 0 records read, 0 given, "
    )
    assert first.endswith(" ms")
    assert reasons == ["  because firstName uses every condition", "  because 4 lanes in 1 generation, 1 stage"]


def test_the_guide_shows_what_is_said() -> None:
    told: list[Plan] = []
    client = Client(user_service(observe_query=lambda plan, stats: told.append(plan)).api)
    client.get("/v1/users?firstNameCanonical.prefix=ja&limit=3")
    stats = QueryStats(lanes=4, requests=4, rounds=1, scanned=16, returned=3, units=2.0, milliseconds=2.4)
    said = [*plan_lines(told[0], stats), line("user", "transaction", [("put", "user")], 12.0, 0.6)]
    guide = (Path(__file__).parents[2] / "docs" / "http-server.md").read_text(encoding="utf-8")
    assert "\n".join(["```text", *said, "```"]) in guide


def test_a_query_that_was_cut_or_failed_says_so(client: Client) -> None:
    told: list[tuple[Plan, QueryStats]] = []
    api = user_service(observe_query=lambda plan, stats: told.append((plan, stats))).api
    assert Client(api).post("/v1/users/count", {}).status == 200
    (plan, _), *_ = told
    line = plan_lines(plan, QueryStats(lanes=4, requests=1, rounds=1, cut_by="time", failed_lanes=2))[0]
    assert line.endswith("cut by time, 2 lanes failed")
    assert "1 read in 1 round" in line


def test_its_arguments_are_those_of_serve_and_two_more() -> None:
    given = ["orders.py", NO_BROWSER, "--claim", "tenant=acme", "--port", "0", "--claim=team=red", "--empty"]
    options = parser().parse_args(given)
    assert (options.given, options.no_browser, options.port) == ("orders.py", True, 0)
    assert options.claim == [("tenant", "acme"), ("team", "red")]
    assert for_serve(given) == ["orders.py", "--port", "0", "--empty"]


def test_the_token_that_the_page_is_opened_with_is_an_operators(tmp_path: Path) -> None:
    claims = decode_token(
        token(tmp_path, {"tenant": "acme"}), DataFolder(tmp_path).token_secret(), now=now_ms() // 1000
    )
    assert (claims["tenant"], claims["groups"]) == ("acme", ["operators"])


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not news."""


def test_the_page_is_shown_once_the_server_answers() -> None:
    server = HTTPServer(("127.0.0.1", 0), Healthy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    shown: list[str] = []
    try:
        open_when_ready("127.0.0.1", server.server_port, lambda: "abc", shown.append)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert shown == [f"http://127.0.0.1:{server.server_port}/explorer#token=abc"]


def test_nothing_is_shown_where_no_server_answers() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        shown: list[str] = []
        open_when_ready("127.0.0.1", taken.getsockname()[1], None, shown.append, seconds=0.01)
    assert shown == []
