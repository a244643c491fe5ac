"""A function that is restored from a snapshot: what the copies of one start have in common does no harm.

SnapStart keeps the memory of a function that has been imported, and starts every environment from that copy, hours or
weeks later. A copy is a fork whose random state is put back to what it was, since Python seeds it anew after a fork and
a restored process does not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from shardweave.keys.shard_key.key_ring import KeyRing, encode_key_ring

ROOT = Path(__file__).resolve().parents[2]
COPIES = 3
RING = encode_key_ring(KeyRing("k1", {"k1": b"0123456789abcdef0123456789abcdef"}))

PROGRAM = """
import json, os, random, sys, time
os.environ.update(SERVICE="user_service", STAGE="dev", TABLE_NAME="users", AWS_DEFAULT_REGION="eu-west-1")
os.environ.update(CURSOR_KEYS=sys.argv[2], AWS_ENDPOINT_URL=sys.argv[1])
os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"] = "snap-start"
before = set(os.listdir("/proc/self/fd"))
from functions.api import handler
from shardweave.table.retry import RetryClock
from tests.unit.lambda_events import Context, event

assert handler.service.cache_info().currsize == 0
assert set(os.listdir("/proc/self/fd")) == before, "a start opens nothing that a copy would share"
state = random.getstate()
BODY = json.dumps({"beneficiaryId": "b", "firstName": "A", "lastName": "B", "phone": "1"})
for copy in range(int(sys.argv[3])):
    child = os.fork()
    if child == 0:
        random.setstate(state)
        real = time.time
        time.time = lambda: real() + 3600.0 * (copy + 1)
        # What the environment has is given with the restore, and is another's each time.
        os.environ.update(AWS_ACCESS_KEY_ID=f"key{copy}", AWS_SECRET_ACCESS_KEY="secret")
        answers = [handler.handler(event("POST", "/v1/users", "", BODY), Context()) for _ in range(2)]
        pauses = [RetryClock().random() for _ in range(3)]
        print(json.dumps({"answers": answers, "pauses": pauses}), file=sys.stderr)
        sys.stderr.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""


class Seen:
    """What one server was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, str, str, Any]] = []
        """Connection, access key, operation and parameters of each request."""
        seen = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                key = self.headers["Authorization"].partition("Credential=")[2].partition("/")[0]
                operation = self.headers["X-Amz-Target"].rpartition(".")[2]
                seen.requests.append((self.client_address[1], key, operation, asked))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, format: str, *arguments: Any) -> None:
                """Requests are not news."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def of(self, key: str) -> list[tuple[int, str, str, Any]]:
        return [each for each in self.requests if each[1] == key]

    def written(self, key: str) -> list[Any]:
        """The items that were put; one that was sent again, since this machine took too long to answer, counts once."""
        puts = {json.dumps(asked): asked for *_, operation, asked in self.of(key) if operation == "PutItem"}
        return [asked["Item"] for asked in puts.values()]


@pytest.fixture
def seen() -> Iterator[Seen]:
    made = Seen()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_copies_of_a_start_share_no_socket_credentials_lease_nor_random_name(seen: Seen) -> None:
    url = f"http://127.0.0.1:{seen.server.server_address[1]}"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, url, RING, str(COPIES)],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"answers"')]
    assert len(told) == COPIES, done.stderr
    assert [answer["statusCode"] for each in told for answer in each["answers"]] == [201] * 2 * COPIES

    connections, names = [], []
    for copy in range(COPIES):
        asked = seen.of(f"key{copy}")
        operations = [operation for _, _, operation, _ in asked]
        # The lease on the shard map is read by each copy, before it writes.
        assert operations.index("GetItem") < operations.index("PutItem")
        connections.append({connection for connection, *_ in asked})
        names += [(item[name]["S"], copy) for item in seen.written(f"key{copy}") for name in ("userId", "rev")]
    assert sum(map(len, connections)) == len(set().union(*connections))
    assert len(names) == 4 * COPIES
    assert len({name for name, _ in names}) == len(names)
    assert len({tuple(each["pauses"]) for each in told}) == COPIES
    assert len(seen.requests) == sum(len(seen.of(f"key{copy}")) for copy in range(COPIES))
