"""Scans of a database: all records of an entity, for programs of operators.

    for order in db.scan(Order): ...

    for page in db.scan(Order, position=saved).pages():
        work(page.items)
        save(page.position)

Each iteration begins at the position that was given. The guarantees and costs are those of `maintenance.scanning`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Generic, Protocol

from typing_extensions import TypeVar

from ..errors import InputError, RecordUnreadable
from ..maintenance.scanning import RecordScan, ScanPage, checked_segment
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..store.parts import StoreParts
from .arguments import kind_of

E = TypeVar("E", bound=Entity, default=Any)
R = TypeVar("R")


class Run(Protocol):
    """Carries out a call for an event loop."""

    def __call__(self, call: Callable[[], R], /) -> Awaitable[R]: ...


class EntityScan(Generic[E]):
    """All records of an entity, each once, in no order. Iterating over it raises RecordUnreadable where records can't
    be read; `pages` has them in each page's `unreadable`, and goes on."""

    def __init__(
        self,
        parts: StoreParts,
        entity: EntityType[Any],
        check_open: Callable[[], None],
        position: Any,
        segment: Any,
        segments: Any,
    ) -> None:
        if position is not None and not isinstance(position, str):
            fix = "give the position of a page as it is, or leave it out"
            raise InputError(f"must be text, got {kind_of(position)}", where="position", fix=fix)
        part = checked_segment(segment, segments)
        self._scan: Callable[[], RecordScan[E]] = partial(RecordScan[E], parts, entity, position=position, segment=part)
        self._check_open = check_open
        self._scan()

    def __iter__(self) -> Iterator[E]:
        for page in self.pages():
            yield from _records(page)

    def pages(self) -> Iterator[ScanPage[E]]:
        """The pages of the scan; each has the position after it."""
        scan = self._scan()
        while True:
            self._check_open()
            page = scan.next_page()
            if page is None:
                return
            yield page


class AsyncEntityScan(Generic[E]):
    """The same for an event loop: `async for order in db.scan(Order)`, and over its `pages()`."""

    def __init__(self, scan: EntityScan[E], run: Run) -> None:
        self._scan: Callable[[], RecordScan[E]] = scan._scan
        self._run = run

    async def __aiter__(self) -> AsyncIterator[E]:
        async for page in self.pages():
            for record in _records(page):
                yield record

    async def pages(self) -> AsyncIterator[ScanPage[E]]:
        """The pages of the scan; each has the position after it."""
        scan = self._scan()
        while (page := await self._run(scan.next_page)) is not None:
            yield page


def _records(page: ScanPage[E]) -> Iterator[E]:
    yield from page.items
    if page.unreadable:
        raise RecordUnreadable(page.unreadable[0])
