"""The data folder: its files, and that records are found again, or the change that hides them is named."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardweave.database.data_folder import DataFolder, SampleState
from shardweave.errors import ConfigurationError, ShardweaveError
from shardweave.keys.key_format import ORDERED, KeyFormat, string_hash
from shardweave.keys.sharding import WRITE_AHEAD_MS, ShardBump, ShardMap
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.reshard.control import encode_control
from shardweave.reshard.declaration_guard import placement_of
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.operations import PutItem, Scan
from shardweave.values.codecs import Timestamp

NOW = 1_735_689_600_000
FOUR = ShardBump(0, 2, 1)
OTHERS = KeyFormat("ordered", shard_delimiter="$"), KeyFormat("ordered", hash=string_hash)


def note_schema(
    *,
    token: str = "note",
    bumps: tuple[ShardBump, ...] = (FOUR,),
    shard_by: str | None = None,
    subject_key: bool = True,
    elements: tuple[str, ...] = ("subject",),
    key_format: KeyFormat = ORDERED,
    more: tuple[type[Entity], ...] = (),
    partition: tuple[str, ...] = (),
) -> Schema:
    """Notes, declared one way or another."""
    placed: dict[str, Any] = {"shard_by": shard_by} if shard_by else {}
    placed |= {"partition": partition} if partition else {}

    class Note(Entity, token=token, shard_bumps=list(bumps), **placed):
        """Something written down."""

        note_id: str = unique_property(default_factory=nanoid)
        created: Timestamp = timestamp_property()
        author: str
        subject: str

        author_hash_key = HashKey("author")
        if subject_key:
            subject_range_key = RangeKey(*elements)

    indexes = [Index("authorCreated", hash_key="author_hash_key", range_key="created")]
    if subject_key:
        indexes.append(Index("authorSubject", hash_key="author_hash_key", range_key="subject_range_key"))
    return Schema([Note, *more], indexes, key_format=key_format)


class Label(Entity, token="label"):
    """What notes may have."""

    label_id: str = unique_property()


def opened(folder: DataFolder, schema: Schema, *, create: bool = True, serving: bool = False) -> Any:
    return folder.open_table(schema, "notes", "ordered", create=create, serving=serving, clock=lambda: NOW)


def filled(path: Path, schema: Schema, count: int = 3) -> DataFolder:
    """A folder with some notes, of an author each."""
    folder = DataFolder(path)
    table = opened(folder, schema)
    store = Store(schema, table, clock=lambda: NOW)
    (model,) = (entity.model for entity in schema.entities.values() if entity.token != "label")
    for number in range(count):
        store.create(model(note_id=f"n{number}", author="a", subject=f"s{number}"))
    table.close()
    return folder


def found(folder: DataFolder, schema: Schema, index: str) -> list[str]:
    """The ids of the author's notes in the order of an index."""
    table = opened(folder, schema)
    runner = QueryRunner(schema, table, CursorKeys("k", {"k": b"k" * 32}), clock=lambda: NOW)
    page = runner.run(QuerySpec("note", {"author": Equal("a")}, index=index))
    runner.close()
    table.close()
    return [record.note_id for record in page.items]


CHANGES: dict[str, dict[str, Any]] = {
    "note: the entity is not declared": {"token": "memo"},
    "note: shard_bumps: the bump at 0": {"bumps": (ShardBump(0, 3, 1),)},
    "note: shard_bumps: the new bump at 1735689600000 has begun": {"bumps": (FOUR, ShardBump(NOW, 2, 2))},
    "note.shard_by: it decides where records are, and was noteId": {"shard_by": "author"},
    "note.partition: it decides where records are": {"partition": ("author",)},
    "key format ordered: its delimiters or its hash change": {"key_format": OTHERS[0]},
    "ordered: its delimiters or its hash change": {"key_format": OTHERS[1]},
    "generated property subjectRangeKey: its elements were subject": {"elements": ("subject", "created")},
}


