"""Export: writing the records of a table into a folder, one file of lines (see `record_lines`) for each entity.

Format of the folder:
    user.jsonl        lines of records, in no order; of an entity with sequences, their counters too. First in a file is
                      what read models of records remember, if all that they write is exported too: an import has it
                      before the records, and counts none of them again
    export.json       {"format": 1, "entities": {token: {"map", "lanes", "bytes", "lines", "done"}}}, from the beginning
                      of every entity that is to be exported
    export.lock       while a process writes in the folder

Guarantees: every record that is there from beginning to end and does not change is written once; one that changes
meanwhile, as it was at some moment; one that is removed or created meanwhile, or not. Expired ones are left out. An
export that was stopped, or died, goes on: `export.json` is replaced whole after the lines that it tells of have reached
the disk, and what stands in a file beyond is cut off. Where the shard map changes, or lines are missing, an entity
begins anew.

Files and folders that it makes are readable by their owner alone, as a data folder's are: private properties are in
them.

Costs: a consistent read of each record, and for each sequence and each read model that it feeds of 256 hash keys.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ConfigurationError
from ..errors.exit_codes import Unavailable
from ..reshard.retrying_reads import Asking
from ..schema.entity_type import EntityType
from ..store.attempts import AttemptContext
from ..store.events.counts import KIND, PARTS
from ..store.events.record_feed import fed_by
from ..store.lookups.lookup_records import LOOKUP_SPACE
from ..store.parts import StoreParts
from ..table.operations import Query
from ..table.values import Item
from .export_folder import BESIDE, FORMAT, STATE, is_short, read_state, used_by_this_process
from .file_lock import for_owner
from .record_lines import generated_names, item_line, record_line
from .walk import PAGE, Pace, Walk, check_readable, entity_lanes, records_among, saved_places

SAVED_SECONDS = 2.0


@dataclass(frozen=True)
class ExportReport:
    """How many lines were written of each entity, by earlier runs too."""

    lines: Mapping[str, int]
    done: bool = False


class Export:
    """One export of some entities into one folder. `rate` is how many records are read in a second; 0 is any."""

    def __init__(
        self,
        parts: StoreParts,
        entities: Sequence[EntityType[Any]],
        folder: Path,
        *,
        rate: float = 0,
        page: int = PAGE,
    ) -> None:
        self._parts = parts
        self._entities = entities
        self._folder = folder
        self._rate = rate
        self._page = page
        self._asking = Asking(parts.table, parts.waiting)
        self._generated = generated_names(parts.schema)
        self._state: dict[str, Any] = {"format": FORMAT, "entities": {}}

    def run(
        self,
        follow: Callable[[ExportReport], object] = lambda report: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> ExportReport:
        """Go on from where an earlier run came to, to the end, or until `stop` says so; `follow` is told of each round.
        Raises ConfigurationError where the folder holds something else, or a finished export of all of the entities:
        what has changed since would be missing; ReshardRefused where records that are left to be exported can't be read
        now; Unavailable where another process exports into it, or it can't be written any more."""
        check_readable(self._parts, self._left())
        with used_by_this_process(self._folder), self._written():
            self._open()
            self._check_unfinished()
            for entity in self._entities:
                while not self._own(entity).get("done"):
                    if not self._exported(entity, follow, stop):
                        return self._report()
            return self._report(done=True)

    # -- parts

    @contextmanager
    def _written(self) -> Iterator[None]:
        """A context in which what goes wrong with a file is said of the folder."""
        try:
            yield
        except BrokenPipeError:
            raise  # Whoever follows has gone.
        except OSError as error:
            message = f"{self._folder} can't be written: {error.strerror}"
            fix = "make room or correct it, and start the export again: it continues"
            raise Unavailable(message, where="DIR", fix=fix) from None

    def _left(self) -> list[EntityType[Any]]:
        """The entities that are not exported yet."""
        state = read_state(self._folder) or self._state
        return [each for each in self._entities if not state["entities"].get(each.token, {}).get("done")]

    def _open(self) -> None:
        state = read_state(self._folder)
        if state is not None:
            self._state = state
        known = set(self._state["entities"])
        for entity in self._entities:
            self._own(entity)
        if state is None or known != self._state["entities"].keys():
            # Before any other file: one that dies at any time is known to be an export that is not finished.
            self._save_state()
        for token, own in self._state["entities"].items():
            if is_short(self._folder, token, own):
                own |= {"bytes": 0, "lines": 0, "map": None, "done": False}

    def _check_unfinished(self) -> None:
        if not all(self._own(entity).get("done") for entity in self._entities):
            return
        left = [token for token, own in self._state["entities"].items() if not own.get("done")]
        if left:
            given = ", ".join(entity.token for entity in self._entities)
            message = f"the export in {self._folder} has {given} already, but not {', '.join(left)}"
            raise ConfigurationError(message, where="DIR", fix="continue it without --entity")
        fix = "give another folder, or remove this one"
        raise ConfigurationError(f"{self._folder} holds a finished export", where="DIR", fix=fix)

    def _own(self, entity: EntityType[Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._state["entities"].setdefault(entity.token, {"bytes": 0, "lines": 0})
        return found

    def _report(self, *, done: bool = False) -> ExportReport:
        return ExportReport({token: each["lines"] for token, each in self._state["entities"].items()}, done)

    def _exported(self, entity: EntityType[Any], follow: Any, stop: Any) -> bool:
        """Export one entity on. False where it was stopped."""
        own, moment = self._own(entity), self._parts.moment_of(entity)
        lanes = entity_lanes(entity, moment)
        places = saved_places(own.get("lanes"), lanes) if own.get("map") == _map(moment) else None
        if places is None:
            own |= {"bytes": 0, "lines": 0, "map": _map(moment)}
        sizes: dict[str, Any] = {"page": self._page, "rate": self._rate}
        walk = Walk(self._asking, entity, lanes, self._lines(entity), places=places, **sizes)
        pace, waiting = Pace(self._rate, self._parts.waiting), self._parts.waiting
        kept_at = waiting.monotonic()
        with self._file(entity, own["bytes"]) as file:
            for line in self._remembered(entity) if places is None else ():
                file.write(line)
                own["lines"] += 1
            for results in walk.rounds():
                if _map(self._parts.moment_of(entity)) != own["map"]:
                    own["map"] = None
                    return True
                written = [line for lines in results for line in lines]
                file.writelines(written)
                own["lines"] += len(written)
                stopping = stop()
                if stopping or waiting.monotonic() - kept_at >= SAVED_SECONDS:
                    self._save(own, walk, file)
                    kept_at = waiting.monotonic()
                follow(self._report())
                if stopping:
                    return False
                pace.did(walk.read)
            counters = list(self._counters(entity))
            file.writelines(counters)
            own["lines"] += len(counters)
            own["done"] = True
            self._save(own, walk, file)
        return True

    def _lines(self, entity: EntityType[Any]) -> Callable[[Sequence[Item]], list[bytes]]:
        def lines(items: Sequence[Item]) -> list[bytes]:
            own = records_among(self._parts.schema, entity, items, self._parts.moment_of(entity))
            return [record_line(entity, item, self._generated) for item in own]

        return lines

    def _counters(self, entity: EntityType[Any]) -> Iterator[bytes]:
        for sequence in entity.sequences:
            yield from map(item_line, self._beside(entity, f"{sequence.property_name}+"))

    def _remembered(self, entity: EntityType[Any]) -> Iterator[bytes]:
        """What the read models remember of the entity's records, where there is something that they add to."""
        exported = {each.token for each in self._entities}
        for read_model in fed_by(self._parts.schema, entity):
            if {self._parts.schema[each].token for each in read_model.writes} <= exported:
                found = self._beside(entity, KIND + read_model.name)
                yield from (item_line(item) for item in found if item.get(PARTS))

    def _beside(self, entity: EntityType[Any], name: str) -> Iterator[Item]:
        """The items of the library that belong to an entity, by their name."""
        design = entity.keys.design
        for suffix in LOOKUP_SPACE.suffixes():
            head = f"{entity.token}.{name}{design.key_format.shard_delimiter}{suffix}"
            yield from self._asking.all(Query(design.hash_name, head, design.range_name, consistent=True))

    def _file(self, entity: EntityType[Any], size: int) -> BinaryIO:
        """The entity's file, cut to what is known to be right."""
        path = self._folder / f"{entity.token}.jsonl"
        file = os.fdopen(for_owner(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")
        file.truncate(size)
        file.seek(size)
        return file

    def _save(self, own: dict[str, Any], walk: Walk[Any], file: BinaryIO) -> None:
        file.flush()
        os.fsync(file.fileno())
        own |= {"bytes": file.tell(), "lanes": [place.encode() for place in walk.places]}
        self._save_state()

    def _save_state(self) -> None:
        beside = self._folder / BESIDE
        with open(beside, "w", encoding="utf-8", opener=for_owner) as state:
            json.dump(self._state, state)
            state.flush()
            os.fsync(state.fileno())
        beside.replace(self._folder / STATE)


def _map(moment: AttemptContext) -> list[int]:
    return [moment.shard_map.id, moment.shard_map.version]
