"""A client in Python: it passes strict checks, works against the served API, and wrong uses of it are errors."""

from __future__ import annotations

import json
import re
import shutil
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from shardweave.api.clients.python_runtime import Answer, Problem, Transport, Unanswered, record_path, send_by_urllib
from shardweave.wire.key_paths import key_part
from tests.clients import customers
from tests.clients.served import (
    CUSTOMERS,
    DAY_OF_WORK,
    DEPOT,
    MYPY,
    OPENING,
    OUTLETS,
    PROGRAMS,
    SERVICES,
    checked,
    client_text,
    outlets,
    said_by,
    tracker,
    wrong_lines,
)
from tests.unit.api_world import Client, api_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client of the issue tracker, and programs that use it."""
    made = tmp_path_factory.mktemp("programs")
    (made / "client.py").write_text(client_text("issue_tracker", "python"), encoding="utf-8")
    for name in ("day.py", "wrong.py"):
        shutil.copy(PROGRAMS / name, made)
    return made


@pytest.mark.parametrize("service", SERVICES)
def test_the_client_of_each_service_passes_strict_checks(tmp_path: Path, service: str) -> None:
    (tmp_path / "client.py").write_text(client_text(service, "python"), encoding="utf-8")
    assert checked([*MYPY, "client.py"], tmp_path) == ""


def test_a_day_of_work_is_checked_and_done(folder: Path) -> None:
    assert checked([*MYPY, "day.py"], folder) == ""
    with tracker(folder) as arguments:
        assert said_by([sys.executable, "day.py", *arguments], folder) == DAY_OF_WORK


def test_keys_that_are_members_of_models_are_checked_and_lead_to_records(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(client_text(OUTLETS, "python"), encoding="utf-8")
    shutil.copy(PROGRAMS / "opening.py", tmp_path)
    assert checked([*MYPY, "opening.py"], tmp_path) == ""
    with outlets(tmp_path) as arguments:
        assert said_by([sys.executable, "opening.py", *arguments], tmp_path) == OPENING


def test_each_wrong_use_is_an_error(folder: Path) -> None:
    found = checked([*MYPY, "wrong.py"], folder)
    lines = {int(number) for number in re.findall(r"^wrong\.py:(\d+): error", found, re.MULTILINE)}
    assert sorted(lines) == wrong_lines((folder / "wrong.py").read_text(encoding="utf-8")), found


def test_the_examples_of_the_guide_pass_strict_checks(folder: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
    asking, making = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    given = "from client import Client\n\nproject_id = ''\n\n\ndef token() -> str:\n    return ''\n\n\n"
    (folder / "guide.py").write_text(given + making + asking, encoding="utf-8")
    assert checked([*MYPY, "guide.py"], folder) == ""


BEGAN = 1_700_000_000_000


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """The client of a service with a collection, and uses of it."""
    (tmp_path / "client.py").write_text(client_text(CUSTOMERS, "python"), encoding="utf-8")
    shutil.copy(PROGRAMS / "history.py", tmp_path)
    return tmp_path


def test_wrong_uses_of_collections_and_filters_are_errors(history: Path) -> None:
    found = checked([*MYPY, "history.py"], history)
    lines = {int(number) for number in re.findall(r"^history\.py:(\d+): error", found, re.MULTILINE)}
    assert sorted(lines) == wrong_lines((history / "history.py").read_text(encoding="utf-8")), found


def test_entities_may_have_the_names_of_the_clients_own_types(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(client_text(DEPOT, "python"), encoding="utf-8")
    shutil.copy(PROGRAMS / "visit.py", tmp_path)
    found = checked([*MYPY, "visit.py"], tmp_path)
    lines = {int(number) for number in re.findall(r"^visit\.py:(\d+): error", found, re.MULTILINE)}
    assert sorted(lines) == wrong_lines((tmp_path / "visit.py").read_text(encoding="utf-8")), found


def test_collections_and_filters_are_answered(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = Client(api_of(customers.schema()))
    for number in range(6):
        record = {"customer": "ann", "made": BEGAN + number, "paid": number % 3 != 0}
        bill = number % 2 == 0
        own = {"billId": f"b{number}", "amount": number} if bill else {"visitId": f"v{number}"}
        assert served.post("/v1/bills" if bill else "/v1/visits", {**record, **own}).status == 201
    sent: list[str] = []

    def send(method: str, url: str, headers: Any, body: bytes | None) -> Any:
        target = url.removeprefix("http://here")
        sent.append(target)
        answer = served.get(target)
        return Answer(answer.status, answer.headers, answer.body)

    monkeypatch.syspath_prepend(str(history))
    for name in ("client", "history"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    text = (history / "history.py").read_text(encoding="utf-8").partition("client.customer_history(made=")[0]
    made: dict[str, Any] = {"__name__": "history"}
    exec(compile(text, "history.py", "exec"), made)
    client = made["Client"]("http://here", send=send)
    assert made["ids"](client) == ["v5", "b4", "b2"]
    assert len(sent) == 2, "a page of two and one of one"
    assert made["large"](client) == []
    assert made["in_towns"](client) == ["v1", "v3", "v5"]
    sys.modules.pop("client", None)


# -- how it sends -----------------------------------------------------------------------------------------------------


class Service:
    """Answers as it is told, and keeps what it was sent."""

    def __init__(self, *answers: Answer | OSError) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, str, dict[str, str]]] = []
        self.pauses: list[float] = []

    def send(self, method: str, url: str, headers: Any, body: bytes | None) -> Answer:
        self.sent.append((method, url, dict(headers)))
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    @property
    def transport(self) -> Transport:
        return Transport("http://here/", dict, 3, self.send, self.pauses.append)


def refused(status: int, **headers: str) -> Answer:
    document = {"type": "urn:shardweave:error:throttled", "status": status, "detail": "later"}
    return Answer(
        status, {name.replace("_", "-"): text for name, text in headers.items()}, json.dumps(document).encode()
    )


DONE = Answer(200, {"etag": '"r1"'}, b"{}")


def test_a_write_is_sent_again_with_the_same_key_until_it_is_answered() -> None:
    service = Service(OSError(), refused(503, retry_after="2"), DONE)
    assert service.transport.stored("POST", "/v1/a", {}, None).rev == "r1"
    assert len({sent[2]["idempotency-key"] for sent in service.sent}) == 1
    assert [pause >= 2 for pause in service.pauses] == [False, True]


def test_what_is_not_answered_or_refused_to_the_end_is_said() -> None:
    with pytest.raises(Unanswered):
        Service(OSError(), OSError(), OSError()).transport.found("/v1/a/1")
    with pytest.raises(Problem, match="later") as raised:
        Service(refused(503), refused(429), refused(503)).transport.found("/v1/a/1")
    assert raised.value.code == "throttled"


def test_what_another_key_would_not_mend_is_sent_once() -> None:
    service = Service(refused(400))
    with pytest.raises(Problem):
        service.transport.stored("POST", "/v1/a", {}, "k")
    assert len(service.sent) == 1
    service = Service(OSError())
    with pytest.raises(Unanswered):
        service.transport.ask("POST", "/v1/a/query", {}, {})


def test_an_answer_that_is_no_problem_document_is_a_problem_all_the_same() -> None:
    with pytest.raises(Problem) as raised:
        Service(Answer(502, {}, b"<html>")).transport.stored("POST", "/v1/a", {}, "k")
    assert (raised.value.status, raised.value.code) == (502, "internal_error")


@pytest.mark.parametrize("key", ["a", "a/b", "..", "a//b", ".", "", "a?b", "50%", "=x", "é", "a b", "~'()*!", "a/../b"])
def test_paths_of_keys_are_those_of_the_service(key: str) -> None:
    from urllib.parse import quote

    assert record_path("/v1/a", key) == f"/v1/a/{quote(key_part(key, last=False), safe='')}"
    first = quote(key_part(key, last=False), safe="")
    assert record_path("/v1/a", key, "z") == f"/v1/a/{first}/z"


def test_the_page_before_is_asked_for_by_its_token() -> None:
    page = {"items": [], "nextToken": "n", "prevToken": None, "complete": True}
    service = Service(Answer(200, {}, json.dumps(page).encode()))
    listed = service.transport.pages("/v1/pages", "byState", {"limit": 2, "next_token": "first"})
    assert listed.before("a").next_token == "n"
    assert [each[1] for each in service.sent] == ["http://here/v1/pages?index=byState&limit=2&prevToken=a"]


def test_a_pause_that_is_said_as_a_date_is_its_own() -> None:
    service = Service(refused(503, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), Answer(204, {}, b""))
    assert service.transport.asked("GET", "/v1/pages", {}) is None
    assert [pause < 1 for pause in service.pauses] == [True]


@pytest.mark.parametrize(
    ("answer", "code", "status"),
    [
        (Answer(200, {}, b"<html>"), "internal_error", 200),
        (Answer(418, {}, b'{"type": "urn:shardweave:error:throttled", "detail": "later"}'), "throttled", 418),
        (Answer(502, {}, b"<html>"), "internal_error", 502),
    ],
)
def test_an_answer_of_another_is_a_problem(answer: Answer, code: str, status: int) -> None:
    with pytest.raises(Problem) as raised:
        Service(answer).transport.found("/v1/pages/p")
    assert (raised.value.code, raised.value.status) == (code, status)


@pytest.mark.parametrize("text", [b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{", b"no HTTP\r\n\r\n", b""])
@pytest.mark.parametrize("status", [b"200", b"404"])
def test_an_answer_that_breaks_off_is_none(text: bytes, status: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2):
                taken, _ = server.accept()
                with taken:
                    taken.recv(4096)
                    taken.sendall(text.replace(b"200", status))

        answering = threading.Thread(target=answer)
        answering.start()
        base = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(Unanswered):
            Transport(base, dict, 2, send_by_urllib, lambda _: None).ask("GET", "/v1/pages", {})
        answering.join()