@pytest.mark.parametrize(("named", "change"), CHANGES.items(), ids=list(CHANGES))
def test_what_hides_the_records_that_are_there_is_refused_and_named(
    named: str, change: dict[str, Any], tmp_path: Path
) -> None:
    folder = filled(tmp_path, note_schema())
    with pytest.raises(ConfigurationError) as refused:
        opened(folder, note_schema(**change))
    assert named in str(refused.value)
    assert "docs/changing-a-schema.md" in str(refused.value)
    assert found(folder, note_schema(), "authorSubject") == ["n0", "n1", "n2"]


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_without_records_anything_may_change(change: dict[str, Any], tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    opened(folder, note_schema()).close()
    opened(folder, note_schema(**change)).close()
    with pytest.raises(ConfigurationError):
        opened(filled(tmp_path, note_schema(**change)), note_schema())


def test_a_bump_begins_later_than_any_record_that_may_be_there(tmp_path: Path) -> None:
    folder = filled(tmp_path, note_schema())
    with pytest.raises(ConfigurationError, match=f"new bump at {NOW + WRITE_AHEAD_MS} begins too soon"):
        opened(folder, note_schema(bumps=(FOUR, ShardBump(NOW + WRITE_AHEAD_MS, 2, 2))))
    opened(folder, note_schema(bumps=(FOUR, ShardBump(NOW + WRITE_AHEAD_MS + 1, 2, 2)))).close()


def test_bumps_that_begin_later_may_be_added_and_taken_back_until_they_begin(tmp_path: Path) -> None:
    folder = filled(tmp_path, note_schema())
    begins = NOW + 3_600_000
    for bumps in ((FOUR, ShardBump(begins, 2, 2)), (FOUR, ShardBump(begins, 2, 3)), (FOUR,)):
        later = note_schema(bumps=bumps, more=(Label,))
        assert found(folder, later, "authorSubject") == ["n0", "n1", "n2"]
    opened(folder, note_schema(bumps=(FOUR, ShardBump(begins, 2, 2)), more=(Label,))).close()
    for now, said in ((begins - 1000, "begins too soon to be taken back"), (begins, "has begun")):
        with pytest.raises(ConfigurationError, match=f"the bump at 1735693200000 {said}, and would change or go"):
            folder.open_table(note_schema(more=(Label,)), "notes", "ordered", create=True, clock=lambda at=now: at)


MOVED_OTHERWISE: list[dict[str, Any]] = [
    {"bumps": (FOUR, ShardBump(NOW + 3_600_000, 2, 3))},
    {"bumps": (FOUR, ShardBump(NOW + 3_600_000, 2, 3)), "subject_key": False},
]


@pytest.mark.parametrize("change", MOVED_OTHERWISE)
@pytest.mark.parametrize("phase", [Phase.DUAL_OLD, Phase.PURGE])
def test_while_records_move_another_declaration_is_refused_and_leaves_nothing_behind(
    phase: Phase, change: dict[str, Any], tmp_path: Path
) -> None:
    folder, schema = filled(tmp_path, note_schema()), note_schema()
    notes = schema.entities["note"]
    new = ShardMap.of_bumps((ShardBump(0, 2, 2),), 1, 1)
    control = ReshardState(1, notes.shard_map, new, phase, ReshardStep.COPY, placement=placement_of(notes))
    table = opened(folder, schema)
    table.run(PutItem(encode_control(notes, control, "r1")))
    table.close()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix in (".sqlite", ".json")}
    with pytest.raises(ConfigurationError) as refused:
        opened(folder, note_schema(**change))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.name in before} == before
    for said in ("re-shard 1 moves its records", "declaration from before", "reshard abort"):
        assert str(refused.value).count(said) == 1
    opened(folder, note_schema()).close()
    opened(folder, note_schema(more=(Label,))).close()


