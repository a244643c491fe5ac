"""The stream poller: passes every change of a table to a consumer, like Lambda's event source mapping for a deployed
table.

Guarantees: changes arrive in order, in batches, at least once. The position is kept in a file and advances only after
the consumer has returned. If the consumer raises an exception, the same batch is passed again after a pause, and no
later one before it. If the stream no longer has the position, or, since the table is an older copy, does not have it
yet, reading restarts at the oldest change; the second case is reported once.

Costs: a read of the change log every `pause` seconds while there are no changes.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import ConfigurationError, StreamPositionUnknown, StreamTrimmed
from ..table import Table
from ..table.stream_operations import StreamPage, StreamRead, StreamRecord, StreamShards

Consumer = Callable[[tuple[StreamRecord, ...]], None]

START = "TRIM_HORIZON"
PAUSE_SECONDS = 0.2


class Poller:
    """Polls one table for one consumer. `failed` is called with the consumer's exceptions. Raises ConfigurationError
    for a damaged position file."""

    def __init__(
        self,
        table: Table,
        consumer: Consumer,
        position_file: Path,
        *,
        failed: Callable[[Exception], None],
        pause: float = PAUSE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._caught_up = monotonic()
        self._table = table
        self._consumer = consumer
        self._file = position_file
        self._failed = failed
        self._pause = pause
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poller")
        self._positions = _kept_positions(position_file)

    def start(self) -> None:
        """Start polling in a thread."""
        self._thread.start()

    @property
    def lag(self) -> float:
        """The longest time, in seconds, that a change may have waited: the time since the stream was last read to its
        end."""
        return self._monotonic() - self._caught_up

    def stop_soon(self) -> None:
        """Start no further batch."""
        self._stopping.set()

    def stop(self) -> None:
        """Wait until the consumer has finished the current batch, then stop."""
        self.stop_soon()
        self._thread.join()

    def poll(self) -> bool:
        """Pass one batch of each shard to the consumer, and return whether there was any. Raises the consumer's
        exceptions."""
        found = False
        for shard in self._table.run(StreamShards()):
            page = self._read(shard.id)
            if page.records:
                self._consumer(page.records)
                found = True
            if self._positions.get(shard.id) != page.position:
                self._keep({**self._positions, shard.id: page.position})
        if not found:
            self._caught_up = self._monotonic()
        return found

    def _read(self, shard: str) -> StreamPage:
        try:
            return self._table.run(StreamRead(shard, self._positions.get(shard, START)))
        except StreamTrimmed:
            return self._table.run(StreamRead(shard, START))
        except StreamPositionUnknown:
            page = self._table.run(StreamRead(shard, START))
            # This is reported once: the next position is one that the table has.
            self._failed(_older_than(self._file))
            return page

    def _keep(self, positions: dict[str, str]) -> None:
        beside = self._file.with_name(f"{self._file.name}.new")
        beside.write_text(json.dumps(positions))
        beside.replace(self._file)
        self._positions = positions

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                found = self.poll()
            except Exception as error:  # noqa: BLE001 - a consumer may raise anything, and its batch comes again
                self._failed(error)
                found = False
            if not found:
                self._stopping.wait(self._pause)


def _older_than(position_file: Path) -> StreamPositionUnknown:
    message = (
        "the table is older than the place to which its changes were read, as one is that was restored or copied; they "
        "are read again from the oldest that it keeps"
    )
    fix = "see with `shardweave reshard status --entity NAME` whether a re-shard was under way"
    return StreamPositionUnknown(message, where=str(position_file), fix=fix)


def _kept_positions(file: Path) -> dict[str, str]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(position, str) for position in found.values()):
        fix = "remove it: every change that the stream keeps comes again"
        raise ConfigurationError(f"{file} is damaged, or can't be read", where="--data", fix=fix)
    return found
