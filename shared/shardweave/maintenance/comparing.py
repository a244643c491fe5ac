"""Comparing two sources record by record: tables, exports, and the old items of a table that is brought in.

    read      each source once, as digests of each property of each record
    join      records that only one source has, or whose digests differ, are suspects
    confirm   suspects are read again from sources that are tables: the first, the second, the first once more

Guarantees: a difference is only reported if the first source said the same before and after the second was read, so a
record that is written meanwhile, by writers that keep both equal, is none. Records are compared by what they say:
properties, and attributes that the schema does not know; not by keys, revisions, or where they are. Expired records are
left out. Nothing is written but the state. A comparison that was stopped, or died, anywhere goes on from its state; one
that has ended begins anew.

State (see `comparison_state`): the digests by source, entity and identity; how far each source was read. Both are
written in one transaction. It has identities in plain text, and digests of values: keep it as safe as the table.

Costs: each source is read once, and suspects up to three times.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ..errors import ConfigurationError, ShardweaveError
from ..reshard.retrying_reads import Asking
from ..schema.entity_type import REVISION, EntityType
from ..schema.old_forms import OldForm
from ..schema.schema import Schema
from ..schema.upgrades import VERSION
from ..store.parts import StoreParts
from ..store.writing.prepare import unknown_attributes
from ..store.writing.write_actions import key_of
from ..table.operations import Describe
from ..table.values import Item, Value
from .comparison_state import keep, kept, opened_state
from .export_folder import check_finished, check_known
from .record_lines import RecordLine, generated_names, item_of_text, item_text, read_line
from .walk import PAGE, Pace, Walk, entity_lanes, saved_places, table_lanes

MAX_EXAMPLES = 50
LINES = 500
UNREADABLE = (ShardweaveError, KeyError, TypeError, ValueError)
"""What reading a damaged record raises."""
CONFIRMED_AT_ONCE = 100
Named = tuple[str, str]
"""An entity's token, and an identity as one text."""
Digests = Mapping[str, str]
"""A digest of each attribute of a record."""
Read = tuple[Named, Digests | None, str]
"""A record; None for one that can't be read; and a key by which the source finds it again, if that needs one."""


@dataclass(frozen=True)
class Difference:
    """A record that differs: in `names`, or it is only in one source (`only` is 1 or 2), or can't be read in one
    (`unreadable` is 1 or 2). A line of an export that can't be read is named by its file and its first byte."""

    entity: str
    identity: Mapping[str, Any]
    names: tuple[str, ...] = ()
    only: int = 0
    unreadable: int = 0


@dataclass(frozen=True)
class CompareReport:
    """The results so far. `read` are the records of each source, `unreadable` those that can't be read."""

    read: tuple[int, int] = (0, 0)
    unreadable: tuple[int, int] = (0, 0)
    equal: int = 0
    differing: int = 0
    only_first: int = 0
    only_second: int = 0
    examples: tuple[Difference, ...] = ()
    done: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.differing or self.only_first or self.only_second or any(self.unreadable))


class Source(Protocol):
    """What is compared. `pages` continues from a place that it returned with a page; None is the begin."""

    @property
    def name(self) -> str:
        """What distinguishes it from another one, so that a state is not continued with another source."""

    def amount(self) -> int:
        """About how many records it has, at most. Raises AccessDenied."""

    def pages(self, place: Any) -> Iterator[tuple[list[Read], Any]]:
        """Records, and the place after them."""

    def again(self, named: Mapping[Named, str]) -> Mapping[Named, Digests] | None:
        """What it says of some records now, each with the key that `pages` gave; None if it does not change."""


# -- digests ----------------------------------------------------------------------------------------------------------


def digests(values: Item) -> Digests:
    """A digest of each attribute."""
    return {
        name: hashlib.blake2b(_plain(value).encode(), digest_size=8).hexdigest()
        for name, value in values.items()
        if name not in (REVISION, VERSION) and value is not None
    }


