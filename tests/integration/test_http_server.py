"""The local server as a process: how it starts, answers, stops, and what it keeps."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import signal
import socket
import sqlite3
import stat
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.api.problems import MEDIA_TYPE, TYPE_PREFIX, Problem
from shardweave.database.data_folder import DataFolder, SampleState
from shardweave.local.serve import main
from shardweave.local.server import GRACE_SECONDS
from tests.integration.local_server import START_SECONDS, Answer, LocalServer, launch

USER = {"firstName": "Jason", "lastName": "W", "beneficiaryId": "b"}
INTERRUPTED = "tests.integration.interrupted_server"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    started = LocalServer.start(tmp_path_factory.mktemp("served") / "data", "--empty")
    yield started
    assert started.stop() == 0


def problem_code(answer: Answer) -> str:
    """The code of an answer that has to be a problem document."""
    assert answer.headers["content-type"] == MEDIA_TYPE
    problem = Problem.model_validate_json(answer.body, strict=True)
    assert problem.status == answer.status
    return problem.type.removeprefix(TYPE_PREFIX)


def failed_start(*arguments: str, data: Path) -> tuple[int, str]:
    """The exit code and the standard error of a server that can't start."""
    log = data.with_name("failed.log")
    process = launch(data, *arguments, log=log)
    output, _ = process.communicate(timeout=START_SECONDS)
    assert output == ""
    return process.returncode, log.read_text()


