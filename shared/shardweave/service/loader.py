"""Services as modules: one has `schema(key_format)`, `operations(parts)` if it has routes of its own, a value `graphql`
(`GraphQL()`) if it is to answer GraphQL, `rekey` (a mapping, see `schema.old_mapping`) while a table is brought in, and
`sample_data(day)` if the local server is to begin with records: an iterable of records, and of events that its
read models take, which looks back from a day and is the same each time.

Importing a module runs its lines, and calling its functions runs a user's code: whatever is wrong with either is a
ConfigurationError that names the module, the line and what was raised, never a traceback.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from ..api.graphql.options import GraphQL
from ..errors import ConfigurationError, SchemaError, ShardweaveError
from ..keys.key_format import KeyFormat
from ..schema.schema import Schema
from .files import SERVICES, service_file

if TYPE_CHECKING:
    import datetime as dt

    from ..api.operation import Operation
    from ..schema.entity import Entity
    from ..schema.read_models import Event

R = TypeVar("R")

_ARGUMENTS = {"schema": "key_format", "operations": "parts", "sample_data": "day"}


def service_module(name: str) -> ModuleType:
    """The module of a service. Raises ConfigurationError that lists the services, or gives the reason why it can't be
    imported."""
    file = service_file(name)
    module = _called(name, lambda: importlib.import_module(file.module), "can't be imported")
    found = getattr(module, "__file__", None)
    if not file.beside and (found is None or not Path(found).resolve() == file.path.resolve()):
        raise ConfigurationError(
            f"Python has another module {name!r}, and takes that one", where=file.place, fix="give yours another name"
        )
    return module


def service_schema(name: str, key_format: KeyFormat) -> Schema:
    """The schema of a service. Raises ConfigurationError, SchemaError."""
    return module_schema(service_module(name), key_format)


def module_schema(module: ModuleType, key_format: KeyFormat) -> Schema:
    """The schema of a service's module. Raises ConfigurationError, SchemaError."""
    name = module.__name__.rpartition(".")[2]
    function = _function(module, "schema", key_format)
    if function is None:
        raise ConfigurationError(
            "the module has no function schema(key_format)", where=_place(name), fix="define one that returns a Schema"
        )
    schema = _called(name, lambda: _compiled(function, key_format), "has a schema(key_format) that fails")
    if not isinstance(schema, Schema):
        raise ConfigurationError(
            f"schema(key_format) must return a Schema, got {type(schema).__name__}",
            where=_place(name),
            fix="return Schema([...])",
        )
    rekey = service_rekey(module)
    if rekey is None:
        return schema
    from ..schema.old_mapping import beside_earlier

    return beside_earlier(schema, rekey)


def service_operations(module: ModuleType, parts: Any) -> tuple[Operation, ...]:
    """The operations that a service declares: its routes (see `routing`), then those of a function `operations(parts)`,
    for operations that can't be written as routes. Raises ConfigurationError."""
    return (*_route_operations(module, parts), *_own_operations(module, parts))


def _route_operations(module: ModuleType, parts: Any) -> tuple[Operation, ...]:
    # The module of routes is imported only for a service that has some.
    routing = sys.modules.get("shardweave.routing")
    routes = [] if routing is None else [each for each in vars(module).values() if isinstance(each, routing.Route)]
    if not routes:
        return ()
    from ..api.route_answers import route_operations

    return route_operations(list(dict.fromkeys(routes)), parts)


def _own_operations(module: ModuleType, parts: Any) -> tuple[Operation, ...]:
    from ..api.operation import Operation

    function = _function(module, "operations", parts)
    if function is None:
        return ()
    name = module.__name__.rpartition(".")[2]
    found = _called(name, lambda: tuple(function(parts)), "has an operations(parts) that fails")
    for each in found:
        if not isinstance(each, Operation):
            raise ConfigurationError(
                f"operations(parts) returns a {type(each).__name__}",
                where=_place(name),
                fix="return a sequence of shardweave.api.operation.Operation",
            )
    return found


def service_graphql(module: ModuleType) -> GraphQL | None:
    """The GraphQL settings of a service; None if it has no GraphQL. Raises ConfigurationError."""
    found = vars(module).get("graphql")
    if found is not None and not isinstance(found, GraphQL):
        raise ConfigurationError(
            f"graphql must be a GraphQL, got {type(found).__name__}",
            where=_place(module.__name__.rpartition(".")[2]),
            fix="write graphql = GraphQL(), or call it otherwise",
        )
    return found


def service_rekey(module: ModuleType) -> Any:
    """The mapping of the old form of records that are being brought in (`rekey = {...}`); None if there is none."""
    return vars(module).get("rekey")


def has_sample_data(module: ModuleType) -> bool:
    """Whether the service has a function `sample_data(day)`."""
    return getattr(module, "sample_data", None) is not None


def service_sample_data(module: ModuleType, day: dt.date) -> list[Entity | Event]:
    """The records and events of the sample data of a day. Raises ConfigurationError."""
    from ..schema.entity import Entity
    from ..schema.read_models import Event

    function = _function(module, "sample_data", day)
    if function is None:
        return []
    name = module.__name__.rpartition(".")[2]
    found = _called(name, lambda: list(function(day)), "has a sample_data(day) that fails")
    for each in found:
        if not isinstance(each, (Entity, Event)):
            raise ConfigurationError(
                f"sample_data(day) gives a {type(each).__name__}",
                where=_place(name),
                fix="give records of the schema's entities, and events that its read models take",
            )
    return found


@cache
def _compiled(function: Callable[[KeyFormat], object], key_format: KeyFormat) -> object:
    """The schema for a key format. Schemas never change and take a while to compile, so each is compiled once."""
    return function(key_format)


def _function(module: ModuleType, name: str, argument: object) -> Callable[[Any], Any] | None:
    """The function of the module with this name, which must take one argument; None if there is none."""
    function: Callable[[Any], Any] | None = getattr(module, name, None)
    if function is None:
        return None
    wanted = f"{name}({_ARGUMENTS[name]})"
    try:
        inspect.signature(function).bind(argument)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"{name} can't be called as {wanted}",
            where=_place(module.__name__.rpartition(".")[2]),
            fix=f"define it as a function {wanted}",
        ) from None
    return function


def _called(name: str, call: Callable[[], R], failure: str) -> R:
    """The result of a call of the user's code. Raises ConfigurationError with the line of that code."""
    try:
        return call()
    except SchemaError:
        raise
    except ShardweaveError as error:
        error.where = error.where or _place(name)
        raise
    except (Exception, SystemExit) as error:
        line = _line_of(error, name)
        raise ConfigurationError(
            f"the module {failure}: {type(error).__name__}: {error}",
            where=f"{_place(name)}{f', line {line}' if line else ''}",
            fix="correct it; the lines of a service's module run at every start",
        ) from error


def _line_of(error: BaseException, name: str) -> int | None:
    """The innermost line of the service's own module that led to the error."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).stem == name:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).stem == name]
    return lines[-1] if lines else None


def _place(name: str) -> str:
    try:
        return service_file(name).place
    except ConfigurationError:
        return f"{SERVICES}/{name}.py"
