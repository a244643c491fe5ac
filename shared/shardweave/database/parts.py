"""The parts of a database: a table in memory, in a folder or on DynamoDB, the store and the query runner.

What a table needs is imported with it alone.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..query.cursor import CursorKeys
from ..query.lookup_tokens import LookupTokens, id_reached, lookup_walk
from ..query.runner import QueryRunner
from ..query.spec import Page
from ..schema.entity_type import EntityType
from ..schema.schema import Schema
from ..store import RetryClock, Store
from ..store.lookups.lookup_spec import lookup_spec
from ..store.operations import Among
from ..table import Table
from ..table.conditions import Condition
from .arguments import check_options, check_schema, kind_of, named_here, token_given

if TYPE_CHECKING:
    from ..reshard.leased_maps import LeasedMaps
    from ..table.layout import TableLayout

_NAME = re.compile("[A-Za-z0-9_-]{1,100}")


def opened_parts(
    schema: Schema,
    *,
    path: str | os.PathLike[str] | None,
    name: str | None,
    table_name: str | None,
    dynamodb: Mapping[str, Any],
    keys: CursorKeys | None,
    clock: Callable[[], int],
    waiting: RetryClock | None,
    throttle: int,
    rekey: Mapping[str, Any] | None = None,
    shadow: object = None,
) -> tuple[Store, QueryRunner]:
    """The parts over a table that is opened for them. Both go by the shard maps in force. Raises InputErrors."""
    check_schema(schema)
    check_options(keys, clock, waiting, shadow)
    check_place(path, name, table_name, dynamodb)
    waiting, kept_keys = waiting or RetryClock(), None
    with named_here():
        if table_name is not None:
            table = dynamodb_table(schema.layout, table_name, throttle, dynamodb)
        elif path is not None:
            table, kept_keys = table_in_folder(schema, path, name or "database", clock, rekey)
        else:
            table = table_in_memory(schema.layout, clock)
        try:
            maps = None if rekey is None else maps_beside_old_forms(schema, table, clock, rekey)
            queries = QueryRunner(
                schema,
                table,
                keys or kept_keys or CursorKeys("made", {"made": secrets.token_bytes(32)}),
                maps=maps,
                clock=clock,
                throttle=throttle,
                sleep=waiting.sleep,
                jitter=waiting.random,
                monotonic=waiting.monotonic,
            )
            store = Store(schema, table, clock=clock, maps=maps, waiting=waiting, first=queries.first)
            if table_name is None:
                store.decide_lookups()
        except BaseException:
            table.close()
            raise
    return store, queries


def check_place(path: Any, name: Any, table_name: Any, dynamodb: Mapping[str, Any]) -> None:
    """Refuse arguments that name no table, or two."""
    if path is not None and table_name is not None:
        raise InputError("a folder and a DynamoDB table exclude one another", where="table_name", fix="give one")
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise InputError(f"must be a folder, got {kind_of(path)}", where="path", fix='give path="data"')
    if path is not None and not os.fspath(path):
        raise InputError(
            "must be a folder, got an empty text", where="path", fix='give path="data", or "." for this one'
        )
    if name is not None and path is None:
        raise InputError("it names a table in a folder", where="name", fix="give path, too, or leave it out")
    if table_name is not None and not (isinstance(table_name, str) and table_name):
        given = "an empty text" if table_name == "" else kind_of(table_name)
        raise InputError(f"must be the name of a table, got {given}", where="table_name", fix="give its name")
    if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
        fix = "use letters, digits, - and _, at most 100"
        raise InputError("must be a name that a file can have", where="name", fix=fix)
    for option, value in dynamodb.items():
        if value is not None and table_name is None:
            raise InputError("it is for DynamoDB alone", where=option, fix="give table_name too, or leave it out")
        if value is not None and option == "observe" and not callable(value):
            fix = "give a function of one argument, or leave it out"
            raise InputError(f"must be a function, got {kind_of(value)}", where=option, fix=fix)
        if value is not None and option not in ("client", "observe") and not isinstance(value, str):
            raise InputError(f"must be text, got {kind_of(value)}", where=option, fix="give its text, or leave it out")
        if value is not None and option == "client" and not hasattr(value, "meta"):
            fix = 'give boto3.client("dynamodb"), or leave it out'
            raise InputError(f"must be a client of boto3, got {kind_of(value)}", where=option, fix=fix)


def maps_beside_old_forms(
    schema: Schema, table: Table, clock: Callable[[], int], rekey: Mapping[str, Any]
) -> LeasedMaps:
    """The shard maps in force of a table that is brought in, with the old forms. Raises ConfigurationError."""
    from ..reshard.leased_maps import ANY_STAGE, EMBEDDED, LeasedMaps, guards_inside_writes
    from ..schema.old_mapping import forms_given

    waits = EMBEDDED if guards_inside_writes(table) else ANY_STAGE
    return LeasedMaps(table, waits, clock=clock, forms=forms_given(schema, rekey))


def records_of(pages: Iterator[Page[Any]], check_open: Callable[[], None]) -> Iterator[Any]:
    """The records of pages, in order, as long as the database is open."""
    while True:
        check_open()
        page = next(pages, None)
        if page is None:
            return
        yield from page.in_order()


def found_page(
    store: Store,
    queries: QueryRunner,
    entity: EntityType[Any],
    name: str,
    value: Any,
    within: Mapping[str, Any],
    *,
    limit: int,
    next_token: str | None,
    prev_token: str | None,
    reverse: bool = False,
    filter: Condition | None = None,
    visibility: Among | None = None,
    scope: str = "",
) -> Page[Any]:
    """A page of the live records with a value, by a lookup; its tokens are bound to what was asked, and to `scope`."""
    spec = lookup_spec(entity, name, value, within, reverse=reverse, filter=filter)
    walk = lookup_walk(entity, spec.lookup.name, spec.values, scope, spec.signature())
    tokens, token = LookupTokens(queries.cursors, queries.now_ms), token_given(next_token, prev_token)
    with named_here(prev_token):
        state = tokens.opened(token, walk)
        asked: dict[str, Any] = {"limit": limit, "visibility": visibility, "reverse": reverse, "filter": filter}
        asked |= {"after": id_reached(state), "backwards": state.backwards}
        found = store.find_by(entity.model, name, value, within=within, **asked)
    read = Page(found.items, None, not found.cut, unreadable=found.unreadable)
    return tokens.page(read, state, walk, found.after, None if token is None else (found.begins,))


def dynamodb_table(layout: TableLayout, name: str, throttle: int, options: Mapping[str, Any]) -> Table:
    """A table on DynamoDB, with a connection for every parallel read."""
    from ..table.dynamodb import DynamoDBTable

    given = {option: value for option, value in options.items() if value is not None}
    return DynamoDBTable(layout, name, max_pool_connections=throttle, **given)


def table_in_folder(
    schema: Schema,
    path: str | os.PathLike[str],
    name: str,
    clock: Callable[[], int],
    rekey: Mapping[str, Any] | None = None,
) -> tuple[Table, CursorKeys]:
    """The table of a name in a folder, made where there is none, and the folder's keys for tokens. Raises
    ConfigurationError, also for a schema that would not find the records again."""
    from pathlib import Path

    from .data_folder import DataFolder

    if rekey is not None:
        from ..schema.old_mapping import beside_earlier

        schema = beside_earlier(schema, rekey)
    folder = DataFolder(Path(path))
    table = folder.open_table(schema, name, schema.key_format.name, create=True, clock=clock)
    try:
        return table, folder.cursor_keys()
    except BaseException:
        table.close()
        raise


def table_in_memory(layout: TableLayout, clock: Callable[[], int]) -> Table:
    """A table that exists as long as the object."""
    from ..table.embedded import EmbeddedTable

    return EmbeddedTable(layout, clock=lambda: clock() / 1000)