def _plain(value: Value) -> str:
    """A text that is equal for equal values, and for no others."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, (int, Decimal)):
        return f"N{Decimal(value).normalize():f}"
    if isinstance(value, str):
        return f"S{json.dumps(value)}"
    if isinstance(value, (bytes, bytearray)):
        return f"B{bytes(value).hex()}"
    if isinstance(value, Mapping):
        return "M{" + ",".join(f"{json.dumps(name)}:{_plain(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "L[" + ",".join(map(_plain, value)) + "]"
    return "T[" + ",".join(sorted(map(_plain, value))) + "]"


def _named(entity: EntityType[Any], values: Item) -> Named:
    return entity.token, item_text(entity.identity_from(values))


# -- sources ----------------------------------------------------------------------------------------------------------


class TableRecords:
    """The records of a table, by the schema's own keys. `rate` is how many are read in a second; 0 is any."""

    def __init__(
        self,
        parts: StoreParts,
        entities: Sequence[EntityType[Any]],
        name: str,
        *,
        page: int = PAGE,
        rate: float = 0,
    ) -> None:
        self.name = " ".join([f"table {name}:", *(each.token for each in entities)])
        self._parts, self._entities = parts, entities
        self._page, self._rate = page, rate
        self._pace = Pace(rate, parts.waiting)
        self._asking = Asking(parts.table, parts.waiting)
        self._generated = generated_names(parts.schema)

    def amount(self) -> int:
        """As the table's description says."""
        return self._parts.table.run(Describe()).items

    def pages(self, place: Any) -> Iterator[tuple[list[Read], Any]]:
        """One round of pages after the other, entity by entity."""
        number, after = place or (0, None)
        pace = Pace(self._rate, self._parts.waiting)
        for position, entity in enumerate(self._entities[number:], number):
            lanes = entity_lanes(entity, self._parts.moment_of(entity))
            walk = Walk(
                self._asking,
                entity,
                lanes,
                lambda items: items,
                places=saved_places(_places(after), lanes),
                page=self._page,
                rate=self._rate,
            )
            after = None
            for results in walk.rounds():
                found = [each for items in results for item in items for each in self._one(entity, item)]
                yield found, (position, [_typed(each.encode()) for each in walk.places])
                pace.did(walk.read)
            yield [], (position + 1, None)

    def again(self, named: Mapping[Named, str]) -> Mapping[Named, Digests] | None:
        """The records as they are now."""
        asked = [(self._parts.schema.entities[token], item_of_text(text)) for token, text in named]
        found = self._parts.reader.find_now(asked)
        self._pace.did(len(asked))
        return {
            each: self._digests(entity, seen.found.item)
            for each, (entity, _), seen in zip(named, asked, found, strict=True)
            if seen.found is not None
        }

    def _one(self, entity: EntityType[Any], item: Item) -> Iterator[Read]:
        moment, hash_key = self._parts.moment_of(entity), str(item[entity.keys.design.hash_name])
        chars = {each.space.chars for each in moment.shard_map.generations}
        if self._parts.schema.entity_of_key(hash_key) is not entity or entity.is_expired(item, moment.seconds):
            return
        if len(entity.keys.suffix_of_key(hash_key)) in chars:
            try:
                yield _named(entity, item), self._digests(entity, item), ""
            except UNREADABLE:
                yield (entity.token, item_text(key_of(entity, item))), None, ""

    def _digests(self, entity: EntityType[Any], item: Item) -> Digests:
        return digests({**entity.visible(item), **unknown_attributes(entity, item, self._generated)})