def test_after_a_re_shard_a_bump_that_is_not_wider_is_refused(tmp_path: Path) -> None:
    folder, notes = filled(tmp_path, note_schema()), note_schema().entities["note"]
    there = ShardMap.of_bumps((ShardBump(0, 2, 2),), 1, 1)
    table = opened(folder, note_schema())
    table.run(PutItem(encode_control(notes, ReshardState(1, there, absorbed_until=NOW - 1), "r1")))
    table.close()
    begins = NOW + 3_600_000
    with pytest.raises(ConfigurationError) as refused:
        opened(folder, note_schema(bumps=(FOUR, ShardBump(begins, 3, 2))))
    assert f"note.shard_bumps: the bump at {begins} is not wider than the space that re-shard 1 made" in str(
        refused.value
    )
    assert "let it have 3 characters or more" in str(refused.value)
    opened(folder, note_schema(bumps=(FOUR, ShardBump(begins, 2, 3)))).close()


def test_an_index_that_needs_new_keys_finds_the_records_that_are_there(tmp_path: Path) -> None:
    folder = filled(tmp_path, note_schema(subject_key=False))
    said: list[str] = []
    folder.open_table(note_schema(), "notes", "ordered", create=True, say=said.append).close()
    assert said[-1] == "note: 3 records rewritten"
    assert found(folder, note_schema(), "authorSubject") == ["n0", "n1", "n2"]
    assert found(folder, note_schema(subject_key=False), "authorCreated") != []


class Ticket(Entity, token="ticket"):
    """As it was first."""

    ticket_id: str = unique_property()


class ColouredTicket(Entity, token="ticket"):
    """As it became."""

    ticket_id: str = unique_property()
    colour: str = "red"
    shade: str | None = None

    colour_hash_key = HashKey("colour")
    shade_range_key = RangeKey("shade")


def test_new_keys_are_made_of_the_defaults_of_new_properties(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    table = opened(folder, Schema([Ticket]))
    Store(Schema([Ticket]), table, clock=lambda: NOW).create(Ticket(ticket_id="t"))
    table.close()
    schema = Schema([ColouredTicket], [Index("byColour", hash_key="colour_hash_key", range_key="range_key")])
    table = opened(folder, schema)
    runner = QueryRunner(schema, table, CursorKeys("k", {"k": b"k" * 32}), clock=lambda: NOW)
    page = runner.run(QuerySpec("ticket", {"colour": Equal("red")}, index="byColour"))
    assert [ticket.ticket_id for ticket in page.items] == ["t"]
    (stored,) = table.run(Scan()).items
    assert (stored["colour"], "shade" in stored) == ("red", False)
    runner.close()
    table.close()


def test_only_a_writer_makes_a_folder(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "mistyped")
    with pytest.raises(ConfigurationError, match="mistyped holds no table of 'notes'"):
        opened(folder, note_schema(), create=False)
    assert not folder.path.exists()


def test_cursor_keys_are_made_once_and_kept_to_the_owner(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "new")
    first, again = folder.cursor_keys(), folder.cursor_keys()
    assert first.secrets == again.secrets
    assert stat.S_IMODE((folder.path / "cursor-keys.json").stat().st_mode) == 0o600
    assert DataFolder(tmp_path).cursor_keys().secrets != first.secrets
    assert [file.name for file in folder.path.iterdir()] == ["cursor-keys.json"]


def test_one_server_uses_a_folder_until_it_is_done(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "made" / "here")
    with (
        folder.used_by_this_process(),
        pytest.raises(ConfigurationError, match="another server"),
        folder.used_by_this_process(),
    ):
        pass
    with folder.used_by_this_process():
        assert folder.path.is_dir()


@pytest.mark.parametrize(
    "changed", [note_schema(subject_key=False), note_schema(more=(Label,))], ids=["index", "entity"]
)
def test_while_a_server_uses_the_folder_only_that_follows_another_declaration(changed: Schema, tmp_path: Path) -> None:
    folder = filled(tmp_path, note_schema())
    with folder.used_by_this_process():
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix in (".sqlite", ".json")}
        with pytest.raises(ConfigurationError, match="with another declaration than this one"):
            opened(folder, changed)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.name in before} == before
        assert sorted(found(folder, note_schema(), "authorCreated")) == ["n0", "n1", "n2"]
        opened(folder, changed, serving=True).close()
    opened(folder, changed).close()


