"""A stream mapping as Lambda runs it, for one shard, with the settings that the template asks for.

What Lambda documents, and emulators leave out:
    a batch is at most `BatchSize` records, in order; the next one waits until this one is done with
    a function that raises has handled nothing; with `BisectBatchOnFunctionError` a batch of several records is split
    in two, each half tried on its own, which uses up no retry
    `ReportBatchItemFailures`: everything before the lowest reported record is done, the rest comes again; a report of
    something else than a record of the batch counts as raising
    a batch that can't be split, or made no progress, is tried again `MaximumRetryAttempts` times, and records are not
    sent any more at `MaximumRecordAgeInSeconds`; then a description goes to the on-failure destination and the shard
    goes on
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Record = Mapping[str, Any]
Function = Callable[[dict[str, Any]], Mapping[str, Any] | None]


@dataclass
class StreamMapping:
    """One shard's mapping. `deliver` may change a record on its way to the function, as one that is only broken for a
    while; `now` is the time in seconds, and each call of the function takes one."""

    settings: Mapping[str, Any]
    function: Function
    now: float = 0.0
    deliver: Callable[[Record], Record] = lambda record: record
    calls: list[list[str]] = field(default_factory=list)
    destination: list[dict[str, Any]] = field(default_factory=list)

    def run(self, records: Iterable[Record]) -> None:
        """Give all records to the function, to the end."""
        waiting = list(records)
        size = self.settings["BatchSize"]
        batches = deque(waiting[start : start + size] for start in range(0, len(waiting), size))
        while batches:
            batch = self._without_old(batches.popleft())
            if batch:
                batches.extendleft(reversed(self._try(batch)))

    def _try(self, batch: list[Record]) -> list[list[Record]]:
        """Try a batch until it is done with; what is left of it, when it was split or partly done."""
        for _ in range(self.settings["MaximumRetryAttempts"] + 1):
            done = self._call(batch)
            if done == len(batch):
                return []
            if done:
                return [batch[done:]]
            if done is None and len(batch) > 1 and self.settings["BisectBatchOnFunctionError"]:
                half = len(batch) // 2
                return [batch[:half], batch[half:]]
            batch = self._without_old(batch)
            if not batch:
                return []
        self._give_up(batch, "RetryAttemptsExhausted")
        return []

    def _call(self, batch: list[Record]) -> int | None:
        """How many records are done, from the first on; None when the function raised."""
        self.now += 1
        sequences = [sequence_of(record) for record in batch]
        self.calls.append(sequences)
        try:
            answer = self.function({"Records": [dict(self.deliver(record)) for record in batch]})
        except Exception:  # noqa: BLE001 - Lambda does not ask what a function raises
            return None
        if "ReportBatchItemFailures" not in self.settings["FunctionResponseTypes"]:
            return len(batch)
        failed = [each.get("itemIdentifier") for each in (answer or {}).get("batchItemFailures") or ()]
        if not set(failed) <= set(sequences):
            return None
        return min((sequences.index(each) for each in failed), default=len(batch))

    def _without_old(self, batch: list[Record]) -> list[Record]:
        oldest = self.now - self.settings["MaximumRecordAgeInSeconds"]
        young = [each for each in batch if each["dynamodb"]["ApproximateCreationDateTime"] >= oldest]
        old = batch[: len(batch) - len(young)]
        if old:
            self._give_up(old, "RecordAgeExceeded")
        return young

    def _give_up(self, batch: list[Record], condition: str) -> None:
        information = {
            "startSequenceNumber": sequence_of(batch[0]),
            "endSequenceNumber": sequence_of(batch[-1]),
            "batchSize": len(batch),
        }
        self.destination.append({"requestContext": {"condition": condition}, "DDBStreamBatchInfo": information})


def sequence_of(record: Record) -> str:
    """What a record is named by."""
    return str(record["dynamodb"]["SequenceNumber"])
