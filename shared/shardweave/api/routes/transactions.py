"""Several operations on records of any entities, all or none.

    POST  /v1/_transact    the operations, in order; returns the resulting records, null for deletes and checks

    {"operations": [{"create": "orders", "item": {...}},
                    {"put": "orders", "item": {...}, "rev": "r1"},
                    {"update": "orders", "key": "o1", "patch": {...}, "rev": "r1", "upsert": true},
                    {"add": "stocks", "key": "s1", "amounts": {"left": -1}, "rev": "r1", "upsert": true},
                    {"delete": "carts", "key": "c1", "rev": "r1"},
                    {"check": "users", "key": "u1", "rev": "r1", "exists": true}]}

Each operation means the same as the request of its kind to its collection, and needs the same rights. An error names
the operation. If the request itself is wrong, all of it is refused. With an idempotency key it is carried out once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from ...access.authorization import ACCESS_ERRORS, Authorization
from ...access.grant import Grant
from ...errors import (
    Conflict,
    FieldFault,
    IdempotencyMismatch,
    ImmutableProperty,
    InputError,
    LimitExceeded,
    MalformedRequest,
    NotFound,
    RecordTooLarge,
    ShardweaveError,
    StillInProgress,
    ValidationFailed,
    location_text,
)
from ...schema.entity_type import EntityType
from ...store import Add, Check, Create, Delete, Put, Store, Update
from ...store import Operation as Write
from ...store.operations import Upsert, Written
from ...values.json_types import JSON_CONFIG, left_out
from ...wire.record_models import RecordModels
from ..http import Response
from ..idempotency import ONCE, ONCE_ERRORS, carried_out
from ..operation import Answer, Body, Call, Operation
from ..patches import changes_of, start_of
from .records import Collection

PATH = "/v1/_transact"
MAX_OPERATIONS = 100

_MEMBERS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "create": (("item",), ()),
    "put": (("item",), ("rev",)),
    "update": (("key", "patch"), ("rev", "upsert")),
    "add": (("key", "amounts"), ("rev", "upsert")),
    "delete": (("key",), ("rev",)),
    "check": (("key",), ("rev", "exists")),
}
"""The required and the optional members of each kind of operation."""

_OPERATION = re.compile(r"operations\[([0-9]+)\]")
_KINDS: Mapping[str, type] = {"item": dict, "patch": dict, "amounts": dict, "rev": str, "upsert": bool, "exists": bool}


@dataclass(frozen=True)
class _Asked:
    """One operation of a request: its position, its kind, and its members."""

    place: tuple[str, int]
    kind: str
    said: Mapping[str, Any]

    @property
    def rev(self) -> str | None:
        found: str | None = self.said.get("rev")
        return found


class Transactions:
    """The route over the collections of a service, on a store, for the callers that `access` knows."""

    def __init__(self, collections: Sequence[Collection], store: Store, access: Authorization) -> None:
        self._access = access
        self._collections = {each.entity.collection: each for each in collections}
        self._store = store

    def transact(self, call: Call) -> Response:
        # Callers who may do nothing are refused before the body is read.
        self._access.check_known((each.entity for each in self._collections.values()), call.caller)
        asked = _listed(call.document, self._collections)
        writes: list[Write] = []
        refused: list[InputError] = []
        for each in asked:
            try:
                writes.append(self._write(each, call))
            except ValidationFailed as error:
                faults = [replace(fault, location=(*each.place, *fault.location)) for fault in error.fields]
                refused.append(ValidationFailed(faults, where="body", more=error.more))
            except (InputError, NotFound) as error:
                error.where = location_text((*each.place, error.where) if error.where else each.place)
                raise
        if refused:
            faults = [fault for error in refused for fault in getattr(error, "fields", ())]
            raise ValidationFailed(faults, where="body", more=sum(getattr(error, "more", 0) for error in refused))
        named = [self._collections[each.said[each.kind]] for each in asked]

        def answer(made: Sequence[Written]) -> Response:
            texts, places = [], []
            for each, written, collection in zip(asked, made, named, strict=True):
                models = collection.models
                texts.append(b"null" if written.record is None else models.json(written.record))
                if written.record is not None:
                    places.append(models.keys.path(written.record))
                elif each.kind == "delete":
                    said = collection.grant("delete", call).said
                    places.append(models.keys.path_of_json(each.said["key"], said))
            return replace(Response.json(200, b'{"items":[' + b",".join(texts) + b"]}"), places=tuple(places))

        try:
            return carried_out(self._store, call, writes, answer)
        except ShardweaveError as error:
            _name(error, asked)
            raise

    # -- parts

    def _write(self, asked: _Asked, call: Call) -> Write:
        collection = self._collections[asked.said[asked.kind]]
        makers: Mapping[str, Callable[[_Asked, Collection, Call], Write]] = {
            "create": self._create,
            "put": self._put,
            "update": self._update,
            "add": self._add,
            "delete": self._delete,
            "check": self._check,
        }
        return makers[asked.kind](asked, collection, call)

    @staticmethod
    def _create(asked: _Asked, collection: Collection, call: Call) -> Write:
        grant, models = collection.grant("create", call), collection.models
        with _member("item"):
            values = grant.made(models.written(asked.said["item"]))
        return Create(values, models.entity.model, **grant.asker)

    @staticmethod
    def _put(asked: _Asked, collection: Collection, call: Call) -> Write:
        grant, models = collection.grant("put", call), collection.models
        with _member("item"):
            values = grant.made(models.written(asked.said["item"], models.put), models.kept)
        return Put(values, models.entity.model, asked.rev, keeping=models.kept, from_json=True, **grant.asker)

    @staticmethod
    def _update(asked: _Asked, collection: Collection, call: Call) -> Write:
        grant, models, patch = collection.grant("update", call), collection.models, asked.said["patch"]
        key = _key(models, asked, grant)
        upsert: Upsert = False
        with _member("patch"):
            changes = changes_of(models, grant, patch)
            if asked.said.get("upsert"):
                upsert = start_of(models, collection.grant("create", call), patch, key)
        return Update(models.entity.model, key, changes, asked.rev, from_json=True, upsert=upsert, **grant.asker)

    @staticmethod
    def _add(asked: _Asked, collection: Collection, call: Call) -> Write:
        grant, models = collection.grant("update", call), collection.models
        key = _key(models, asked, grant)
        with _member("amounts"):
            amounts = grant.changed(collection.additions.amounts_in(asked.said["amounts"]))
        upsert: Upsert = False
        if asked.said.get("upsert"):
            upsert = collection.grant("create", call).started(models.entity.identify(key), {})
        return Add(models.entity.model, key, amounts, asked.rev, upsert=upsert, **grant.asker)

    @staticmethod
    def _delete(asked: _Asked, collection: Collection, call: Call) -> Write:
        grant, models = collection.grant("delete", call), collection.models
        return Delete(models.entity.model, _key(models, asked, grant), asked.rev, **grant.asker)

    @staticmethod
    def _check(asked: _Asked, collection: Collection, call: Call) -> Write:
        grant, models = collection.grant("get", call), collection.models
        key = _key(models, asked, grant)
        grant.check_decided(models.entity.identify(key))
        return Check(models.entity.model, key, asked.rev, asked.said.get("exists", True))

    # -- description

    def operations(self) -> tuple[Operation, ...]:
        """The route; none if nothing can be written."""
        if not self._written:
            return ()
        return (
            Operation(
                "POST",
                PATH,
                "transact",
                "Several operations, all or none",
                self.transact,
                Answer(200, "The records that the operations leave, null for deletes and checks.", lambda: self._done),
                description=f"Up to {MAX_OPERATIONS} operations, each on another record, carried out together or not "
                "at all. Each names its collection in `create`, `put`, `update`, `add`, `delete` or `check`; the first "
                "two have an `item`, `update` has a `key` and a `patch`, `add` a `key` and `amounts`, the others a "
                "`key`.",
                tag="transactions",
                header_parameters=(ONCE,),
                body=Body(lambda: self._body),
                errors=(
                    NotFound,
                    Conflict,
                    ImmutableProperty,
                    LimitExceeded,
                    RecordTooLarge,
                    *ONCE_ERRORS,
                    *ACCESS_ERRORS,
                ),
            ),
        )

    @property
    def _written(self) -> list[EntityType[Any]]:
        return [each.entity for each in self._collections.values() if not each.entity.read_only]

    @cached_property
    def _done(self) -> type[BaseModel]:
        items: Any = list[dict[str, Any] | None]
        return create_model(
            "Transacted", __config__=JSON_CONFIG, __doc__="What a transaction left.", items=(items, ...)
        )

    @cached_property
    def _body(self) -> type[BaseModel]:
        written = Literal[tuple(each.collection for each in self._written)]  # type: ignore[valid-type]
        known = Literal[tuple(self._collections)]  # type: ignore[valid-type]
        kinds: dict[str, Any] = {
            kind: (known if kind == "check" else written, left_out("The collection.")) for kind in _MEMBERS
        }
        members: dict[str, Any] = {
            "item": (dict[str, Any], left_out("A whole record.")),
            "key": (Any, left_out("What names the record, as in a batch.")),
            "patch": (dict[str, Any], left_out("A merge patch.")),
            "amounts": (dict[str, Any], left_out("What is added, by property.")),
            "rev": (str, left_out("The revision that the record must have.")),
            "upsert": (bool, left_out("True to make the record where there is none.")),
            "exists": (bool, left_out("False where there must be no record.")),
        }
        operation: Any = create_model(
            "TransactionOperation", __config__=JSON_CONFIG, __doc__="One operation.", **kinds, **members
        )
        listed = (list[operation], Field(min_length=1, max_length=MAX_OPERATIONS))
        return create_model("Transaction", __config__=JSON_CONFIG, __doc__="Operations.", operations=listed)


_BODIES: Mapping[str, str] = {"create": "item", "put": "item", "update": "patch", "add": "amounts"}
"""The member of an operation that contains a record."""
_OF_THE_REQUEST = (IdempotencyMismatch, StillInProgress, MalformedRequest)


def _name(error: ShardweaveError, asked: Sequence[_Asked]) -> None:
    """Add the operation to the store's error, also if there is only one, and to each fault its place in the body."""
    about = isinstance(error, (InputError, Conflict, NotFound)) and not isinstance(error, _OF_THE_REQUEST)
    if len(asked) == 1 and about and error.where != "operations":
        error.where = location_text((*asked[0].place, error.where) if error.where else asked[0].place)
    found = _OPERATION.match(error.where)
    if found and isinstance(error, ValidationFailed):
        named = asked[int(found[1])]
        place = (*named.place, *((_BODIES[named.kind],) if named.kind in _BODIES else ()))
        error.fields = tuple(replace(fault, location=(*place, *fault.location)) for fault in error.fields)
        error.where = "body"


