"""`expand`: adding related records to the records of an answer.

    expand=customer,products     in a query string
    "expand": ["customer"]       in a body

Each record of the answer then has a member `expanded`, apart from its own properties: by the relation's name the
related record, null if it does not exist, or the list of those that exist. Each related record is read once for a whole
page (see `store.relations.relation_loader` for what that costs); records of a page are read whole, also if their index
does not project all properties.

An unreadable related record is shown in its place as `{"unreadable": ...}` to a caller who may see all records of its
entity; otherwise it is null, or left out of a list.

If there is not enough time for all related records, if they are too many, or if the answer would be too long, the page
ends after the records whose related records fit. If the first record alone does not fit, the request is refused.

A relation that uses a private property, or finds its target by one, would reveal its value, so it is not available.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ..access.authorization import Authorization
from ..errors import (
    AnswerTooLarge,
    DeadlineTooShort,
    FieldFault,
    ShardweaveError,
    TooManyReads,
    UnknownName,
    Unreadable,
    ValidationFailed,
    use_one_of,
)
from ..schema.caller import Caller
from ..schema.entity import Entity
from ..store import Store
from ..store.relations.relation_loader import Limits
from ..values.json_types import json_bytes
from ..wire.paging import EXPAND
from ..wire.parameter import Parameter
from ..wire.record_models import RecordModels
from ..wire.unreadable import UNREADABLE
from .response_size import MAX_PAGE_BYTES, Carried, Texts

MAX_RELATED, MOST_RELATED = 5000, 20_000
"""The maximum number of related records of one request, each counted once: the default, and the highest possible
choice."""


class Expansion:
    """The relations of one entity, over HTTP. `max_related` are the related records that one request may read."""

    def __init__(
        self, models: RecordModels, store: Store, access: Authorization, *, max_related: int = MAX_RELATED
    ) -> None:
        self._access = access
        self._max_related = max_related
        self._models = models
        self._store = store
        self._relations = access.visible(models.entity).relations
        self._targets = {
            name: RecordModels(store.schema.entity(relation.target), models.external)
            for name, relation in self._relations.items()
        }

    # -- how it is asked for

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameter, where there are relations."""
        if not self._relations:
            return ()
        meant = "; ".join(f"`{name}`: {self._description(name)}" for name in self._relations)
        return (Parameter(EXPAND, f"Relations to show in `expanded`, separated by commas. {meant}."),)

    @property
    def errors(self) -> tuple[type[ShardweaveError], ...]:
        """The additional errors of requests with `expand`."""
        return (AnswerTooLarge, TooManyReads, DeadlineTooShort) if self._relations else ()

    @property
    def member(self) -> dict[str, Any]:
        """The member of a body and its type, where there are relations."""
        return {EXPAND: (list[Literal[tuple(self._relations)]] | None, None)} if self._relations else {}  # type: ignore[misc]

    def _description(self, name: str) -> str:
        target = self._targets[name].name
        return f"a list of {target}" if self._relations[name].many else f"a {target} or null"

    def of_query(self, given: Mapping[str, str]) -> tuple[str, ...]:
        """The relations requested in a query string. Raises UnknownName that lists the existing ones."""
        return self._known(given[EXPAND].split(",")) if EXPAND in given else ()

    def of_body(self, document: Mapping[str, Any]) -> tuple[str, ...]:
        """The relations requested in a body. Raises as `of_query` does, and ValidationFailed."""
        given = document.get(EXPAND)
        if given is None:
            return ()
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise ValidationFailed([FieldFault((EXPAND,), "must be a list of relations", "list_type")], where="body")
        return self._known(given)

    def _known(self, names: Iterable[str]) -> tuple[str, ...]:
        for name in names:
            if name not in self._relations:
                fix = use_one_of(self._relations, what="relation")
                raise UnknownName(f"there is no relation {name[:80]!r}", where=EXPAND, fix=fix)
        return tuple(dict.fromkeys(names))

    # -- how it is answered

    def json(
        self,
        records: Sequence[Entity],
        names: Sequence[str],
        caller: Caller,
        deadline: float | None,
        own: Sequence[bytes] | None = None,
    ) -> Texts:
        """The JSON text of each record with its related records that the caller may get; only of the first records if
        the deadline (of the store's `monotonic`) passes, if there are too many related records, or if the answer is
        full. `own` are the texts of the records themselves, if they exist already. Raises Forbidden, DeadlineTooShort,
        AnswerTooLarge, TooManyReads."""
        own = [self._models.json(record) for record in records] if own is None else own
        if not names:
            return Texts([Carried(text) for text in own])
        for name in names:
            self._access.grant(self._targets[name].entity, "get", caller)
        related_texts = _RelatedTexts({each.entity.model: each for each in self._targets.values()})
        limits = Limits(self._max_related, MAX_PAGE_BYTES, related_texts.size_of)
        visible = self._access.related(caller)
        found = self._store.expanding(records, *names, deadline=deadline, visible=visible, limits=limits)
        texts: list[Carried] = []
        total = 0
        for text, related in zip(own, found, strict=False):
            texts.append(Carried(_with(text, related_texts.members(related))))
            total += texts[-1].size
            if total > MAX_PAGE_BYTES:
                break
        if records and not texts:
            fix = "expand fewer relations, or allow more time"
            raise DeadlineTooShort("there was no time for the related records of one record", where=EXPAND, fix=fix)
        if len(texts) == 1 and total > MAX_PAGE_BYTES:
            fix = "expand fewer relations, or read what it leads to by key, some at a time"
            raise AnswerTooLarge("one record with its related records fills more than an answer", where=EXPAND, fix=fix)
        if total > MAX_PAGE_BYTES or len(texts) == len(records):
            return Texts(texts, "bytes" if len(texts) < len(records) else "")
        return Texts(texts, "time" if deadline is not None and self._store.monotonic() >= deadline else "related")


class _RelatedTexts:
    """The JSON texts of the related records of one answer, made when each is read, since their length decides when to
    stop. `models` convert the records of each class."""

    def __init__(self, models: Mapping[type[Entity], RecordModels]) -> None:
        self._models = models
        self._texts: dict[int, Carried] = {}

    def size_of(self, record: Entity) -> int:
        """The size of a record in bytes. Raises RecordUnreadable."""
        text = self._texts[id(record)] = Carried(self._models[type(record)].json(record))
        return text.size

    def members(self, related: Mapping[str, Any]) -> bytes:
        """The members of `expanded`."""
        return b",".join(b'"' + name.encode() + b'":' + self._of(each) for name, each in related.items())

    def _of(self, related: Any) -> bytes:
        if isinstance(related, tuple):
            return b"[" + b",".join(map(self._of, related)) + b"]"
        if isinstance(related, Unreadable):
            models = next(each for each in self._models.values() if each.entity.token == related.entity)
            return json_bytes({UNREADABLE: models.unreadable_json(related)})
        return b"null" if related is None else self._texts[id(related)].text


def _with(text: bytes, expanded: bytes) -> bytes:
    return text[:-1] + (b"" if text == b"{}" else b",") + b'"expanded":{' + expanded + b"}}"
