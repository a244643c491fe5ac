"""Checks of arguments: wrong types are refused with their kind and the fix, instead of being misinterpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, get_args

from ..errors import InputError, ShardweaveError
from ..query.cursor import CursorKeys
from ..query.spec import BranchSpec
from ..schema.entity import Entity
from ..schema.schema import Schema
from ..store import RetryClock
from ..store.operations import Delete, Operation, Put, Update
from ..wire.paging import token_of

MAX_THREADS = 1_000
_OPERATIONS = get_args(Operation)


def kind_of(value: Any) -> str:
    """The description of a value's kind in an error, which does not show the value."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def check_schema(schema: Any) -> None:
    """Refuse a value that is not a schema."""
    if not isinstance(schema, Schema):
        fix = "give Schema([Order], [...])"
        raise InputError(f"must be a Schema, got {kind_of(schema)}", where="schema", fix=fix)


def check_options(cursor_keys: Any, clock: Any, waiting: Any, shadow: Any) -> None:
    """Refuses parts that are none."""
    if cursor_keys is not None and not isinstance(cursor_keys, CursorKeys):
        fix = 'give CursorKeys("2025", {"2025": secret}), or leave it out'
        raise InputError(f"must be CursorKeys, got {kind_of(cursor_keys)}", where="cursor_keys", fix=fix)
    if not callable(clock):
        fix = "give a function that says the epoch milliseconds, or leave it out"
        raise InputError(f"must be a function, got {kind_of(clock)}", where="clock", fix=fix)
    if waiting is not None and not isinstance(waiting, RetryClock):
        raise InputError(f"must be Waiting, got {kind_of(waiting)}", where="waiting", fix="leave it out")
    if shadow is not None and not hasattr(shadow, "attach"):
        fix = "give Shadow(other_database), or leave it out"
        raise InputError(f"must be a Shadow, got {kind_of(shadow)}", where="shadow", fix=fix)


def record_of(schema: Schema, given: Any, values: Any) -> tuple[Any, Any]:
    """The record to write; for properties also the entity: from a record, or an entity and properties."""
    if values is None and isinstance(given, Entity):
        return given, None
    if values is None:
        fix = 'give a record, like Order(...), or an entity and its properties, like Order, {"state": "open"}'
        raise InputError(f"must be a record, got {kind_of(given)}", where="record", fix=fix)
    model = schema[given].model
    if not isinstance(values, Mapping):
        raise InputError(f"must map properties to values, got {kind_of(values)}", where="values", fix="give a dict")
    return values, model


def check_revision(rev: Any) -> None:
    """Refuse a value that is not a revision."""
    if rev is not None and not isinstance(rev, str):
        raise InputError(f"must be a revision, got {kind_of(rev)}", where="rev", fix="give the rev of a record")


def check_changes(changes: Any) -> None:
    """Refuse a value that is neither changes nor a function that returns them."""
    if not isinstance(changes, Mapping) and not callable(changes):
        message = f"must map properties to their new values, or be a function, got {kind_of(changes)}"
        raise InputError(message, where="changes", fix='give {"state": "shipped"}')
    if isinstance(changes, type):
        raise InputError(f"must map properties to their new values, got {kind_of(changes)}", where="changes")


