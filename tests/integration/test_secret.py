"""A secret is read over the direct transport where all around the process is known, and is told of no error's text."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NoReturn

import pytest

from shardweave.errors import ConfigurationError
from shardweave.table.dynamodb import read_secret
from shardweave.table.dynamodb.transport.choice import Surroundings


class SecretsManager(ThreadingHTTPServer):
    """Answers each request with the next of `answers`, the last one again and again; `asked` are the requests."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Any]] = []
        self.daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SecretsManager

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.headers["X-Amz-Target"], self.headers["Content-Type"], body))
        answers = self.server.answers
        status, document = answers.pop(0) if len(answers) > 1 else answers[0]
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Requests are not news."""


@pytest.fixture
def answering(request: pytest.FixtureRequest) -> Iterator[SecretsManager]:
    """A service that answers with the test's parameters."""
    server = SecretsManager(*request.param)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def around(server: SecretsManager) -> Surroundings:
    """A process that is told where the service is, and nothing else."""
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "eu-west-1"}
    place = {"AWS_ENDPOINT_URL_SECRETS_MANAGER": f"http://127.0.0.1:{server.server_address[1]}"}
    return Surroundings({**keys, **place}, (), Path("home"), lambda _: False)


def no_botocore() -> NoReturn:
    raise AssertionError("botocore is asked for a session")


FOUND = (200, {"ARN": "arn", "Name": "cursors", "SecretString": "the text"})
TROUBLE = (500, {"__type": "InternalServiceError", "Message": "later"})


@pytest.mark.parametrize("answering", [[FOUND], [TROUBLE, FOUND], [TROUBLE, TROUBLE, FOUND]], indirect=True)
def test_its_text_is_given_also_after_failures_that_pass(answering: SecretsManager) -> None:
    """A43: the form and the target are those of Secrets Manager."""
    assert read_secret("cursors", no_botocore, around(answering)) == "the text"
    target, content_type, body = answering.asked[-1]
    assert (target, content_type) == ("secretsmanager.GetSecretValue", "application/x-amz-json-1.1")
    assert body == {"SecretId": "cursors"}


@pytest.mark.parametrize(
    "answering",
    [
        [(400, {"__type": "ResourceNotFoundException", "Message": "hidden words"})],
        [(400, {"__type": "AccessDeniedException", "Message": "hidden words"})],
        [(200, {"ARN": "arn", "SecretBinary": "aGlkZGVu"})],
        [(200, ["hidden words"])],
        [TROUBLE],
    ],
    indirect=True,
)
def test_a_secret_that_can_t_be_had_is_named_and_nothing_of_it_shown(answering: SecretsManager) -> None:
    with pytest.raises(ConfigurationError, match=r"^cursors: the secret can't be read") as refused:
        read_secret("cursors", no_botocore, around(answering))
    assert "hidden" not in str(refused.value)
    assert 1 <= len(answering.asked) <= 3