class TestStarting:
    def test_it_prints_one_line_when_it_answers_and_ends_with_0(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        assert server.get("/v1/users").json == {"items": [], "nextToken": None, "prevToken": None, "complete": True}
        assert server.stop() == 0
        assert server.lines == [f"ready {server.address}\n"]
        assert server.address.startswith("http://127.0.0.1:")

    def test_ctrl_c_ends_it_with_0_too(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=START_SECONDS) == 0
        assert server.stop() == 0

    def test_an_idle_connection_does_not_keep_it(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        connection = server.connection()
        connection.request("GET", "/v1/users")
        connection.getresponse().read()
        assert server.stop() == 0
        connection.close()

    def test_a_request_in_progress_is_answered_before_it_stops(self, tmp_path: Path) -> None:
        body = json.dumps(USER).encode()
        while True:
            server = LocalServer.start(tmp_path / "data", "--empty")
            connection = server.connection()
            connection.putrequest("POST", "/v1/users")
            connection.putheader("content-type", "application/json")
            connection.putheader("content-length", str(len(body)))
            connection.endheaders(body[:5])
            # An answer to another request says that the server has seen what was sent before it.
            assert server.get("/v1/users").status == 200
            begun, status = time.monotonic(), 408
            server.process.terminate()
            with contextlib.suppress(OSError):  # It may have closed the connection meanwhile, see below.
                connection.send(body[5:])
                status = connection.getresponse().status
            connection.close()
            assert server.stop() == 0
            if status == 201:
                return
            # The machine took longer for this than the server may.
            assert (status, time.monotonic() - begun >= GRACE_SECONDS) == (408, True)

    def test_a_lock_that_another_process_holds_keeps_neither_reads_nor_the_end(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        with contextlib.closing(
            sqlite3.connect(tmp_path / "data" / "user_service-ordered.sqlite", isolation_level=None)
        ) as other:
            other.execute("BEGIN IMMEDIATE")
            answers: list[Answer] = []
            writers = [
                threading.Thread(target=lambda: answers.append(server.post("/v1/users", USER))) for _ in range(16)
            ]
            for writer in writers:
                writer.start()
            assert server.get("/v1/users").json["items"] == []
            while len(answers) + server.get("/metrics").json["writes"] < len(writers):
                time.sleep(0.01)
            assert server.stop() == 0
            for writer in writers:
                writer.join()
        assert {answer.status for answer in answers} == {503}
        said = server.log.read_text()
        assert "INFO stopping: requests under way have 5 seconds" in said
        assert said.endswith("INFO stopped\n")

    def test_a_port_in_use_is_said_before_anything_is_loaded(self, server: LocalServer, tmp_path: Path) -> None:
        port = urlsplit(server.address).port
        code, said = failed_start("--port", str(port), data=tmp_path / "data")
        assert code == 1
        assert f"{port} is in use" in said
        assert "Loading" not in said

    def test_two_servers_do_not_use_one_folder(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        code, said = failed_start("--empty", data=tmp_path / "data")
        assert code == 1
        assert "another server uses" in said
        assert server.get("/v1/users").status == 200
        assert server.stop() == 0

    @pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com"])
    def test_it_listens_on_loopback_only(self, tmp_path: Path, host: str) -> None:
        code, said = failed_start("--host", host, data=tmp_path / "data")
        assert code == 2
        assert "--host" in said

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--service", "nosuch"], "error: argument --service: there is no service 'nosuch'"),
            (["--service", "nosuch.py"], "there is no module 'nosuch.py'"),
            (["--port", "99999"], "'99999' is not a port; give a number from 1 to 65535"),
            (["--port", "-1"], "is not a port"),
            (["--key-format", "x"], "invalid choice"),
            (["--day", "tomorrow"], "'tomorrow' is not a day; give one as 2024-01-31"),
            (["--day", "9999-01-01"], "it lies ahead"),
            (["--day", "1900-01-01"], "it lies too far back; give 2002-09-01 or later"),
            (["--day", "2024-01-01", "--empty"], "--empty does not load"),
            (["--data", ""], "it is empty; give a folder"),
        ],
    )
    def test_wrong_arguments_end_with_2(self, arguments: list[str], message: str) -> None:
        with pytest.raises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()) as said:
            main(arguments)
        assert ended.value.code == 2
        assert f"argument {arguments[0]}: " in said.getvalue()
        assert message in said.getvalue()

    def test_a_day_is_not_passed_over_when_the_folder_has_data(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        server.post("/v1/users", USER)
        server.stop()
        code, said = failed_start("--day", "2024-01-01", data=tmp_path / "data")
        assert code == 2
        assert "--day: " in said
        assert "has other records already" in said
        DataFolder(tmp_path / "data").set_sample_state("user_service", "ordered", SampleState("2024-10-27", True))
        code, said = failed_start("--day", "2024-01-01", data=tmp_path / "data")
        assert code == 2
        assert "looks back from 2024-10-27 already" in said
        assert LocalServer.start(tmp_path / "data", "--day", "2024-10-27").stop() == 0

    def test_a_folder_that_is_a_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("")
        code, said = failed_start(data=tmp_path / "data")
        assert code == 2
        assert "--data" in said

    def test_so_is_a_service_that_can_t_be_imported(self, tmp_path: Path) -> None:
        (tmp_path / "faulty.py").write_text("from nowhere import anything\n")
        code, said = failed_start(str(tmp_path / "faulty.py"), data=tmp_path / "data")
        assert code == 2
        assert "nowhere" in said
        assert not list((tmp_path / "data").glob("*.sqlite"))

    def test_damaged_files_are_named_without_a_traceback(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        for name in ("user_service-ordered.sqlite", "cursor-keys.json", "user_service-ordered.json"):
            LocalServer.start(data, "--empty").stop()
            kept = (data / name).read_bytes() if (data / name).exists() else None
            (data / name).write_bytes(b"damaged " * 100)
            code, said = failed_start(data=data)
            assert code == 2
            assert str(data / name) in said
            assert "Fix: " in said
            assert "Traceback" not in said
            (data / name).write_bytes(kept) if kept else (data / name).unlink()
            data.with_name("failed.log").unlink()


class TestKeeping:
    def test_half_a_body_is_given_up_when_the_server_stops(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        connection = server.connection()
        connection.putrequest("POST", "/v1/users")
        connection.putheader("content-type", "application/json")
        connection.putheader("content-length", "100")
        connection.endheaders(b'{"firstName": ')
        assert server.get("/v1/users").status == 200
        assert server.stop() == 0
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["type"].rpartition(":")[2]) == (408, "request_timeout")
        connection.close()
        assert "Traceback" not in server.log.read_text()

    def test_every_write_that_was_answered_survives_kill_9(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        answered: list[str] = []

        def write(first: int) -> None:
            connection = server.connection()
            try:
                for number in range(first, first + 10_000):
                    user = {**USER, "userId": f"u{number}"}
                    connection.request("POST", "/v1/users", json.dumps(user), {"content-type": "application/json"})
                    response = connection.getresponse()
                    response.read()
                    if response.status == 201:
                        answered.append(user["userId"])
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()

        writers = [threading.Thread(target=write, args=(10_000 * number,)) for number in range(4)]
        for writer in writers:
            writer.start()
        while len(answered) < 200 and any(writer.is_alive() for writer in writers):
            time.sleep(0.01)
        assert server.kill() == -signal.SIGKILL
        for writer in writers:
            writer.join()
        again = LocalServer.start(tmp_path / "data", "--empty")
        try:
            assert len(answered) >= 200
            for user_id in answered:
                assert again.get(f"/v1/users/{user_id}").status == 200
            (record,) = again.get(f"/v1/users?userId={answered[-1]}").json["items"]
            assert record["firstNameCanonical"] == "jason"
        finally:
            assert again.stop() == 0

    def test_a_token_lives_on_over_a_restart(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        for number in range(4):
            server.post("/v1/users", {**USER, "userId": f"u{number}"})
        first = server.get("/v1/users?index=created&limit=2").json
        server.stop()
        again = LocalServer.start(tmp_path / "data")
        second = again.get(f"/v1/users?index=created&limit=2&nextToken={first['nextToken']}").json
        assert again.stop() == 0
        assert {user["userId"] for user in first["items"] + second["items"]} == {"u0", "u1", "u2", "u3"}
        assert second["nextToken"] is None

    def test_only_the_owner_can_read_the_cursor_keys(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        server.stop()
        assert stat.S_IMODE((tmp_path / "data" / "cursor-keys.json").stat().st_mode) == 0o600

    def test_another_key_format_is_another_table(self, tmp_path: Path) -> None:
        for key_format in ("ordered", "article", "ordered"):
            server = LocalServer.start(tmp_path / "data", "--empty", "--key-format", key_format)
            found = server.get("/v1/users").json["items"]
            server.post("/v1/users", {**USER, "userId": key_format})
            assert server.stop() == 0
        assert [user["userId"] for user in found] == ["ordered"]


class TestFilling:
    def test_a_load_that_was_killed_is_completed_and_not_done_twice(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        process = launch(data, log=tmp_path / "log", module=INTERRUPTED, SIGNALLED_BY="SIGKILL")
        process.communicate(timeout=START_SECONDS)
        assert process.returncode == -signal.SIGKILL
        server = LocalServer.start(data)
        users: list[str] = []
        target = "/v1/users?limit=500"
        while target:
            page = server.get(target).json
            users += [user["userId"] for user in page["items"]]
            target = f"/v1/users?limit=500&nextToken={page['nextToken']}" if page["nextToken"] else ""
        assert len(users) == len(set(users)) == 5000
        assert server.request("DELETE", f"/v1/users/{users[0]}").status == 204
        assert server.stop() == 0
        again = LocalServer.start(data)
        assert again.get(f"/v1/users/{users[0]}").status == 404
        assert again.stop() == 0
        assert again.log.read_text().count("sample records loaded") == 1

    def test_a_signal_stops_the_load(self, tmp_path: Path) -> None:
        process = launch(tmp_path / "data", log=tmp_path / "log", module=INTERRUPTED, SIGNALLED_BY="SIGTERM")
        output, _ = process.communicate(timeout=START_SECONDS)
        assert (process.returncode, output) == (0, "")

    def test_a_folder_that_was_begun_empty_stays_without_sample_data(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        server.post("/v1/users", {**USER, "userId": "mine"})
        server.stop()
        again = LocalServer.start(tmp_path / "data")
        assert [user["userId"] for user in again.get("/v1/users").json["items"]] == ["mine"]
        assert again.stop() == 0


class TestAnswering:
    def test_a_record_goes_round_with_any_characters_in_its_key(self, server: LocalServer) -> None:
        for key in ("a/b", "a b", "名前😀", "%2F", "a?b#c", "\x01"):
            made = server.post("/v1/users", {**USER, "userId": key})
            assert made.status == 201
            assert server.get(made.headers["location"]).json["userId"] == key
            assert server.request("DELETE", made.headers["location"]).status == 204

    @pytest.mark.parametrize("key", ["..", ".", "a/../b", "a//b", "/", "%2e%2e", "?#", "=%2E%2E"])
    def test_the_place_of_a_record_can_be_followed_by_clients_that_resolve_paths(
        self, server: LocalServer, key: str
    ) -> None:
        user = {**USER, "userId": key}
        place = requests.post(f"{server.address}/v1/users", json=user, timeout=START_SECONDS).headers["location"]
        url = server.address + place
        assert requests.get(url, timeout=START_SECONDS).json()["userId"] == key
        with urllib.request.urlopen(url, timeout=START_SECONDS) as answer:
            assert json.loads(answer.read())["userId"] == key
        assert requests.delete(url, timeout=START_SECONDS).status_code == 204

    def test_the_pages_beside_the_api_take_what_a_page_takes(self, server: LocalServer) -> None:
        for path in ("/", "/docs"):
            head, page = server.request("HEAD", path), server.get(path)
            assert (head.status, head.body) == (page.status, b"")
            for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                answer = server.request(method, path)
                assert (problem_code(answer), answer.status) == ("method_not_allowed", 405)
                assert answer.headers["allow"] == "GET, HEAD"

    def test_the_browser_finds_the_swagger_page_and_the_document(self, server: LocalServer) -> None:
        assert server.get("/").headers["location"] == "/docs"
        page = server.get("/docs")
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        document = server.get("/openapi.json").json
        assert document["openapi"] == "3.1.0"
        assert b"swagger" in page.body.lower()
        assert b'"listUser"' in page.body
        assert b"<script src" not in page.body
        assert b"<link" not in page.body

    def test_a_body_over_the_limit_is_answered_and_not_kept(self, server: LocalServer) -> None:
        for size in (1024 * 1024 + 1, 4 * 1024 * 1024):
            answer = server.request("POST", "/v1/users", b" " * size, {"content-type": "application/json"})
            assert problem_code(answer) == "body_too_large"
            assert answer.status == 413

    def test_a_target_that_is_not_utf_8(self, server: LocalServer) -> None:
        for target in ("/v1/users/%ff", "/v1/users?phone=%ff"):
            assert problem_code(server.get(target)) == "malformed_request"

    @pytest.mark.parametrize(
        "host", ["example.com", "127.0.0.1.example.com", "10.0.0.1:80", "[::2]:80", "localhost.evil"]
    )
    def test_a_request_addressed_to_another_name_is_refused(self, server: LocalServer, host: str) -> None:
        answer = server.request("GET", "/v1/users", headers={"host": host})
        assert problem_code(answer) == "malformed_request"

    @pytest.mark.parametrize("host", ["localhost", "localhost:8123", "127.0.0.1", "[::1]:8123", "127.1.2.3:1"])
    def test_a_request_addressed_to_this_machine_is_answered(self, server: LocalServer, host: str) -> None:
        assert server.request("GET", "/v1/users", headers={"host": host}).status == 200

    def test_bytes_that_are_no_http_are_a_client_error_and_the_server_goes_on(self, server: LocalServer) -> None:
        parts = urlsplit(server.address)
        for sent in (
            b"nonsense\r\n\r\n",
            b"GET / HTTP/9\r\n\r\n",
            b"\x16\x03\x01",
            b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        ):
            with socket.create_connection((parts.hostname, parts.port), timeout=START_SECONDS) as raw:
                raw.sendall(sent)
                raw.shutdown(socket.SHUT_WR)
                answer = raw.recv(65536)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
        assert server.get("/v1/users").status == 200

    @pytest.mark.parametrize("path", ["/v1/users", "/docs"])
    def test_a_method_in_lower_case_is_none(self, server: LocalServer, path: str) -> None:
        assert problem_code(server.request("get", path)) == "malformed_request"

    def test_a_header_that_is_not_utf_8_is_no_fault(self, server: LocalServer) -> None:
        parts = urlsplit(server.address)
        with socket.create_connection((parts.hostname, parts.port), timeout=START_SECONDS) as raw:
            raw.sendall(b"GET /v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Name: \xff\xfe\r\nConnection: close\r\n\r\n")
            assert raw.recv(65536).startswith(b"HTTP/1.1 200")

    @given(
        st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"]),
        st.sampled_from(
            ["/", "/v1/users", "/v1/users/", "/v1/emails/", "/v1/users?", "/v1/users?phone=", "//", "/docs/"]
        ),
        st.binary(max_size=20),
        st.binary(max_size=40),
        st.sampled_from(["application/json", "text/plain", ""]),
    )
    @settings(max_examples=200)
    def test_whatever_is_sent_is_no_fault_and_every_error_a_problem(
        self, server: LocalServer, method: str, start: str, more: bytes, body: bytes, media_type: str
    ) -> None:
        answer = server.request(method, start + quote(more), body, {"content-type": media_type})
        assert answer.status < 500
        if answer.status >= 400:
            assert problem_code(answer) != "internal_error"

    def test_head_has_the_headers_alone_and_a_method_that_is_not_taken_lists_those_that_are(
        self, server: LocalServer
    ) -> None:
        head = server.request("HEAD", "/openapi.json")
        assert (head.status, head.body) == (200, b"")
        options = server.request("OPTIONS", "/v1/users")
        assert (problem_code(options), options.headers["allow"]) == ("method_not_allowed", "GET, HEAD, POST")

    def test_many_clients_at_once_each_get_their_own_answer(self, server: LocalServer) -> None:
        failures: list[str] = []

        def use(name: str) -> None:
            for number in range(20):
                made = server.post("/v1/users", {**USER, "beneficiaryId": name, "userId": f"{name}-{number}"})
                if made.json.get("userId") != f"{name}-{number}":
                    failures.append(name)
            listed = server.get(f"/v1/users?beneficiaryId={name}&limit=500").json["items"]
            if {user["userId"] for user in listed} != {f"{name}-{number}" for number in range(20)}:
                failures.append(name)

        clients = [threading.Thread(target=use, args=(f"client{number}",)) for number in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert failures == []

    def test_the_log_has_routes_and_no_values(self, tmp_path: Path) -> None:
        server = LocalServer.start(tmp_path / "data", "--empty")
        server.post("/v1/users", {**USER, "userId": "hidden", "phone": "hidden"})
        server.get("/v1/users/hidden")
        server.get("/v1/users?phone=hidden")
        server.get("/hidden")
        assert server.stop() == 0
        log = server.log.read_text()
        assert "GET /v1/users/{key} 200" in log
        assert "(no such path) 404" in log
        assert "hidden" not in log
