"""The audit trail: who wrote which records, and the requests of operators.

Format, one JSON object for each request that writes and each of an operator, whether it was carried out or refused:

    who        the principal: a token's issuer and subject, the ARN of who signed, or `anonymous`
    operation  its name in the OpenAPI document
    route      the path's template
    entity     the collection, or what else the operation is of
    keys       of each record that was named, the first 16 hex digits of SHA-256 of `collection/key`
    status     how it was answered; `problem` the code of the error, where there was one
    requestId  as in the answer, the access log and the function's log

One more for each record that was written beside: children that went, or were let go, with their parent. Its `entity`
and `keys` are the child's, and `effect` is `deleted`, `detached`, or `unknown` where the table did not say. They are
there too where the deletion was cut before its end. A document of GraphQL that writes has one of these for each of its
mutations; its `effect` is the mutation's kind, such as `update`, or `refused`.

So writes of one record can be found by whoever knows its key, and nobody learns a key or a value from the trail. A
write that was repeated with its idempotency key is there as often as it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from ..wire.key_paths import key_of_part
from ..wire.unreadable import key_hash
from .http import Response
from .operation import Beside, Call, Operation

ROOT = "/v1/"


@dataclass(frozen=True)
class AuditEntry:
    """The entry of one request, without its answer."""

    who: str
    operation: str
    route: str
    entity: str
    keys: tuple[str, ...]
    effect: str = ""

    def document(self, status: int, problem: str, request_id: str) -> dict[str, Any]:
        """The entry as a JSON object."""
        told = {"who": self.who, "operation": self.operation, "route": self.route, "entity": self.entity}
        ended = {"status": status, **({"problem": problem} if problem else {}), "requestId": request_id}
        effect = {"effect": self.effect} if self.effect else {}
        return {**told, "keys": list(self.keys), **effect, **ended}

    def of_beside(self, beside: Beside) -> AuditEntry:
        """The entry of a record that the same request wrote beside."""
        return replace(self, entity=beside.collection, keys=(key_hash(_name(beside.place)),), effect=beside.effect)


def audit_entry(operation: Operation, call: Call, response: Response | None) -> AuditEntry | None:
    """The entry of a request of an audited operation, None if it has none. `response` is None for a refused request."""
    if response is not None and response.quiet:
        return None
    names = _names(operation, call, response)
    keys = tuple(map(key_hash, names))
    return AuditEntry(call.caller.principal, operation.name, operation.path, operation.tag, keys)


def _names(operation: Operation, call: Call, response: Response | None) -> Iterable[str]:
    if call.path:
        begin = operation.path.partition("{")[0].removeprefix(ROOT)
        return [begin + "/".join(call.path.values())]
    if response is None:
        return []
    places = response.places or (response.headers.get("location", ""),)
    return [_name(place) for place in places if place]


def _name(place: str) -> str:
    """The name of the record with a path."""
    return "/".join(map(key_of_part, map(unquote, place.removeprefix(ROOT).split("/"))))