class ExportedRecords:
    """The records of an export's folder."""

    def __init__(self, schema: Schema, entities: Sequence[EntityType[Any]], folder: Path, now_ms: int) -> None:
        if not (folder.is_dir() and any(folder.glob("*.jsonl"))):
            raise ConfigurationError(f"{folder} is no folder with an export", where="--with-export", fix="give one")
        self._lines: int = sum(each["lines"] for each in check_finished(folder).values())
        check_known(folder, schema, "--with-export", in_part=True)
        self.name = " ".join([f"export {folder}:", *(each.token for each in entities)])
        self._schema, self._folder, self._now_ms = schema, folder, now_ms
        self._tokens = {each.token for each in entities}
        self._generated = generated_names(schema)

    def amount(self) -> int:
        """As the export's state says."""
        return self._lines

    def pages(self, place: Any) -> Iterator[tuple[list[Read], Any]]:
        """Some lines after the other, file by file."""
        number, offset = place or (0, 0)
        for position, path in enumerate(sorted(self._folder.glob("*.jsonl"))):
            if position < number:
                continue
            with path.open("rb") as file:
                file.seek(offset if position == number else 0)
                while lines := list(itertools.islice(_placed_lines(file), LINES)):
                    found = [each for at, line in lines for each in self._one(path, at, line)]
                    yield found, (position, file.tell())
            yield [], (position + 1, 0)

    def again(self, named: Mapping[Named, str]) -> Mapping[Named, Digests] | None:
        """None: it does not change."""
        return None

    def _one(self, path: Path, at: int, text: bytes) -> Iterator[Read]:
        try:
            line = read_line(self._schema, self._generated, text)
            if not isinstance(line, RecordLine) or line.entity.token not in self._tokens:
                return
            if not line.entity.is_expired(line.item, self._now_ms // 1000):
                yield _named(line.entity, line.item), digests({**line.item, **line.extra}), ""
        except UNREADABLE:
            yield ("", item_text({"file": path.name, "position": at})), None, ""


class OldItems:
    """The old items of entities that are brought in, as the records that they are. `rate` is how many items are read
    in a second; 0 is any."""

    def __init__(self, parts: StoreParts, forms: Sequence[OldForm], *, page: int = PAGE, rate: float = 0) -> None:
        self.name = "old items " + " ".join(form.fingerprint for form in forms)
        self._parts, self._forms = parts, forms
        self._page, self._rate = page, rate
        self._pace = Pace(rate, parts.waiting)
        self._asking = Asking(parts.table, parts.waiting)

    def amount(self) -> int:
        """As the table's description says."""
        return self._parts.table.run(Describe()).items

    def pages(self, place: Any) -> Iterator[tuple[list[Read], Any]]:
        """One round of pages of the whole table after the other."""
        entity, lanes, pace = self._forms[0].entity, table_lanes(), Pace(self._rate, self._parts.waiting)
        walk = Walk(
            self._asking,
            entity,
            lanes,
            lambda items: items,
            places=saved_places(_places(place), lanes),
            page=self._page,
            rate=self._rate,
        )
        for results in walk.rounds():
            found = [each for items in results for item in items for each in self._one(item)]
            yield found, [_typed(each.encode()) for each in walk.places]
            pace.did(walk.read)

    def again(self, named: Mapping[Named, str]) -> Mapping[Named, Digests] | None:
        """The old items as they are now."""
        forms = {form.entity.token: form for form in self._forms}
        keys: dict[Named, Item] = {each: item_of_text(key) for each, key in named.items() if key}
        others = [each for each in named if each not in keys]
        records = self._parts.reader.find_now([(forms[token].entity, item_of_text(text)) for token, text in others])
        for each, seen in zip(others, records, strict=True):
            if seen.found is not None:
                keys[each] = forms[each[0]].key(forms[each[0]].image(seen.found.item))
        found = self._parts.reader.items(list(keys.values()))
        self._pace.did(len(named))
        items = {each: item for each, item in zip(keys, found, strict=True) if item is not None}
        return {each: digests(forms[each[0]].read(item)) for each, item in items.items()}

    def _one(self, item: Item) -> Iterator[Read]:
        form = next((each for each in self._forms if each.is_own(item)), None)
        if form is None:
            return
        try:
            values = form.read(item)
            if not form.entity.is_expired(values, self._parts.moment_of(form.entity).seconds):
                yield _named(form.entity, values), digests(values), item_text(form.key(item))
        except UNREADABLE:
            yield (form.entity.token, item_text(form.key(item))), None, ""


def _placed_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines from here on that are not empty, each with its first byte."""
    while True:
        at = file.tell()
        line = file.readline()
        if not line:
            return
        if line.strip():
            yield at, line


def _typed(place: list[Any]) -> list[Any]:
    """A place as plain JSON."""
    source, after = place
    return [source, None if after is None else item_text(after)]


def _places(kept: Any) -> Any:
    """The inverse, of several."""
    return None if kept is None else [[source, None if key is None else item_of_text(key)] for source, key in kept]


# -- comparing --------------------------------------------------------------------------------------------------------


@dataclass
class Comparison:
    """One comparison, with its state in a file. Not for several threads."""

    first: Source
    second: Source
    state: Path
    report: CompareReport = field(default_factory=CompareReport)

    def run(
        self,
        follow: Callable[[CompareReport], object] = lambda report: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> CompareReport:
        """Go on to the end, or until `stop` says so. Raises ConfigurationError for a state of another comparison."""
        with opened_state(self.state, [self.first.name, self.second.name]) as database:
            for side, source in ((1, self.first), (2, self.second)):
                if not self._read(database, side, source, follow, stop):
                    return self.report
            self._confirm(database)
            with database:
                keep(database, "done", True)
            self.report = replace(self.report, done=True)
        return self.report

    def _read(self, database: sqlite3.Connection, side: int, source: Source, follow: Any, stop: Any) -> bool:
        place = kept(database, f"place {side}")
        if place != "end":
            for found, after in source.pages(place):
                with database:
                    database.executemany(
                        "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)",
                        [(side, *named, "" if each is None else json.dumps(each), key) for named, each, key in found],
                    )
                    keep(database, f"place {side}", after)
                self._count(database)
                follow(self.report)
                if stop():
                    return False
            with database:
                keep(database, f"place {side}", "end")
        self._count(database)
        return True

    def _count(self, database: sqlite3.Connection) -> None:
        told = "SELECT side, COUNT(*), SUM(digests = '') FROM records GROUP BY side"
        counts = {side: (count, bad) for side, count, bad in database.execute(told)}
        read = (counts.get(1, (0, 0))[0], counts.get(2, (0, 0))[0])
        self.report = CompareReport(read, (counts.get(1, (0, 0))[1], counts.get(2, (0, 0))[1]))

    def _confirm(self, database: sqlite3.Connection) -> None:
        unreadable = tuple(
            Difference(token, _plain_identity(text), unreadable=side)
            for side, token, text in database.execute(_UNREADABLE, (MAX_EXAMPLES,))
        )
        report = replace(self.report, equal=database.execute(_EQUAL).fetchone()[0], examples=unreadable)
        suspects = database.execute(_SUSPECTS)
        while rows := suspects.fetchmany(CONFIRMED_AT_ONCE):
            chunk = {(token, text): (_loaded(one), _loaded(other)) for token, text, one, other, _, _ in rows}
            keys = {(token, text): (key or "", other or "") for token, text, _, _, key, other in rows}
            for (token, text), (one, other) in self._again(chunk, keys).items():
                report = _with(report, token, text, one, other)
        self.report = report

    def _again(
        self, chunk: Mapping[Named, tuple[Digests | None, Digests | None]], keys: Mapping[Named, tuple[str, str]]
    ) -> Mapping[Named, tuple[Digests | None, Digests | None]]:
        """What both sources say of suspects: read again as long as the first one says something else each time."""
        settled: dict[Named, tuple[Digests | None, Digests | None]] = {}
        left = dict(chunk)
        while left:
            ones, twos = {each: keys[each][0] for each in left}, {each: keys[each][1] for each in left}
            before, others, after = self.first.again(ones), self.second.again(twos), self.first.again(ones)
            for each in ones:
                one, other = left[each]
                if others is not None:
                    other = others.get(each)
                if before is None or after is None:
                    settled[each] = (one, other)
                    continue
                one = after.get(each)
                left[each] = (one, other)
                if before.get(each) == one:
                    settled[each] = (one, other)
            left = {each: pair for each, pair in left.items() if each not in settled}
        return settled


def _with(report: CompareReport, token: str, text: str, one: Digests | None, other: Digests | None) -> CompareReport:
    if one is None and other is None:
        return report
    identity = _plain_identity(text)
    if one == other:
        return replace(report, equal=report.equal + 1)
    if one is None or other is None:
        only = 1 if other is None else 2
        count = {"only_first": report.only_first + 1} if only == 1 else {"only_second": report.only_second + 1}
        difference = Difference(token, identity, only=only)
    else:
        names = tuple(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))
        count, difference = {"differing": report.differing + 1}, Difference(token, identity, names)
    return replace(report, examples=(*report.examples, difference)[:MAX_EXAMPLES], **count)  # type: ignore[arg-type]


def _plain_identity(text: str) -> dict[str, str]:
    return {name: str(value) for name, value in item_of_text(text).items()}


# -- what the state is asked ------------------------------------------------------------------------------------------

_READABLE = "(SELECT entity, identity, digests, key FROM records WHERE side = {} AND digests <> '')"
_BESIDE = "one.entity = two.entity AND one.identity = two.identity"
_FIRST = f"{_READABLE.format(1)} one LEFT JOIN {_READABLE.format(2)} two ON {_BESIDE}"
_SECOND = f"{_READABLE.format(2)} two LEFT JOIN {_READABLE.format(1)} one ON {_BESIDE}"
_SUSPECTS = (
    "SELECT one.entity, one.identity, one.digests, two.digests, one.key, two.key FROM "  # noqa: S608 - of constants
    + _FIRST
    + " WHERE one.digests IS NOT two.digests"
    " UNION ALL SELECT two.entity, two.identity, NULL, two.digests, NULL, two.key FROM "
    + _SECOND
    + " WHERE one.entity IS NULL ORDER BY 1, 2"
)
_UNREADABLE = "SELECT side, entity, identity FROM records WHERE digests = '' ORDER BY 1, 2, 3 LIMIT ?"
_EQUAL = "SELECT COUNT(*) FROM " + _FIRST + " WHERE one.digests IS two.digests"  # noqa: S608 - of constants


def _loaded(text: str | None) -> Digests | None:
    return None if text is None else dict(json.loads(text))
