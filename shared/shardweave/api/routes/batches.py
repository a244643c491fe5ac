"""Reading and writing several records of one entity in a request.

    POST  /v1/{collection}/batch-get    records by their keys, in the order of the keys
    POST  /v1/{collection}/batch-write  records put, patched and removed, each on its own

A batch is no transaction: each item has its own outcome, in the order given. Items for which the table had no time are
returned as unprocessed, for the client to send again. If the request itself is wrong (an invalid value, an invalid key,
two items about one record), all of it is refused, and nothing is done. With an idempotency key, a repeated batch gets
the first answer. But a batch is more than one transaction, so after a crash in the middle it is carried out again: give
records their ids.

Costs: see `store.batches`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from ...access.authorization import Authorization
from ...access.grant import Grant
from ...errors import (
    AnswerTooLarge,
    BatchIncomplete,
    FieldFault,
    Forbidden,
    ImmutableProperty,
    InputError,
    LimitExceeded,
    RecordUnreadable,
    TooManyReads,
    Unreadable,
    ValidationFailed,
    location_text,
)
from ...store import Delete, Put, Store, Update, WriteOutcome
from ...store.noticed import notice
from ...values.json_types import JSON_CONFIG, json_bytes, left_out
from ...values.json_validation import MAX_UNKNOWN
from ...wire.record_models import RecordModels
from ...wire.unreadable import TOLD, UNREADABLE
from ..child_trail import ChildTrail
from ..expansion import Expansion
from ..http import Response
from ..idempotency import ONCE, ONCE_ERRORS, worked
from ..operation import Answer, Body, Call, Operation
from ..pages import carried, deadline_in
from ..patches import changes_of
from ..problems import Problem, problem
from ..response_size import fitting_page

MAX_ITEMS = 100
MAX_SECONDS = 20.0
LISTS = ("puts", "deletes", "patches")
"""The lists in the body of a batch of writes."""


class Batches:
    """The batch operations of one entity."""

    def __init__(self, models: RecordModels, store: Store, access: Authorization, expansion: Expansion) -> None:
        self._access = access
        self._models = models
        self._store = store
        self._expansion = expansion

    # -- requests

    def get(self, call: Call) -> Response:
        grant = self._access.grant(self._models.entity, "batchGet", call.caller)
        _check_members(call.document, "keys", *self._expansion.member)
        expand = self._expansion.of_body(call.document)
        listed = _listed(call.document, "keys")
        _check_count("keys", len(listed))
        keys, faults = self._keys(grant, "keys", listed)
        _refuse(faults)
        deadline = deadline_in(round(1000 * _seconds(call)), self._store.monotonic)
        self._check_distinct(keys)
        unprocessed: tuple[int, ...] = ()
        unreadable: list[Unreadable] = []
        try:
            records = self._store.batch_get(
                self._models.entity.model,
                keys,
                seconds=_seconds(call),
                visibility=grant.visibility,
                unreadable=unreadable.append,
            )
        except BatchIncomplete as error:
            records, unprocessed = list(error.found), error.unprocessed
        whole: dict[int, bytes] = {}
        for at, record in enumerate(records):
            try:
                if record is not None:
                    whole[at] = carried(self._models, record, self._models.json(record)).text
            except RecordUnreadable as error:
                notice(error.record)
                unreadable += [replace(error.record, position=at)] if grant.visibility is None else []
        found = list(whole)
        there = [record for at, record in enumerate(records) if record is not None and at in whole]
        try:
            texts = self._expansion.json(there, expand, call.caller, deadline, list(whole.values())).texts
        except (AnswerTooLarge, TooManyReads):
            # The related records of the first record are too many for an answer; the others are requested again.
            texts, at, record = [], found.pop(0), there[0]
            unreadable.append(replace(self._models.unanswerable(record, "too_large").record, position=at))
        room = fitting_page(texts)
        unprocessed = tuple(sorted({*unprocessed, *found[room:]}))
        unreadable.sort(key=lambda each: each.position or 0)
        shown = {at: each.text for at, each in zip(found[:room], texts, strict=False)}
        items = b",".join(shown.get(at, b"null") for at in range(len(records)))
        rest = json_bytes({"unprocessed": unprocessed, **self._models.told(unreadable)})
        for each in unreadable:
            notice(each)
        return Response.json(200, b'{"items":[' + items + b"]," + rest[1:])

    def write(self, call: Call) -> Response:
        grant = self._access.grant(self._models.entity, "batchWrite", call.caller)
        _check_members(call.document, *LISTS)
        model, document = self._models.entity.model, call.document
        to_put, to_delete, to_patch = (_listed(document, name) for name in LISTS)
        _check_count("puts, deletes, patches", len(to_put) + len(to_delete) + len(to_patch))
        written, faults = self._written(to_put)
        keys, of_keys = self._keys(grant, "deletes", to_delete)
        updates, of_patches = self._patched(grant, to_patch)
        _refuse([*faults, *of_keys, *of_patches])
        kept, asker = self._models.kept, grant.asker

        def put(values: dict[str, Any]) -> Put:
            try:
                return Put(grant.made(values, kept), model, keeping=kept, from_json=True, **asker)
            except Forbidden as error:
                return Put(values, model, refused=error)

        puts = [put(values) for values in written]
        deletes = [Delete(model, key, **asker) for key in keys]
        removed = tuple(self._models.keys.path_of_json(each, grant.said) for each in to_delete)

        def places(outcomes: Sequence[WriteOutcome]) -> Iterator[str]:
            return (self._models.keys.path(each.record) for each in outcomes if each.record is not None)

        trail = ChildTrail(self._models.external)

        def work() -> Response:
            done = self._store.batch_write(
                puts, deletes, updates, seconds=_seconds(call), follow=trail.of(call), names=LISTS
            )
            members = {"puts": done.puts, "deletes": done.deletes}
            members |= {"patches": done.updates} if updates else {}
            texts = [
                b'"' + name.encode() + b'":[' + b",".join(map(self._outcome, outcomes)) + b"]"
                for name, outcomes in members.items()
            ]
            complete = json_bytes(done.complete)
            answer = Response.json(200, b"{" + b",".join(texts) + b',"complete":' + complete + b"}")
            return replace(answer, places=(*places(done.puts), *removed, *places(done.updates)))

        return worked(self._store, call, work)

    # -- parts

    def _written(self, documents: Sequence[Any]) -> tuple[list[dict[str, Any]], list[InputError]]:
        """The record in each document, and the faults of the others."""
        read: list[dict[str, Any]] = []
        refused: list[InputError] = []
        for at, document in enumerate(documents):
            if not isinstance(document, Mapping):
                faults = [FieldFault(("puts", at), "must be an object: a record", "dict_type")]
                refused.append(ValidationFailed(faults, where="body"))
                continue
            try:
                read.append(self._models.written(document, self._models.put))
            except ValidationFailed as error:
                faults = [replace(fault, location=("puts", at, *fault.location)) for fault in error.fields]
                refused.append(ValidationFailed(faults, where="body", more=error.more))
            except InputError as error:
                error.where = location_text(("puts", at, error.where))
                refused.append(error)
        return read, refused

    def _patched(self, grant: Grant, given: Sequence[Any]) -> tuple[list[Update], list[InputError]]:
        """The update for each patch, and the faults of the others."""
        updates: list[Update] = []
        refused: list[InputError] = []
        for at, document in enumerate(given):
            place = ("patches", at)
            try:
                found = _members_of(document, place, key=True, patch=True)
                key = self._models.keys.of_json(found["key"], (*place, "key"), grant.said)
                updates.append(self._update(grant, key, found["patch"]))
            except ValidationFailed as error:
                faults = [replace(fault, location=_below(place, fault.location)) for fault in error.fields]
                refused.append(ValidationFailed(faults, where="body", more=error.more))
            except InputError as error:
                refused.append(error)
        return updates, refused

    def _update(self, grant: Grant, key: Any, patch: Mapping[str, Any]) -> Update:
        model = self._models.entity.model
        try:
            changes = changes_of(self._models, grant, patch)
        except ValidationFailed as error:
            error.fields = tuple(replace(fault, location=("patch", *fault.location)) for fault in error.fields)
            raise
        except (Forbidden, ImmutableProperty) as error:
            return Update(model, key, {}, refused=error)
        return Update(model, key, changes, from_json=True, **grant.asker)

    def _keys(self, grant: Grant, name: str, given: Sequence[Any]) -> tuple[list[Any], list[InputError]]:
        """The store's keys, and the faults of the others."""
        read: list[Any] = []
        refused: list[InputError] = []
        for at, key in enumerate(given):
            try:
                read.append(self._models.keys.of_json(key, (name, at), grant.said))
            except InputError as error:
                refused.append(error)
        return read, refused

    def _check_distinct(self, keys: Sequence[Any]) -> None:
        first: dict[tuple[Any, ...], int] = {}
        for at, key in enumerate(keys):
            earlier = first.setdefault(tuple(self._models.entity.identify(key).values()), at)
            if earlier != at:
                message = f"keys[{earlier}] and keys[{at}] are about the same {self._models.entity.token}"
                raise InputError(message, where=f"keys[{at}]", fix="name each record once")

    def _outcome(self, outcome: WriteOutcome) -> bytes:
        text = b'{"status":"' + outcome.status.encode() + b'"'
        if outcome.record is not None:
            text += b',"item":' + self._models.json(outcome.record)
        if outcome.error is not None:
            text += b',"problem":' + problem(outcome.error).body
        return text + b"}"

    # -- description

    def operations(self, path: str) -> tuple[Operation, ...]:
        """The operations, below the path of the collection."""
        name, collection = self._models.name, self._models.entity.collection
        return (
            Operation(
                "POST",
                f"{path}/batch-get",
                f"batchGet{name}",
                f"Many {collection} by their keys",
                self.get,
                Answer(200, "The records in the order of the keys, null where there is none.", lambda: self._got),
                description=f"Up to {MAX_ITEMS} keys, each once. `unprocessed` are the positions of keys that could "
                "not be read in time, or whose records would make the answer too long: ask for them again.",
                tag=collection,
                body=Body(lambda: self._asked),
                errors=(LimitExceeded, *self._expansion.errors),
                audited=False,
            ),
            Operation(
                "POST",
                f"{path}/batch-write",
                f"batchWrite{name}",
                f"Put, patch and remove many {collection}",
                self.write,
                Answer(200, "What became of each, in the order given.", lambda: self._done),
                description=f"Up to {MAX_ITEMS} in all, each record once, each on its own: this is not a transaction. "
                "`puts` are carried out as PUT does, `patches` as PATCH does, `deletes` whether there is a record or "
                "not. What is `unprocessed` may be sent again, in a new request.",
                tag=collection,
                header_parameters=(ONCE,),
                body=Body(lambda: self._to_write),
                errors=(LimitExceeded, *ONCE_ERRORS),
            ),
        )

    @cached_property
    def _asked(self) -> type[BaseModel]:
        keys = (list[self._models.keys.json_type], Field(min_length=1, max_length=MAX_ITEMS))  # type: ignore[name-defined]
        fields: dict[str, Any] = {"keys": keys, **self._expansion.member}
        return self._model("BatchGet", "Records to read.", fields)

    @cached_property
    def _got(self) -> type[BaseModel]:
        unread = Field(description="Positions of keys to ask for again: too late, or too much for one answer.")
        items: Any = list[self._models.read | None]  # type: ignore[name-defined]
        fields: dict[str, Any] = {"items": (items, ...), "unprocessed": (list[int], unread), UNREADABLE: TOLD}
        return self._model("BatchGot", "The records that were read.", fields)

    @cached_property
    def _to_write(self) -> type[BaseModel]:
        fields: dict[str, Any] = {
            "puts": (list[self._models.put], Field(default_factory=list)),  # type: ignore[name-defined]
            "deletes": (list[self._models.keys.json_type], Field(default_factory=list)),  # type: ignore[name-defined]
            "patches": (list[self._patch], Field(default_factory=list)),  # type: ignore[name-defined]
        }
        return self._model("BatchWrite", "Records to put and to patch, and keys of records to remove.", fields)

    @cached_property
    def _patch(self) -> type[BaseModel]:
        fields: dict[str, Any] = {"key": (self._models.keys.json_type, ...), "patch": (self._models.patch, ...)}
        return self._model("BatchPatch", "A record's key, and a merge patch of it.", fields)

    @cached_property
    def _done(self) -> type[BaseModel]:
        outcome = self._model(
            "Outcome",
            "What became of one item.",
            {
                "status": (Literal["written", "unprocessed", "failed"], ...),
                "item": (self._models.read, left_out("The record that was put or patched.")),
                "problem": (Problem, left_out("Why it failed.")),
            },
        )
        fields: dict[str, Any] = {
            "puts": (list[outcome], ...),  # type: ignore[valid-type]
            "deletes": (list[outcome], ...),  # type: ignore[valid-type]
            "patches": (list[outcome], left_out("Of patches, where there were any.")),  # type: ignore[valid-type]
            "complete": (bool, Field(description="Whether everything was written.")),
        }
        return self._model("BatchWritten", "What became of each item.", fields)

    def _model(self, suffix: str, described: str, fields: Mapping[str, Any]) -> type[BaseModel]:
        made: type[BaseModel] = create_model(
            self._models.name + suffix, __config__=JSON_CONFIG, __doc__=described, **dict(fields)
        )
        return made


