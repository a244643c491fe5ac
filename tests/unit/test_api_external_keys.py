"""External keys over HTTP: what names a record, saves looking for it, and finds it when it has moved."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Any
from uuid import UUID

import pytest

from shardweave.errors import ConfigurationError, InvalidShardArguments
from shardweave.keys.shard_key import ExternalKeys, ShardGrandchild, ShardKey, foreign_shards, merge
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.service.build import Settings, build
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import DeleteItem, PutItem, Scan
from shardweave.values.codecs import Timestamp
from shardweave.wire.record_keys import RecordKeys
from tests.unit.api_world import (
    CURSOR_KEYS,
    EXTERNAL_KEYS,
    NOW,
    Client,
    Clock,
    CountedTable,
    api_of,
    json_of,
    problem_of,
    user_service,
)

BUMPS = [ShardBump(0, char_bits=2, chars=1), ShardBump(NOW - 1000, char_bits=2, chars=2)]
WIDER = [ShardBump(0, char_bits=3, chars=3)]


class Kind(enum.Enum):
    HALL = "hall"
    YARD = "yard"


class Guest(Entity, token="guest", origin="g", shard_bumps=BUMPS):
    """Found by an id of its own."""

    guest_id: UUID = unique_property()
    created: Timestamp = timestamp_property()
    name: str = ""
    city: str | None = None

    city_hash_key = HashKey("city")


class Seat(Entity, token="seat", origin="s", partition=("kind", "day"), sort="number", shard_bumps=BUMPS[:1]):
    """Found by three properties."""

    kind: Kind
    day: dt.date
    number: int
    taken: bool = False


class Ticket(Entity, token="ticket", origin="t", shard_by="guest_id", shard_bumps=BUMPS[:1]):
    """In its guest's shard."""

    code: str = unique_property()
    guest_id: str


class Note(Entity, token="note"):
    """Without an origin, it may have a property of the same name."""

    note_id: str = unique_property()
    key: str  # type: ignore[assignment]


def party(guest_bumps: list[ShardBump] | None = None) -> Schema:
    """The schema; with other bumps for guests it is what a re-shard leaves."""
    guest: Any = Guest
    if guest_bumps is not None:
        guest = type("Guest", (Guest,), {"__module__": __name__}, token="guest", origin="g", shard_bumps=guest_bumps)
    return Schema(
        [guest, Seat, Ticket, Note], indexes=[Index("city", "city_hash_key", "created", projection="KEYS_ONLY")]
    )


SCHEMA = party()
ID = "12345678-1234-5678-1234-567812345678"
GUEST = {"guestId": ID, "name": "Ann", "city": "Rome"}
SEAT = {"kind": "yard", "day": "2024-01-31", "number": 7}


@pytest.fixture
def table() -> CountedTable:
    return CountedTable(EmbeddedTable(SCHEMA.layout, clock=lambda: NOW / 1000))


@pytest.fixture
def client(table: CountedTable) -> Client:
    return Client(api_of(SCHEMA, table=table))


def made(client: Client, collection: str, document: Any) -> str:
    response = client.post(f"/v1/{collection}", document)
    assert response.status == 201
    key: str = json_of(response)["key"]
    assert response.headers["location"] == f"/v1/{collection}/{key}"
    return key


def test_every_answer_has_the_key_and_every_path_takes_it(client: Client) -> None:
    key = made(client, "guests", GUEST)
    answers = [
        json_of(client.get(f"/v1/guests/{key}")),
        json_of(client.patch(f"/v1/guests/{key}", {"name": "Bea"})),
        json_of(client.put(f"/v1/guests/{key}", GUEST)),
        *json_of(client.get(f"/v1/guests?guestId={ID}"))["items"],
        *json_of(client.get("/v1/guests?city=Rome"))["items"],
        *json_of(client.post("/v1/guests/query", {"conditions": {"city": "Rome"}}))["items"],
        *json_of(client.post("/v1/guests/query", {"conditions": {"city": "Rome"}, "hydrate": True}))["items"],
        *json_of(client.post("/v1/guests/query", {"conditions": {"guestId": ID}, "properties": ["name"]}))["items"],
    ]
    assert [answer["key"] for answer in answers] == [key] * 8
    assert answers[-1] == {"key": key, "name": "Ann"}
    assert client.delete(f"/v1/guests/{key}").status == 204
    problem_of(client.get(f"/v1/guests/{key}"), 404, "not_found")


