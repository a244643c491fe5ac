"""Idempotency keys: a repeated request is carried out once, and gets the first answer again.

Format, one record for each key of a scope (and one more for each further 300 KB of its answer):
    hashKey        _idempotency!3f         a shard that the rest decides
    rangeKey       64 hexadecimal digits   SHA-256 of scope and key; behind it +1, +2, ... for further parts
    _request       what the request was, as SHA-256 of the fingerprint
    _answer        the first part of the answer, compressed; absent while work is under way
    _parts         how many parts there are
    _until         when work that is under way counts as abandoned, in epoch milliseconds
    the table's TTL attribute

There are two ways. `idempotent` writes the answer in the same transaction as the request's writes, so a crash can't
separate them; of two concurrent requests one is carried out, and both get its answer. `idempotent_work` is for work of
several transactions: the key is taken, the work is done, and its answer is stored. If a process dies in between,
another process may take the key after a minute, so the work may run more than once and must be repeatable; it does not
run twice at the same time, unless it takes longer than that minute.

A refused request (invalid, a conflict, not found) has changed nothing, and its error is not stored: a repetition is
processed as a new request.

Costs: a read for each request, and one action in its transaction for each part of the answer; a single write becomes a
transaction.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from ..errors import (
    Conflict,
    IdempotencyMismatch,
    InputError,
    LimitExceeded,
    NotFound,
    RecordUnreadable,
    StillInProgress,
    Unreadable,
)
from ..keys.key_format import crc32
from ..schema.entity_type import REVISION
from ..schema.schema import Schema
from ..table.conditions import Compare, Condition, Missing, Or
from ..table.operations import DeleteItem, PutItem
from ..table.retry import CONTENDED, RetryClock
from ..table.values import Item, Value
from .idempotency_keys import MAX_KEY_CHARACTERS, IdempotencyKey, KeptAnswer
from .lookups.backfill_state import Readiness
from .lookups.lookup_records import LOOKUP_SPACE
from .reader import Reader
from .writing.sender import Sender
from .writing.write_actions import ActionRole, WriteAction, has_revision
from .writing.write_steps import WritePlan

LEASE_MS = 60_000
PART_BYTES = 300 * 1024
MAX_PARTS = 10
_HASH = "_idempotency"
_DIGEST_CHARACTERS = 64
_REQUEST, _ANSWER, _PARTS, _UNTIL = "_request", "_answer", "_parts", "_until"

Keeping = Callable[[Sequence[WritePlan]], list[WriteAction]]
"""A function from the planned writes to the actions that store their answer."""

Said = Callable[[Sequence[WritePlan]], bytes]
"""A function from the planned writes to their answer."""


class TakenMeanwhile(Conflict):
    """Another request with the key was carried out first. Used only inside the store."""


@dataclass(frozen=True)
class Idempotency:
    """Idempotency keys; safe for many threads. `clock` gives epoch milliseconds."""

    schema: Schema
    reader: Reader
    sender: Sender
    readiness: Readiness
    waiting: RetryClock
    clock: Callable[[], int]
    new_revision: Callable[[], str]

    def transacted(self, once: IdempotencyKey, answer: Said, write: Callable[[Keeping], object]) -> KeptAnswer:
        """The stored answer, or the answer of `write`, which carries out one transaction including the given actions,
        and raises TakenMeanwhile if these are refused. Raises IdempotencyMismatch, StillInProgress, and what `write`
        raises."""
        made = b""

        def keeping(plans: Sequence[WritePlan]) -> list[WriteAction]:
            nonlocal made
            made = answer(plans)
            return self._actions(once, made, self._free())

        pauses = self.waiting.pauses(CONTENDED)
        while True:
            record = self._read(once)
            if record is not None:
                return KeptAnswer(self._answer(once, record), repeated=True)
            try:
                write(keeping)
            except (Conflict, NotFound) as refusal:
                # The other request may have been carried out before this one read the records.
                taken = isinstance(refusal, TakenMeanwhile)
                if not taken and self._read(once) is None:
                    raise
                if taken and not pauses.pause():
                    raise self._in_progress() from None
            else:
                return KeptAnswer(made, repeated=False)

    def is_taken(self, once: IdempotencyKey) -> bool:
        """Whether a request with the key was carried out. Raises IdempotencyMismatch, StillInProgress."""
        return self._read(once) is not None

    def taking(self, once: IdempotencyKey) -> list[WriteAction]:
        """The actions that take a free key for a request without an answer."""
        return self._actions(once, b"", self._free())

    def worked(self, once: IdempotencyKey, work: Callable[[], bytes]) -> KeptAnswer:
        """The stored answer, or the answer of `work`. Raises IdempotencyMismatch, StillInProgress, and the errors of
        `work`, after which the key is in its previous state."""
        self.readiness.before_writing()
        record = self._read(once, under_way=True)
        if record is not None and _ANSWER in record:
            return KeptAnswer(self._answer(once, record), repeated=True)
        seen: Condition = self._free() if record is None else has_revision(record[REVISION])
        rev = self.new_revision()
        key = self._key(once, 0)
        begun = {**self._head(once, rev), _UNTIL: self.clock() + LEASE_MS}
        if self._send([WriteAction(PutItem(begun, seen, return_on_failure=True), ActionRole.KEPT)], rev):
            raise self._in_progress()
        own = has_revision(rev)
        try:
            answer = work()
        except Exception:
            self._send([WriteAction(DeleteItem(key, own), ActionRole.KEPT)], rev)
            raise
        self._send(self._actions(once, answer, own), "")
        return KeptAnswer(answer, repeated=False)

    # -- records

    def _read(self, once: IdempotencyKey, *, under_way: bool = False) -> Item | None:
        """The key's record, None if it is free. With `under_way` also the record of abandoned work."""
        (record,) = self.reader.items([self._key(once, 0)])
        if record is None:
            return None
        self._check(once, record)
        if record[self._ttl] <= self.clock() // 1000:
            return None
        if record[_REQUEST] != _digest(once.fingerprint):
            raise IdempotencyMismatch(
                "the key was used before, for another request", where="idempotency key", fix="use a new key"
            )
        if _ANSWER not in record and (not under_way or record[_UNTIL] > self.clock()):
            raise self._in_progress()
        return record

    def _answer(self, once: IdempotencyKey, record: Item) -> bytes:
        keys = [self._key(once, part) for part in range(1, int(record[_PARTS]))]
        parts = [record, *self.reader.items(keys)] if keys else [record]
        try:
            return zlib.decompress(b"".join(part[_ANSWER] for part in parts if part is not None))
        except (zlib.error, KeyError, TypeError):
            raise self._damaged(once) from None

    def _check(self, once: IdempotencyKey, record: Item) -> None:
        """Check the form of a key's record, for an answered request or one in progress. Raises RecordUnreadable."""
        needed = {_REQUEST: str, self._ttl: int, REVISION: str}
        needed |= {_ANSWER: bytes, _PARTS: int} if _ANSWER in record else {_UNTIL: int}
        fits = all(type(record.get(name)) is kind for name, kind in needed.items())
        if not fits or len(record[_REQUEST]) != _DIGEST_CHARACTERS or not 1 <= record.get(_PARTS, 1) <= MAX_PARTS:
            raise self._damaged(once)

    def _damaged(self, once: IdempotencyKey) -> RecordUnreadable:
        stored = tuple(self._key(once, 0).values())
        return RecordUnreadable(Unreadable("idempotency key", {}, "answer_damaged", stored_key=stored))

    def _actions(self, once: IdempotencyKey, answer: bytes, condition: Condition) -> list[WriteAction]:
        """The actions that store an answer. Raises LimitExceeded."""
        packed = zlib.compress(answer)
        parts = [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)]
        if len(parts) > MAX_PARTS:
            raise LimitExceeded(
                f"the answer has {len(packed)} bytes, {MAX_PARTS * PART_BYTES} can be kept",
                where="idempotency key",
                fix="write less at once, or without the key",
            )
        head = {**self._head(once, self.new_revision()), _PARTS: len(parts), _ANSWER: parts[0]}
        actions = [WriteAction(PutItem(head, condition, return_on_failure=True), ActionRole.KEPT)]
        expires = {self._ttl: head[self._ttl]}
        for number, part in enumerate(parts[1:], 1):
            actions.append(WriteAction(PutItem({**self._key(once, number), _ANSWER: part, **expires}), ActionRole.KEPT))
        return actions

    def _head(self, once: IdempotencyKey, rev: str) -> dict[str, Value]:
        return {
            **self._key(once, 0),
            _REQUEST: _digest(once.fingerprint),
            self._ttl: self.clock() // 1000 + once.seconds,
            REVISION: rev,
        }

    def _key(self, once: IdempotencyKey, part: int) -> dict[str, Value]:
        if not 1 <= len(once.key) <= MAX_KEY_CHARACTERS:
            raise InputError(
                f"an idempotency key has 1 to {MAX_KEY_CHARACTERS} characters",
                where="idempotency key",
                fix="use a random one, such as a UUID",
            )
        name = _digest(json.dumps([once.scope, once.key]).encode())
        shard = LOOKUP_SPACE.suffix_of(crc32(name))
        hash_key = f"{_HASH}{self.schema.key_format.shard_delimiter}{shard}"
        return {self.schema.hash_key: hash_key, self.schema.range_key: name + (f"+{part}" if part else "")}

    @property
    def _ttl(self) -> str:
        return self.schema.layout.ttl_attribute or ""

    def _free(self) -> Condition:
        return Or((Missing(self.schema.hash_key), Compare(self._ttl, "<=", self.clock() // 1000)))

    def _send(self, actions: list[WriteAction], rev: str) -> bool:
        """Send the actions; whether another request has taken the key."""
        refusal = self.sender.send([each.action for each in actions])
        return refusal is not None and (refusal.reasons[0].item or {}).get(REVISION) != rev

    @staticmethod
    def _in_progress() -> StillInProgress:
        return StillInProgress(
            "a request with the key is under way", where="idempotency key", fix="repeat it in a while"
        )


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