def _listed(document: Mapping[str, Any], name: str) -> list[Any]:
    found = document.get(name, [])
    if not isinstance(found, list):
        raise ValidationFailed([FieldFault((name,), "must be a list", "list_type")], where="body")
    return found


def _members_of(document: Any, place: tuple[str, int], **required: bool) -> Mapping[str, Any]:
    """An object with these members and no others; a patch is such an object itself. Raises ValidationFailed."""
    if not isinstance(document, Mapping):
        raise ValidationFailed([FieldFault(place, "must be an object", "dict_type")], where="body")
    faults = [FieldFault((name,), "Field required", "missing") for name in required if name not in document]
    faults += [FieldFault((name,), "Extra inputs are not permitted", "extra_forbidden")
               for name in document if name not in required][:MAX_UNKNOWN]  # fmt: skip
    if not faults and not isinstance(document["patch"], Mapping):
        faults = [FieldFault(("patch",), "must be an object", "dict_type")]
    if faults:
        raise ValidationFailed(faults, where="body")
    return document


def _below(place: tuple[str, int], location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The place of an item's fault in the list of all items."""
    return location if location[: len(place)] == place else (*place, *location)


def _check_members(document: Mapping[str, Any], *names: str) -> None:
    extra = [name for name in document if name not in names]
    if extra:
        message, few = f"it is no member of this body, which may have {', '.join(names)}", extra[:MAX_UNKNOWN]
        faults = [FieldFault((name,), message, "extra_forbidden") for name in few]
        raise ValidationFailed(faults, where="body", more=len(extra) - len(few))


def _refuse(refused: Sequence[InputError]) -> None:
    """Raise a single fault, or ValidationFailed that lists several."""
    if len(refused) == 1:
        raise refused[0]
    faults: list[FieldFault] = []
    more = 0
    for error in refused:
        if isinstance(error, ValidationFailed):
            faults += error.fields
            more += error.more
        else:
            faults.append(FieldFault((error.where,), error.message, error.code))
    if faults:
        raise ValidationFailed(faults, where="body", more=more)


def _check_count(where: str, count: int) -> None:
    if not 1 <= count <= MAX_ITEMS:
        fix = "send several batches" if count else "give at least one"
        raise LimitExceeded(f"a batch has 1 to {MAX_ITEMS} items, not {count}", where=where, fix=fix)


def _seconds(call: Call) -> float:
    return MAX_SECONDS if call.time_left_ms is None else min(MAX_SECONDS, call.time_left_ms / 1000)