@contextmanager
def _member(name: str) -> Iterator[None]:
    """A context in which errors get this member of an operation as their place."""
    try:
        yield
    except ValidationFailed as error:
        error.fields = tuple(replace(fault, location=(name, *fault.location)) for fault in error.fields)
        raise


def _key(models: RecordModels, asked: _Asked, grant: Grant) -> Any:
    return models.keys.of_json(asked.said["key"], ("key",), grant.said)


def _listed(document: Mapping[str, Any], collections: Mapping[str, Collection]) -> list[_Asked]:
    """The operations of a request. Raises ValidationFailed, LimitExceeded."""
    given = document.get("operations")
    if not isinstance(given, list) or document.keys() - {"operations"}:
        fault = FieldFault(("operations",), "must be a list of operations, and nothing beside it", "list_type")
        raise ValidationFailed([fault], where="body")
    if not 1 <= len(given) <= MAX_OPERATIONS:
        fix = "send several transactions" if given else "give at least one"
        message = f"a transaction has 1 to {MAX_OPERATIONS} operations, not {len(given)}"
        raise LimitExceeded(message, where="operations", fix=fix)
    asked, faults = [], []
    for at, each in enumerate(given):
        place = ("operations", at)
        found = [kind for kind in _MEMBERS if isinstance(each, Mapping) and kind in each]
        wrong = [] if len(found) != 1 else list(_faults(found[0], each, collections))
        if len(found) != 1:
            wrong = [FieldFault((), f"must be an object with one of {', '.join(_MEMBERS)}", "dict_type")]
        faults += [replace(fault, location=(*place, *fault.location)) for fault in wrong]
        if not wrong:
            asked.append(_Asked(place, found[0], each))
    if faults:
        raise ValidationFailed(faults, where="body")
    return asked


def _faults(kind: str, said: Mapping[str, Any], collections: Mapping[str, Collection]) -> list[FieldFault]:
    needed, possible = _MEMBERS[kind]
    faults = [FieldFault((name,), "Field required", "missing") for name in needed if name not in said]
    known = {kind, *needed, *possible}
    faults += [
        FieldFault((name,), "Extra inputs are not permitted", "extra_forbidden") for name in said if name not in known
    ]
    faults += [
        FieldFault((name,), f"must be {_WORDS[wanted]}", f"{wanted.__name__}_type")
        for name, wanted in _KINDS.items()
        if name in said and name in known and not isinstance(said[name], wanted)
    ]
    named = collections.get(said[kind]) if isinstance(said[kind], str) else None
    if named is None or (named.entity.read_only and kind != "check"):
        message = "must be a collection whose records are written" if kind != "check" else "must be a collection"
        faults.append(FieldFault((kind,), message, "literal_error"))
    return faults


_WORDS: Mapping[type, str] = {dict: "an object", str: "a text", bool: "true or false"}