def check_seconds(seconds: Any) -> None:
    """Refuse a value that is not a number of seconds."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise InputError("must be a number of seconds, 0 or more", where="seconds", fix="give 10.0, or leave it out")


def check_amounts(amounts: Any) -> None:
    """Refuse a value that does not map properties to amounts."""
    if not isinstance(amounts, Mapping):
        message = f"must map properties to what is added, got {kind_of(amounts)}"
        raise InputError(message, where="amounts", fix='give {"count": 1}')


def check_upsert(upsert: Any) -> None:
    """Refuse an invalid value for `upsert`."""
    if not isinstance(upsert, (bool, Mapping)):
        message = f"must be true or false, or map properties to values, got {kind_of(upsert)}"
        raise InputError(message, where="upsert", fix='give True, or {"state": "new"}')


def check_returning(returning: Any) -> None:
    """Refuse an invalid value for `returning`."""
    if returning not in (None, "old"):
        message = f'must be "old", got {kind_of(returning)}'
        raise InputError(message, where="returning", fix='give "old", or leave it out')


def check_operations(operations: Any) -> None:
    """Refuse a value that is not a list of operations."""
    _check_list(operations, "operations", "[Create(order), Delete(Cart, cart_id)]")
    for number, each in enumerate(operations):
        if not isinstance(each, _OPERATIONS):
            message = f"must be an operation, got {kind_of(each)}"
            fix = "give Create(...), Put(...), Update(...), Delete(...) or another operation of shardweave"
            raise InputError(message, where=f"operations[{number}]", fix=fix)
        _check_parts(each, f"operations[{number}]")


def check_batch(puts: Any, deletes: Any, updates: Any = ()) -> None:
    """Refuse values that are not lists of records, deletes or updates."""
    _check_list(puts, "puts", "records")
    _check_list(deletes, "deletes", "[Delete(Order, order_id)]")
    for number, each in enumerate(puts):
        if not isinstance(each, (Entity, Put)):
            fix = "give a record, or Put(values, Order)"
            raise InputError(f"must be a record, got {kind_of(each)}", where=f"puts[{number}]", fix=fix)
        if isinstance(each, Put):
            _check_parts(each, f"puts[{number}]")
    for number, each in enumerate(deletes):
        if not isinstance(each, Delete):
            fix = "give Delete(Order, order_id)"
            raise InputError(f"must be a Delete, got {kind_of(each)}", where=f"deletes[{number}]", fix=fix)
        _check_parts(each, f"deletes[{number}]")
    _check_list(updates, "updates", '[Update(Order, order_id, {"state": "shipped"})]')
    for number, each in enumerate(updates):
        if not isinstance(each, Update):
            fix = 'give Update(Order, order_id, {"state": "shipped"})'
            raise InputError(f"must be an Update, got {kind_of(each)}", where=f"updates[{number}]", fix=fix)
        _check_parts(each, f"updates[{number}]")


def _check_parts(operation: Any, place: str) -> None:
    if isinstance(getattr(operation, "record", None), Mapping) and operation.model is None:
        fix = f'give {type(operation).__name__}({{"state": "open"}}, Order), say'
        raise InputError("properties alone do not say of which entity they are", where=f"{place}.model", fix=fix)
    model = getattr(operation, "model", None)
    if model is not None and not isinstance(model, (str, type)):
        fix = "give an entity class, or its token"
        raise InputError(f"must be an entity, got {kind_of(model)}", where=f"{place}.model", fix=fix)
    for name, check in _PARTS.items():
        if hasattr(operation, name):
            try:
                check(getattr(operation, name))
            except InputError as error:
                error.where = f"{place}.{error.where}"
                raise


def _check_revisions(rev: Any) -> None:
    if not isinstance(rev, frozenset):
        check_revision(rev)


def check_flag(name: str, value: Any) -> None:
    """Refuse a value that is neither true nor false."""
    if not isinstance(value, bool):
        raise InputError(f"must be true or false, got {kind_of(value)}", where=name, fix="give one of them")


def _check_names(names: Any) -> None:
    if not isinstance(names, (tuple, list)) or not all(isinstance(each, str) for each in names):
        fix = 'give ("unread",), say, or leave it out'
        raise InputError("must be a tuple of the names of numbers", where="names", fix=fix)


def _check_read_model(name: Any) -> None:
    if not isinstance(name, str):
        message = f"a read model must be named by text, got {kind_of(name)}"
        raise InputError(message, where="read model", fix='give "unread", say')


_PARTS: Mapping[str, Callable[[Any], None]] = {
    "rev": _check_revisions,
    "changes": check_changes,
    "amounts": check_amounts,
    "upsert": check_upsert,
    "returning": partial(check_flag, "returning"),
    "exists": partial(check_flag, "exists"),
    "names": _check_names,
    "read_model": _check_read_model,
}
"""The checks of an operation's parts: one of a wrong type is refused, and never taken for true or false."""


def key_list(keys: Any) -> Sequence[Any]:
    """Keys as a list. A text or a mapping is one key, and not several."""
    if isinstance(keys, (str, bytes, Mapping)) or not isinstance(keys, Iterable):
        raise InputError(f"must be a list of keys, got {kind_of(keys)}", where="keys", fix="give [order_id, ...]")
    return list(keys)


def check_lookup(name: Any, within: Any) -> None:
    """Refuse an invalid name of a lookup, and a `within` that is not a mapping."""
    if not isinstance(name, str):
        raise InputError(f"must name a lookup, got {kind_of(name)}", where="name", fix='give "phone", say')
    if not isinstance(within, Mapping):
        raise InputError(f"must map properties to values, got {kind_of(within)}", where="within", fix="give a dict")


def check_expanded(records: Any, names: Sequence[Any]) -> None:
    """Refuse invalid records, or invalid names of relations."""
    _check_list(records, "records", "page.items")
    for number, each in enumerate(records):
        if not isinstance(each, Entity):
            message = f"must be a record, got {kind_of(each)}"
            raise InputError(message, where=f"records[{number}]", fix="give whole records, as queries do")
    for each in names:
        if not isinstance(each, str):
            message = f"a relation must be named by text, got {kind_of(each)}"
            raise InputError(message, where="names", fix='give "customer", say')


def check_threads(threads: Any) -> None:
    """Refuse an invalid number of threads."""
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        message = f"must be a number from 1 to {MAX_THREADS}, got {kind_of(threads)}"
        raise InputError(message, where="threads", fix="give 32, say")


def _check_list(given: Any, where: str, example: str) -> None:
    if not isinstance(given, (list, tuple)):
        raise InputError(f"must be a list, got {kind_of(given)}", where=where, fix=f"give {example}")


_PLACES = {"timeLimitMs": "time_limit_ms", "--data": "path"}
_TOKENS = ("next_token", "prev_token")


@contextmanager
def named_here(prev_token: str | None = None) -> Iterator[None]:
    """What is wrong is wrong with the parameter as a database calls it; with a token, where there is none back, with
    `next_token`."""
    token = _TOKENS[prev_token is not None]
    try:
        yield
    except ShardweaveError as error:
        error.where = {"cursor": token, "after": token, **_PLACES}.get(error.where, error.where)
        raise


def token_given(next_token: str | None, prev_token: str | None) -> str | None:
    """The token that a page is asked for with. Raises InputError for two."""
    given = {"next_token": next_token, "prev_token": prev_token}
    for name, each in given.items():
        if each is not None and not isinstance(each, str):
            raise InputError(
                f"must be text, got {kind_of(each)}", where=name, fix=f"give the {name} of a page as it is"
            )
    token: str | None = token_of(given, _TOKENS)
    return token


def branches_of(given: Any) -> tuple[BranchSpec, ...] | None:
    """The branches of a query, None where it has none. Raises InputError."""
    if given is not None and not isinstance(given, (list, tuple)):
        message = f"must be a list of branches, got {kind_of(given)}"
        raise InputError(message, where="branches", fix='give [branch(state="open"), ...]')
    return None if given is None else tuple(given)