class Box(Entity, token="box"):
    """As a server has it."""

    box_id: str = unique_property()
    size: int | None = None


class BoxOfText(Entity, token="box"):
    """With another type of a property that is in no key, so that the manifest is the same."""

    box_id: str = unique_property()
    size: str | None = None


def test_a_command_is_told_of_a_server_with_other_properties(tmp_path: Path) -> None:
    folder, boxes, others = DataFolder(tmp_path), Schema([Box]), Schema([BoxOfText])
    with folder.used_by_this_process():
        opened(folder, boxes, serving=True).close()
        opened(folder, boxes).close()
        with pytest.raises(ConfigurationError, match="with another declaration than this one"):
            opened(folder, others)
        folder.open_table(others, "others", "ordered", create=True).close()
        with pytest.raises(ConfigurationError, match="another server"), folder.used_by_this_process():
            pass
        with pytest.raises(ConfigurationError, match="with another declaration than this one"):
            opened(folder, others)
    opened(folder, others).close()
    with folder.used_by_this_process():
        opened(folder, others).close()
        opened(folder, others, serving=True).close()
        with pytest.raises(ConfigurationError, match="with another declaration than this one"):
            opened(folder, boxes)


def test_what_was_loaded_is_remembered_for_each_table(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    assert folder.sample_state("user_service", "ordered") is None
    folder.set_sample_state("user_service", "ordered", SampleState("2024-10-27", complete=False))
    folder.set_sample_state("user_service", "ordered", SampleState("2024-10-27", complete=True))
    assert folder.sample_state("user_service", "ordered") == SampleState("2024-10-27", complete=True)
    assert folder.sample_state("user_service", "article") is None


DAMAGE = (b"", b"\xff\xfe", b"[]", b"{", b"null", b'{"day": 5, "complete": true}', b'{"entities": {"note": 1}}')
READERS: dict[str, Callable[[DataFolder], object]] = {
    "external-keys.json": lambda folder: folder.external_keys(),
    "cursor-keys.json": lambda folder: folder.cursor_keys(),
    "notes-ordered.json": lambda folder: folder.sample_state("notes", "ordered"),
    "notes-ordered.schema.json": lambda folder: opened(folder, note_schema()),
}


@pytest.mark.parametrize("content", DAMAGE)
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_named(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"{name} is damaged.*Fix: .*remove"):
        READERS[name](DataFolder(tmp_path))


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    folder = filled(tmp_path, note_schema())
    path = folder.table_path("notes", "ordered")
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(ShardweaveError, match=f"{path}: The file is not a table.*Fix: "):
        opened(folder, note_schema())


@pytest.mark.parametrize("emptied", [False, True])
@pytest.mark.parametrize("left", [("changes",), ("schema",), ("changes", "schema")])
def test_a_lost_table_is_not_taken_for_a_new_one(left: tuple[str, ...], emptied: bool, tmp_path: Path) -> None:
    folder = filled(tmp_path, note_schema())
    path = folder.table_path("notes", "ordered")
    others = [path.with_suffix(f".{kind}.json") for kind in ("changes", "schema")]
    folder.position_file("notes", "ordered").write_text("{}")
    for other in others:
        if other.name.split(".")[1] not in left:
            other.unlink()
    path.unlink()
    if emptied:
        path.touch()
    names = " and ".join(f"notes-ordered.{kind}.json" for kind in left)
    with pytest.raises(ConfigurationError, match=f"missing or empty beside its {names}.*Fix: .*remove {names} and"):
        opened(folder, note_schema())
    assert path.exists() == emptied
    for other in others:
        other.unlink(missing_ok=True)
    opened(folder, note_schema()).close()


def test_the_manifest_is_readable(tmp_path: Path) -> None:
    filled(tmp_path, note_schema())
    kept = json.loads((tmp_path / "notes-ordered.schema.json").read_text())
    assert kept["entities"]["note"]["bumps"] == [{"timestamp": 0, "char_bits": 2, "chars": 1}]