def test_a_key_says_what_it_names(client: Client) -> None:
    key = EXTERNAL_KEYS.decode(made(client, "guests", GUEST), ShardKey)
    assert key == ShardKey("g", key.shard, UUID(ID))
    assert len(key.shard) == 2
    seat = EXTERNAL_KEYS.decode(made(client, "seats", SEAT), ShardGrandchild)
    assert seat.ids == ("yard", dt.date(2024, 1, 31), 7)
    assert json_of(client.get(f"/v1/seats/{EXTERNAL_KEYS.encode(seat)}"))["day"] == "2024-01-31"


def test_an_entity_without_an_origin_keeps_what_identifies_it(client: Client) -> None:
    assert client.post("/v1/notes", {"noteId": "a", "key": "b"}).headers["location"] == "/v1/notes/a"
    assert json_of(client.get("/v1/notes/a")) == {"noteId": "a", "key": "b"}
    user = {"userId": "u1", "firstName": "J", "lastName": "B", "beneficiaryId": "b"}
    assert "key" not in json_of(Client(user_service().api).post("/v1/users", user))


def test_a_record_can_be_put_back_as_it_was_read(client: Client) -> None:
    key = made(client, "guests", GUEST)
    read = json_of(client.get(f"/v1/guests/{key}"))
    assert json_of(client.put(f"/v1/guests/{key}", read)) == read
    assert client.patch(f"/v1/guests/{key}", read).status == 200


def test_a_key_in_a_body_names_the_record_that_is_written(client: Client) -> None:
    key, seat = made(client, "guests", GUEST), made(client, "seats", SEAT)
    for collection, body, changed in (("guests", {"key": key}, "name"), ("seats", {"key": seat}, "taken")):
        put = {**body, changed: True if changed == "taken" else "Bea"}
        done = json_of(client.post(f"/v1/{collection}/batch-write", {"puts": [put]}))["puts"][0]
        assert (done["status"], done["item"]["key"], done["item"][changed]) == ("written", body["key"], put[changed])
        problem_of(client.post(f"/v1/{collection}", put), 409, "already_exists")
        assert client.delete(f"/v1/{collection}/{body['key']}").status == 204
        assert json_of(client.post(f"/v1/{collection}", put))["key"] == body["key"]
    assert json_of(client.put(f"/v1/guests/{key}", {"key": None}))["key"] == key


def test_a_key_of_another_record_in_a_body_is_refused(client: Client) -> None:
    key, other = made(client, "guests", GUEST), {**GUEST, "guestId": str(UUID(int=7))}
    before = json_of(client.get(f"/v1/guests/{key}"))
    for wrong, code in ((made(client, "guests", other), "value_refused"), (key[:-1], "invalid_shard_key")):
        body = {**GUEST, "key": wrong, "name": "x"}
        for answer in (client.post("/v1/guests", body), client.put(f"/v1/guests/{key}", {"key": wrong})):
            assert problem_of(answer, 400, code)["where"] == "key"
        assert problem_of(client.patch(f"/v1/guests/{key}", {"key": wrong, "name": "x"}), 400, code)["where"] == "key"
        batch = client.post("/v1/guests/batch-write", {"puts": [other, body]})
        assert problem_of(batch, 400, code)["where"] == "puts[1].key"
    assert problem_of(client.put(f"/v1/guests/{key}", {"key": 7}), 400, "invalid_input")["where"] == "key"
    assert json_of(client.get(f"/v1/guests/{key}")) == before


