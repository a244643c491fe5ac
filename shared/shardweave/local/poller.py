"""The stream poller: gives every change of a table to a consumer, as Lambda's stream mapping does for a deployed one.

Guarantees: changes come in order, in batches, at least once. The position is kept in a file and moves on only when the
consumer has returned; a batch whose consumer raises is given again after a pause, and nothing after it before. A
position that the stream no longer keeps, or has not come to, since the table is an older one, begins anew with the
oldest change that it does keep; the second is told once.

Costs: a read of the change log every `pause` seconds while nothing happens.
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
    """Polls one table for one consumer. `failed` is told of what a consumer raised. Raises ConfigurationError for a
    position file that is damaged."""

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
        """Begin to poll, in a thread of its own."""
        self._thread.start()

    @property
    def lag(self) -> float:
        """For how many seconds a change may have waited at most: since when there was last none left."""
        return self._monotonic() - self._caught_up

    def stop_soon(self) -> None:
        """Begin no more batch."""
        self._stopping.set()

    def stop(self) -> None:
        """Finish the batch that is being consumed, then stop."""
        self.stop_soon()
        self._thread.join()

    def poll(self) -> bool:
        """Give one batch of each shard to the consumer, and say whether there was any. Raises what it raises."""
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
            # It is said once: the next position is one that the table has come to.
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
