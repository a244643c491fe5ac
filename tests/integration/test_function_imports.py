"""What starting a function costs: no module is imported before it is needed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from shardweave.keys.shard_key.key_ring import KeyRing, encode_key_ring

ROOT = Path(__file__).resolve().parents[2]
GRAPHQL = ROOT / "shared" / "shardweave" / "api" / "graphql"
KNOWN = {f"shardweave.api.graphql.{name}" for name in ("__init__", "names", "options", "route")}
"""What every request may need of GraphQL: that there is a route of it, which has a name for everything."""
FUNCTIONS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/handler.py"))

HEAVY = {
    "boto3": "is botocore and what none of them needs",
    "botocore.session": "is imported with the table, at the first request",
    "cryptography": "is imported when a cursor is made or read",
    "aws_xray_sdk": "is not in the layer",
    "graphql": "is imported on its route",
    "rich": "is not in the layer",
    "services": "a service's declarations are imported when it is put together",
    "shardweave.query.runner": "is needed by the API alone",
    "shardweave.table.dynamodb": "is imported with the table",
    "shardweave.table.embedded": "is for one machine",
    "shardweave.table.fault_injection": "is for tests",
    "sqlite3": "is for one machine",
    "uvicorn": "is not in the layer",
}
NEEDED_BY = {"api": {"shardweave.query.runner"}}


@cache
def imported_by(statement: str) -> frozenset[str]:
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_starting_a_function_imports_nothing_that_it_may_not_need(function: str) -> None:
    modules = imported_by(f"import functions.{function}.handler")
    assert f"functions.{function}.handler" in modules
    unexpected = (modules & set(HEAVY)) - NEEDED_BY.get(function, set())
    assert {name: HEAVY[name] for name in unexpected} == {}


def test_only_the_api_needs_the_api() -> None:
    for function in set(FUNCTIONS) - {"api"}:
        assert "shardweave.api.router" not in imported_by(f"import functions.{function}.handler")


def test_what_is_not_imported_at_the_start_can_be_imported_later() -> None:
    modules = imported_by("import functions.doctor.handler, shardweave.service.build, shardweave.table.dynamodb")
    assert {"shardweave.table.dynamodb", "shardweave.query.runner"} <= modules
    assert not {"boto3", "botocore.session"} & modules


class Emulated(BaseHTTPRequestHandler):
    """A table that is empty and takes everything, and a secret with keys."""

    protocol_version = "HTTP/1.1"
    ring = encode_key_ring(KeyRing("k1", {"k1": b"0123456789abcdef0123456789abcdef"}))
    user: ClassVar[dict[str, Any]] = {}

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        if operation == "PutItem":
            Emulated.user = asked["Item"]
        found = [self.user] if self.user.get("hashKey") in asked.get("ExpressionAttributeValues", {}).values() else []
        more = (
            {"LastEvaluatedKey": {name: found[0][name] for name in ("hashKey", "rangeKey", "created")}} if found else {}
        )
        page = {"Items": found, "Count": len(found), "ScannedCount": len(found), **more}
        answers = {"Query": page, "GetSecretValue": {"SecretString": self.ring}}
        body = json.dumps(answers.get(operation, {})).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Requests are not news."""


@pytest.fixture
def emulated() -> Iterator[str]:
    """The address of such a table."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Emulated)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


USER = {"userId": "u1", "beneficiaryId": "b", "firstName": "A", "lastName": "B", "phone": "1"}
ANSWERED = {
    "a create": ("POST", "/v1/users", "", json.dumps(USER), 201),
    "a record": ("GET", "/v1/users/u2", "", "", 404),
    "a page": ("GET", "/v1/users", "limit=1", "", 200),
    "a document": ("POST", "/graphql", "", json.dumps({"query": '{ user(id: "u2") { phone } }'}), 200),
}
NEVER = {
    "aws_lambda_powertools.event_handler.openapi.models": "describes the API, which is done when it is asked for",
    "boto3": "is botocore and what none of them needs",
    "botocore.session": "takes as long as all the rest; the table and secrets are asked over sockets of our own",
    "dateutil": "is botocore's",
    "http.client": "is botocore's",
    "multiprocessing": "is for machines with files",
    "pydantic.v1": "is for models of another version",
    "rich": "is for terminals",
    "sqlite3": "is for one machine",
    "urllib3": "is botocore's",
    "uvicorn": "is for one machine",
    "xml.etree.ElementTree": "is botocore's",
}
"""What a start did import, or easily would again, and why no request needs it."""

PACKAGES = {
    "annotated_types",
    "aws_lambda_powertools",
    "botocore",
    "functions",
    "jmespath",
    "pydantic",
    "pydantic_core",
    "services",
    "shardweave",
    "typing_extensions",
    "typing_inspection",
}
"""What may be imported besides Python's own library; of botocore the package alone, which powertools asks for."""

OF_PYTHON = "__main__", "_sysconfigdata", "_distutils_hack", "sitecustomize"
WITH_CURSORS = {"cryptography", "_cffi_backend", "_openssl"}
PARTS = {
    *("access", "api", "database", "errors", "keys", "query", "reshard"),
    *("routing", "schema", "service", "store", "table", "values", "wire"),
}
"""Parts of the library of which a request may need modules."""

LEFT_OUT = {
    "api": "clients explorer lambda_event",
    "database": "async_database awaited_calls data_folder event_loop folder_copies rewrite_keys",
    "reshard": "admin change_handler coordinator copy_actions driver independent_keys index_check mover retrying_reads "
    "stream_filter tasks transaction_executor verify work_items write_rate",
    "table": "embedded fault_injection lambda_stream",
}
"""What no request needs of them."""