def test_every_text_that_is_not_the_key_is_refused(client: Client) -> None:
    key, seat = made(client, "guests", GUEST), made(client, "seats", SEAT)
    others = ExternalKeys("other", {"other": b"x" * 32})
    wrong = [key[:-1], key + "A", key[1:], key.swapcase(), seat, ID, "x", "é", others.encode(ShardKey("g", "0", ID))]
    wrong += [key[:at] + ("A" if key[at] != "A" else "B") + key[at + 1 :] for at in range(len(key))]
    for text in wrong:
        assert problem_of(client.get(f"/v1/guests/{text}"), 400, "invalid_shard_key")["where"] == "key"
    problem_of(client.delete(f"/v1/guests/{key[:-1]}"), 400, "invalid_shard_key")
    assert client.get(f"/v1/guests/{key}").status == 200


def test_a_read_looks_only_where_the_key_says(client: Client, table: CountedTable) -> None:
    guest, ticket = made(client, "guests", GUEST), made(client, "tickets", {"code": "a", "guestId": ID})
    table.asked_since()
    assert client.get(f"/v1/guests/{guest}").status == 200
    assert client.get(f"/v1/tickets/{ticket}").status == 200
    assert table.asked_since() == ["GetItem", "GetItem"]
    assert client.get(f"/v1/guests/{EXTERNAL_KEYS.encode(ShardKey('g', '', UUID(ID)))}").status == 200
    assert table.asked_since() == ["GetItem", "BatchGet"]


def test_a_record_that_has_moved_is_still_found_and_tells_its_new_key(table: CountedTable) -> None:
    old = made(Client(api_of(SCHEMA, table=table)), "guests", GUEST)
    (item,) = table.run(Scan()).items
    moved = party(WIDER)
    after = Client(api_of(moved, table=table))
    table.run(PutItem(moved.entity("guest").complete(item)))
    table.run(PutItem({**item, "name": "stale"}))
    read = json_of(after.get(f"/v1/guests/{old}"))
    assert read["name"] == "Ann"
    assert read["key"] != old
    table.run(DeleteItem(SCHEMA.entity("guest").make_key(item)))
    table.asked_since()
    assert json_of(after.get(f"/v1/guests/{read['key']}")) == read
    assert table.asked_since() == ["GetItem"]
    assert json_of(after.get(f"/v1/guests/{old}")) == read
    assert table.asked_since() == ["GetItem", "GetItem"]
    assert after.patch(f"/v1/guests/{old}", {"name": "Bea"}).status == 200
    assert after.delete(f"/v1/guests/{old}").status == 204


def test_a_key_stays_what_it_is_when_the_secrets_rotate(table: CountedTable) -> None:
    key = made(Client(api_of(SCHEMA, table=table)), "guests", GUEST)
    rotated = ExternalKeys("two", {**EXTERNAL_KEYS.secrets, "two": b"2" * 32})
    keys = RecordKeys(SCHEMA.entity("guest"), rotated)
    found = keys.of_path({"key": key})
    assert found == EXTERNAL_KEYS.decode(key, ShardKey)
    assert keys.text(found) != key


def test_records_have_their_keys_in_the_library_too() -> None:
    store = Store(SCHEMA, EmbeddedTable(SCHEMA.layout, clock=lambda: NOW / 1000), clock=Clock())
    guests = [store.create({"guestId": UUID(int=number)}, Guest) for number in range(20)]
    assert merge(guests, [store.update(Guest, guests[3].key, {"name": "x"})])[3].name == "x"
    assert foreign_shards(guests[0].key, guests) == sorted({each.key.shard for each in guests} - {guests[0].key.shard})
    assert store.batch_get(Guest, [each.key for each in guests])[0] == guests[0]
    assert store.delete(Guest, guests[0].key)
    with pytest.raises(InvalidShardArguments):
        _ = Guest(guest_id=UUID(int=1)).key


def test_an_origin_needs_secrets() -> None:
    with pytest.raises(ConfigurationError, match="external"):
        RecordKeys(SCHEMA.entity("guest"))
    asked: list[int] = []

    def secrets() -> ExternalKeys:
        asked.append(1)
        return EXTERNAL_KEYS

    settings = Settings(cursor_keys=CURSOR_KEYS, external_keys=secrets)
    build(settings, open_table=lambda layout: EmbeddedTable(layout)).close()
    assert not asked
