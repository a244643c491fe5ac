"""Idempotency keys over HTTP: a write repeated with its key is carried out once, and gets the first answer again.

The key is 1 to 255 visible ASCII characters in `Idempotency-Key`, kept for a day, and belongs to the caller (see
`authorizer_claims`). Two requests are the same if their operation, path, query, conditions and content are equal; the
content is compared as JSON, so its spaces and the order of its names do not matter. The same key with another request
is a conflict.

The whole answer is stored: status, headers, body. It is written in the same transaction as the request's writes. A
refused request changed nothing; its answer is not stored, and a repetition is processed as a new request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from ..errors import IdempotencyMismatch, MalformedRequest, StillInProgress, TableFull, ValidationFailed
from ..store import IdempotencyKey, Operation, Store
from ..store.idempotency_keys import MAX_KEY_CHARACTERS
from ..store.operations import Written
from ..store.outcomes import SECONDS, Follow
from ..wire.parameter import Parameter
from .http import Response
from .operation import Call

IDEMPOTENCY_KEY = "idempotency-key"

ONCE_ERRORS = (IdempotencyMismatch, StillInProgress, TableFull)
"""The errors of every write: about its key, and about a full disk if the table is a file."""

ONCE = Parameter(
    "Idempotency-Key",
    "What names this request: repeated with it by the same caller within a day, it is carried out once and answered as "
    "the first time.",
)

_KEY = re.compile(rf"[\x21-\x2b\x2d-\x7e]{{1,{MAX_KEY_CHARACTERS}}}")

Answer = Callable[[Sequence[Written]], Response]
"""A pure function from the results of a write to its answer; it may be called more than once."""


def once_of(call: Call) -> IdempotencyKey | None:
    """The identity of a request with an idempotency key, None without a key. Raises MalformedRequest."""
    key = call.headers.get(IDEMPOTENCY_KEY)
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        raise MalformedRequest(
            f"a key is 1 to {MAX_KEY_CHARACTERS} visible ASCII characters without a comma",
            where=IDEMPOTENCY_KEY,
            fix="use a random one, such as a UUID",
        )
    conditions = {name: text for name, text in call.headers.items() if name != IDEMPOTENCY_KEY}
    content = [call.operation, call.path, call.query, conditions, call.document]
    return IdempotencyKey(key, call.caller.scope, json.dumps(content, sort_keys=True, default=str).encode())


def carried_out(
    store: Store, call: Call, operations: Sequence[Operation], answer: Answer, follow: Follow | None = None
) -> Response:
    """The answer of a write, which is one transaction; children of a deleted record are changed before it, within the
    request's time, and `follow` is called for each. Raises the errors of the store; those about a whole record have the
    body as their place."""
    seconds = None if call.time_left_ms is None else min(SECONDS, call.time_left_ms / 1000)

    once, answers = once_of(call), []

    def said(made: Sequence[Written]) -> bytes:
        answers.append(answer(made))
        return b"" if once is None else _encoded(answers[-1])

    try:
        kept = store.execute(operations, once, said, seconds=seconds, follow=follow)
        return answers[-1] if once is None else _decoded(kept)
    except ValidationFailed as failed:
        if failed.where in store.schema.entities:
            failed.where = "body"
        raise


def worked(store: Store, call: Call, work: Callable[[], Response]) -> Response:
    """The answer of work of several transactions. Raises StillInProgress if the same request is being carried out."""
    once = once_of(call)
    if once is None:
        return work()
    return _decoded(store.idempotent_work(once, lambda: _encoded(work())).answer)


def _encoded(response: Response) -> bytes:
    return json.dumps([response.status, dict(response.headers), response.body.decode(), response.places]).encode()


def _decoded(kept: bytes) -> Response:
    status, headers, body, *rest = json.loads(kept)
    return Response(status, body.encode(), headers, places=tuple(*rest))