STORE = ROOT / "shared" / "shardweave" / "store"
READING = {
    *("", "attempts", "idempotency_keys", "locations", "noticed", "operations", "outcomes", "reader", "store"),
    *("lookups", "lookups.backfill_state", "lookups.lookup_queries", "lookups.lookup_records", "lookups.lookup_spec"),
    *("relations", "relations.relation_loader"),
}
"""The modules of the store that a read needs: the values that operations are given and answer, and what reads."""

WRITING = {
    f"shardweave.store.{name}"
    for name in (
        ".".join(part for part in path.relative_to(STORE).with_suffix("").parts if part != "__init__")
        for path in STORE.rglob("*.py")
    )
    if name not in READING
}
"""All others, which a process imports with its first write: transactions, sequences, unique values, and so on."""

OF_BODIES = {"shardweave.api.query_bodies", "shardweave.wire.query_reports"}
"""The models that describe queries, and what they cost: for the OpenAPI document, or when a request asks for that."""

WRITTEN_SELDOM = {"shardweave.store.lookups.catalog", "shardweave.store.writing.old_form_actions"}
"""What most writes do not need either: the catalog is the command line's, old forms are another program's."""

OF_GRAPHQL = {"graphql", *(f"shardweave.api.graphql.{each.stem}" for each in sorted(GRAPHQL.glob("*.py")))} - KNOWN
WITHOUT_CURSORS = {"cryptography"}


def test_what_answers_requests_is_imported_and_nothing_else(emulated: str) -> None:
    """botocore least of all: the function speaks to its table, and to the secret of cursors, over its own sockets."""
    for name, (method, path, query, body, status) in ANSWERED.items():
        code = f"""
import json, os, sys
os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_DEFAULT_REGION="eu-west-1")
os.environ.update(SERVICE="user_service", STAGE="dev", TABLE_NAME="users", CURSOR_KEYS_SECRET="cursors")
os.environ["AWS_ENDPOINT_URL"] = {emulated!r}
from functions.api import handler
from tests.unit.lambda_events import Context, event
answer = handler.handler(event({method!r}, {path!r}, {query!r}, {body!r} or None), Context())
assert answer["statusCode"] == {status}, answer
assert {name != "a page"} or json.loads(answer["body"])["nextToken"], answer
"""
        modules = imported_by(code)
        unwanted = set(NEVER) | (set() if name == "a page" else WITHOUT_CURSORS)
        unwanted |= set() if name == "a document" else OF_GRAPHQL
        assert not unwanted & modules, name
        packages = {module.partition(".")[0] for module in modules if not module.startswith(OF_PYTHON)}
        packages -= sys.stdlib_module_names | {"tests"}
        if name != "a document":
            assert packages <= PACKAGES | (WITH_CURSORS if name == "a page" else set()), name
        assert not {module for module in modules if module.startswith("botocore.")}, name
        ours = [module.split(".")[1:] for module in modules if module.startswith("shardweave.")]
        assert {part for part, *_ in ours} <= PARTS, name
        assert not [of for of in ours if len(of) > 1 and of[1] in LEFT_OUT.get(of[0], "").split()], name
        assert (name == "a document") == ("graphql" in modules)
        assert not OF_BODIES & modules, name
        if name == "a create":
            assert WRITING - modules <= WRITTEN_SELDOM
        else:
            assert {module for module in WRITING if module in modules} == set(), name


def test_a_program_that_reads_imports_nothing_of_the_writes() -> None:
    """Here over the table that is in memory: what is asked of it is the same for any."""
    program = """
from services.user_service import User, schema
from shardweave import Database
with Database(schema()) as db:
    assert db.get(User, "u1") is None and db.batch_get(User, ["u1", "u2"]) == [None, None]
    assert not db.query(User, limit=5).items and db.count(User) == 0 and not list(db.records(User))
"""
    assert WRITING & imported_by(program) == set()
    create = "db.create(User(beneficiary_id='b', first_name='A', last_name='B'))"
    assert WRITING - imported_by(f"{program}    {create}\n") <= WRITTEN_SELDOM


@pytest.mark.parametrize("kind", ["snap-start", "provisioned-concurrency"])
def test_a_process_started_ahead_imports_all_that_a_first_request_would_import(emulated: str, kind: str) -> None:
    """Before the snapshot, or before the first request. What no request needs is left out there, too."""
    code = f"""
import json, os, sys
os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_DEFAULT_REGION="eu-west-1")
os.environ.update(SERVICE="user_service", STAGE="dev", TABLE_NAME="users", CURSOR_KEYS_SECRET="cursors")
os.environ["AWS_ENDPOINT_URL"], os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"] = {emulated!r}, {kind!r}
from tests.unit.lambda_events import Context, event
files = set(os.listdir("/proc/self/fd"))
from functions.api import handler
assert handler.service.cache_info().currsize == 0 and set(os.listdir("/proc/self/fd")) == files
before = set(sys.modules)
for request in (("POST", "/v1/users", "", {json.dumps(USER)!r}), ("GET", "/v1/users", "limit=1", None)):
    assert handler.handler(event(*request), Context())["statusCode"] < 300
print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
assert set(sys.modules) == before, set(sys.modules) - before
"""
    assert not set(NEVER) & imported_by(code)


def test_what_is_left_out_is_there() -> None:
    """Else a new name of it would not be noticed."""
    for part, names in LEFT_OUT.items():
        folder = ROOT / "shared" / "shardweave" / part
        assert set(names.split()) <= {path.stem for path in folder.iterdir()}


def test_the_collector_rests_while_the_api_is_imported_and_no_longer() -> None:
    check = "import gc, functions.api; assert not gc.isenabled(); import functions.api.handler; assert gc.isenabled()"
    assert "functions.api.handler" in imported_by(check)
