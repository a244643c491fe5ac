"""What the local server is made of, without a server: data folder, loading, poller."""

from __future__ import annotations

import datetime as dt
import io
import json
import socket
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from uuid import UUID

import pytest

from services._samples.users import user_service_records
from shardweave.cli.progress_lines import ProgressLines
from shardweave.errors import ConfigurationError
from shardweave.local.asgi import AsgiApi
from shardweave.local.loading import load
from shardweave.local.poller import Poller
from shardweave.local.serve import is_empty
from shardweave.local.server import IDLE_SECONDS, HttpServer, address_of, listen
from shardweave.service.build import Settings, build
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Scan
from shardweave.table.stream_operations import StreamRecord
from tests.unit.api_world import CURSOR_KEYS, Client, json_of, user_service

DAY = dt.date(2024, 10, 27)


def _never(error: Exception) -> None:
    raise error


def test_the_server_listens_for_tcp_by_name() -> None:
    """asyncio sends small answers at once only on such sockets; on others each takes 40 ms."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        assert address_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_a_connection_between_requests_is_kept_for_longer_than_a_machine_may_stand_still() -> None:
    """A client whose connection is closed just when it sends does not learn what became of its request."""
    service = user_service()
    app = AsgiApi(service.api, {}, 1)
    assert HttpServer(app, lambda: None).config.timeout_keep_alive == IDLE_SECONDS
    assert IDLE_SECONDS >= 60
    app.close()
    service.close()


class Terminal(io.StringIO):
    """What is written, as on a terminal."""

    def isatty(self) -> bool:
        return True


class TestLoading:
    def test_an_interrupted_load_is_completed_and_changes_nothing_that_was_there(self) -> None:
        records = list(islice(user_service_records(DAY), 130))
        service = user_service()
        client = Client(service.api)
        assert load(service.parts.store, records[:70], "Loading", io.StringIO()) == 70
        assert client.patch(f"/v1/users/{records[0].user_id}", {"phone": "changed"}).status == 200  # type: ignore[attr-defined]
        assert load(service.parts.store, records, "Loading", io.StringIO()) == 60
        assert load(service.parts.store, records, "Loading", io.StringIO()) == 0
        users = json_of(client.get("/v1/users?limit=500"))["items"]
        emails = json_of(client.get("/v1/emails?limit=500"))["items"]
        assert len(users) + len(emails) == 130
        assert [user["phone"] for user in users if user["userId"] == "wf5yU_5f63gqauSOLpP5O"] == ["changed"]

    def test_records_are_stored_as_they_were_generated(self) -> None:
        records = list(islice(user_service_records(DAY), 20))
        service = user_service()
        load(service.parts.store, records, "Loading", io.StringIO())
        for record in records:
            entity = service.parts.schema[type(record)]
            key = {name: entity.dump(record)[name] for name in entity.identity}
            stored = service.parts.store.get(type(record), key)
            assert stored is not None
            assert stored.model_dump() == record.model_dump()

    def test_it_says_how_far_it_is_where_there_is_no_terminal(self) -> None:
        said: list[str] = []
        records = list(islice(user_service_records(DAY), 60))
        load(user_service().parts.store, records, "Loading it", io.StringIO(), ProgressLines(said.append, every=0))
        assert said[-1] == "Loading it: 60 of 60"

    def test_it_shows_how_far_it_is_on_a_terminal(self) -> None:
        output = Terminal()
        load(user_service().parts.store, list(islice(user_service_records(DAY), 60)), "Loading it", output)
        assert "Loading it" in output.getvalue()
        assert "60/60" in output.getvalue()


class TestPoller:
    @pytest.fixture
    def client(self) -> Iterator[Client]:
        service = user_service()
        self.table = service.parts.table
        yield Client(service.api)
        service.close()

    def add(self, client: Client, *names: str) -> None:
        for name in names:
            client.post("/v1/users", {"userId": name, "firstName": "A", "lastName": "B", "beneficiaryId": "b"})

    def test_changes_come_once_and_in_order_also_over_a_restart(self, client: Client, tmp_path: Path) -> None:
        seen: list[str] = []

        def consume(records: tuple[StreamRecord, ...]) -> None:
            seen.extend(record.key["rangeKey"] for record in records)

        def poller() -> Poller:
            return Poller(self.table, consume, tmp_path / "position", failed=_never)

        self.add(client, *"abc")
        first = poller()
        assert first.poll()
        assert not first.poll()
        self.add(client, *"de")
        assert poller().poll()
        assert seen == [f"userId#{name}" for name in "abcde"]

    def test_a_batch_that_fails_comes_again_and_nothing_after_it_before(self, client: Client, tmp_path: Path) -> None:
        tries: list[int] = []
        failures: list[Exception] = []
        done = threading.Event()

        def consume(records: tuple[StreamRecord, ...]) -> None:
            tries.append(len(records))
            if len(tries) < 3:
                self.add(client, f"more{len(tries)}")
                raise ValueError
            done.set()

        self.add(client, *"ab")
        poller = Poller(self.table, consume, tmp_path / "position", failed=failures.append, pause=0.001)
        poller.start()
        assert done.wait(600)
        poller.stop()
        assert [type(failure) for failure in failures] == [ValueError, ValueError]
        assert tries[:3] == [2, 3, 4]

    def test_a_table_older_than_its_position_is_read_from_its_beginning_and_that_is_told_once(
        self, client: Client, tmp_path: Path
    ) -> None:
        seen: list[int] = []
        told: list[Exception] = []
        (tmp_path / "position").write_text(json.dumps({"shard-0": f"{99:021d}"}))
        self.add(client, *"ab")
        poller = Poller(
            self.table, lambda records: seen.append(len(records)), tmp_path / "position", failed=told.append
        )
        assert [poller.poll(), poller.poll(), poller.poll()] == [True, False, False]
        assert seen == [2]
        (failure,) = told
        assert "older" in str(failure)
        assert "`shardweave reshard status" in str(failure)

    def test_an_empty_table_older_than_its_position_is_told_once_too(self, client: Client, tmp_path: Path) -> None:
        del client
        told: list[Exception] = []
        (tmp_path / "position").write_text(json.dumps({"shard-0": f"{99:021d}"}))
        poller = Poller(self.table, lambda records: None, tmp_path / "position", failed=told.append)
        assert [poller.poll(), poller.poll()] == [False, False]
        assert len(told) == 1

    def test_it_stops_when_it_is_told_to(self, client: Client, tmp_path: Path) -> None:
        poller = Poller(self.table, lambda records: None, tmp_path / "position", failed=_never, pause=60)
        poller.start()
        poller.stop()
        self.add(client, "a")
        assert not (tmp_path / "position").read_text().count("a:")

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"shard": 5}', b"\xff"])
    def test_a_damaged_position_is_named(self, client: Client, tmp_path: Path, content: bytes) -> None:
        del client
        (tmp_path / "position").write_bytes(content)
        with pytest.raises(ConfigurationError, match=f"{tmp_path / 'position'} is damaged"):
            Poller(self.table, lambda records: None, tmp_path / "position", failed=_never)


def test_a_table_whose_lookups_were_decided_has_no_record_yet() -> None:
    service = build(Settings(cursor_keys=CURSOR_KEYS, service="issue_tracker"), open_table=EmbeddedTable)
    service.parts.store.decide_lookups()
    assert service.parts.table.run(Scan()).items
    assert is_empty(service)
    tenant = UUID(int=1)
    service.parts.store.create({"tenant_id": tenant, "name": "Acme"}, service.parts.schema.entity("tenant").model)
    assert not is_empty(service)
