"""One call and its attempts, as a state machine without I/O: it gets received bytes and the time, and returns the next
step.

Its driver establishes a connection before an attempt begins, sends the bytes of `begin`, passes in the received bytes,
and carries out each step: read on, pause and begin again, or end with the answer or the error. After each attempt
`keeps_connection` says whether the connection can be reused, which is possible only after a complete reply to a
completely sent request.

Guarantees: every attempt has its own signature, and its guard is called once after signing and before anything is sent;
the bytes of the body are the same in all attempts; an answer is returned only if it is complete, readable, and belongs
to this request; an error says correctly whether a write may have been carried out. No lower layer sends a request
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from ....errors import ShardweaveError, TableUnavailable
from ..attempts import Attempts
from ..error_replies import error_of, parsed_error
from ..trust import is_refusal, is_whole, readable
from .reply_parser import Malformed, ReplyParser, WireReply
from .retries import Failed, Kind, Retries, kind_of
from .signing import Signer

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A call: the client's method, the operation's name, the request's JSON, and the parser of the answer, which raises
    TableUnavailable for an invalid one."""

    method: str
    operation: str
    body: bytes
    read: Callable[[Mapping[str, Any]], R]
    attempts: Attempts
    table: str = ""


class Step(Enum):
    """The next step of the driver."""

    READ = "read what arrives"
    PAUSE = "begin again after `pause` seconds"
    DONE = "take `answer` or `error`"


class Exchange(Generic[R]):
    """One call. `needs_checksum`: an answer without a checksum is refused."""

    def __init__(self, call: Call[R], signer: Signer, retries: Retries, *, needs_checksum: bool) -> None:
        self.call = call
        self.number = 0
        self.answer: R | None = None
        self.error: ShardweaveError | None = None
        self.pause = 0.0
        self.keeps_connection = False
        self.reply: WireReply | None = None
        self._signer = signer
        self._retries = retries
        self._needs_checksum = needs_checksum
        self._parser = ReplyParser()
        self._unsent = 0
        self._in_doubt = False

    # -- an attempt

    def begin(self, now: float) -> bytes:
        """The bytes of the next attempt, signed at `now` (epoch seconds). Raises the guard's exception."""
        self.keeps_connection, self.reply, self._in_doubt = False, None, False
        request = self._signer.head(self.call.operation, self.call.body, now) + self.call.body
        self.call.attempts.begin()
        self.number += 1
        self._parser = ReplyParser()
        self._unsent = len(request)
        return request

    def sent(self, count: int) -> None:
        """Note that bytes were sent."""
        self._unsent -= count

    def half_sent(self) -> None:
        """Note that an unknown number of bytes was sent."""
        self._in_doubt = True

    @property
    def succeeded(self) -> bool:
        """Whether the finished exchange has an answer."""
        return self.error is None

    def space(self) -> memoryview | None:
        """The buffer for the next bytes, see `ReplyParser`."""
        return self._parser.space()

    def filled(self, count: int) -> Step:
        """Process bytes that were received into `space`."""
        try:
            reply = self._parser.filled(count)
        except Malformed as malformed:
            return self.lost(str(malformed))
        return Step.READ if reply is None else self._judged(reply)

    def receive(self, data: bytes) -> Step:
        """Process received bytes."""
        try:
            reply = self._parser.receive(data)
        except Malformed as malformed:
            return self.lost(str(malformed))
        return Step.READ if reply is None else self._judged(reply)

    def ended(self) -> Step:
        """Process the proper end of the connection."""
        try:
            reply = self._parser.ended()
        except Malformed as malformed:
            return self.lost(str(malformed))
        return Step.READ if reply is None else self._judged(reply)

    def lost(self, reason: str) -> Step:
        """Note that no usable reply to the attempt will come."""
        self.given_up()
        return self._failed(self._unusable(reason), Kind.TRANSIENT)

    def given_up(self) -> None:
        """Note that nobody waits for a reply to the attempt any more."""
        if self._unsent and not self._in_doubt:
            # A request that was not sent completely can't have been carried out.
            self.call.attempts.undone()

    def unconnected(self, reason: str) -> Step:
        """Note that the attempt could not begin, since there was no connection."""
        self.keeps_connection, self.reply = False, None
        self.number += 1
        return self._failed(self._unusable(reason), Kind.TRANSIENT)

    # -- what a reply means

    def _judged(self, reply: WireReply) -> Step:
        self.reply = reply
        self.keeps_connection = reply.keeps_open and not self._unsent
        response = {"status_code": reply.status, "headers": reply.headers, "body": reply.body}
        if reply.status >= 300:
            return self._refused(reply, response) if is_whole(response) else self._broken()
        if self._unsent:
            return self.lost("an answer before the request was sent")
        body = readable(response)
        if body is None or (self._needs_checksum and "x-amz-crc32" not in reply.headers):
            return self._broken()
        return self._answered({name: value for name, value in body.items() if value is not None})

    def _answered(self, body: Mapping[str, Any]) -> Step:
        try:
            self.answer = self.call.read(body)
        except TableUnavailable as error:
            self.keeps_connection = False
            return self._failed(error, None if self.call.attempts.writes else Kind.TRANSIENT)
        self.error = None
        self._retries.succeeded()
        return Step.DONE

    def _refused(self, reply: WireReply, response: Mapping[str, Any]) -> Step:
        parsed = parsed_error(reply.status, readable(response))
        if is_refusal(response, parsed):
            self.call.attempts.undone()
        kind = kind_of(self.call.method, parsed["Error"]["Code"], reply.status)
        asked_for = reply.headers.get("x-amz-retry-after", "")
        seconds = int(asked_for) / 1000 if asked_for.isascii() and asked_for.isdigit() and len(asked_for) < 10 else None
        return self._failed(error_of(parsed, self.call.method, self.call.table), kind, seconds)

    def _broken(self) -> Step:
        self.keeps_connection = False
        error = TableUnavailable("DynamoDB's answer can't be read", where=self.call.method, fix="retry")
        return self._failed(error, Kind.TRANSIENT)

    def _unusable(self, reason: str) -> TableUnavailable:
        self.keeps_connection = False
        return TableUnavailable(f"DynamoDB gave no usable answer ({reason})", where=self.call.method, fix="retry")

    def _failed(self, error: ShardweaveError, kind: Kind | None, asked_for: float | None = None) -> Step:
        attempts = self.call.attempts
        self.error = error
        error.maybe_written = attempts.maybe_written
        if attempts.maybe_written and not attempts.repeatable:
            return Step.DONE
        pause = self._retries.repeat(Failed(error, kind, self.number, asked_for))
        if pause is None:
            return Step.DONE
        self.pause = pause
        return Step.PAUSE
