"""`serve --reload` as a process: edits of a service while it runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.local_server import START_SECONDS, LocalServer
from tests.integration.test_http_server import failed_start

PARCELS = """
import parcel_names
from shardweave import ORDERED, Entity, Index, Schema, Timestamp, nanoid, timestamp_property, unique_property


class Parcel(Entity, token="parcel"):
    parcel_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    state: str = parcel_names.STATE


def schema(key_format=ORDERED):
    return Schema([Parcel], [Index("created", hash_key="hash_key", range_key="created")], key_format=key_format)
"""


@contextmanager
def reloading(data: Path, service: Path) -> Iterator[LocalServer]:
    """A server that starts again after edits, and that has ended afterwards, whatever the test found."""
    server = LocalServer.start(data, str(service), "--reload")
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


def edit(module: Path, text: str) -> None:
    """Give a module another text at once: one that was written in part would be an edit of its own."""
    new = module.with_suffix(".new")
    new.write_text(text)
    new.replace(module)


def wait_for(server: LocalServer, said: str) -> None:
    """Come back when the log has it."""
    deadline = time.monotonic() + START_SECONDS
    while said not in (text := server.log.read_text()):
        assert server.process.poll() is None, text
        assert time.monotonic() < deadline, text
        time.sleep(0.05)


class TestReloading:
    def test_an_edit_starts_it_again_with_its_data_and_a_faulty_one_waits_for_the_next(self, tmp_path: Path) -> None:
        service, module = tmp_path / "parcels.py", tmp_path / "parcel_names.py"
        service.write_text(PARCELS)
        module.write_text("STATE = 'packed'\n")
        with reloading(tmp_path / "data", service) as server:
            assert server.post("/v1/parcels", {"parcelId": "a"}).status == 201
            edit(module, "STATE = (\n")
            wait_for(server, "starts again after the next edit")
            assert "parcel_names.py" in server.log.read_text()
            edit(module, "STATE = 'on its way'\n")
            server.wait_until_ready()
            assert server.get("/v1/parcels/a").json["state"] == "packed"
            assert server.post("/v1/parcels", {"parcelId": "b"}).json["state"] == "on its way"
            assert server.stop() == 0
            assert server.lines == [f"ready {server.address}\n"] * 2
            assert "Traceback" not in server.log.read_text()

    def test_what_is_wrong_with_its_arguments_is_not_waited_for(self, tmp_path: Path) -> None:
        assert failed_start("--reload", "--host", "0.0.0.0", data=tmp_path / "data")[0] == 2


def test_dev_starts_again_after_edits_and_says_what_each_query_did(tmp_path: Path) -> None:
    service, module = tmp_path / "parcels.py", tmp_path / "parcel_names.py"
    service.write_text(PARCELS)
    module.write_text("STATE = 'packed'\n")
    server = LocalServer.start(tmp_path / "data", str(service), "--no-browser", module="shardweave.local.dev")
    try:
        assert server.get("/v1/parcels?limit=3").status == 200
        wait_for(server, " holds every record")
        assert ", ascending, 3 a page: 1 lane, 1 read in 1 round" in server.log.read_text()
        edit(module, "STATE = 'on its way'\n")
        server.wait_until_ready()
        assert server.stop() == 0
    finally:
        if server.process.poll() is None:
            server.kill()
