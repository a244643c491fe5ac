"""The composition root: from settings to a running service. Every part is put together here and nowhere else.

    schema -> table -> shard maps -> store and queries -> operations -> API
                    -> coordinator and mover -> what is given every change of the table

A service is a module, see `loader`. A part is replaced by giving another one to `build`, as the tests and the
local server do with the table; without one the table is DynamoDB, and botocore is imported only then.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..api.app import MAX_BODY_BYTES, Api, Observe
from ..api.expansion import MAX_RELATED, MOST_RELATED
from ..api.graphql.options import GraphQL
from ..api.operation import Operation, check_distinct
from ..api.operators import ALL_OPERATORS, NO_OPERATORS, Operators
from ..api.parts import Parts
from ..api.rate_limit import MOST as MOST_OF_A_MINUTE
from ..api.rate_limit import RateLimit, Rates
from ..api.routes.collections import CollectionRoute
from ..api.routes.events import Events
from ..api.routes.records import Collection
from ..api.routes.related_lists import RelatedLists
from ..api.routes.transactions import Transactions
from ..errors import ConfigurationError
from ..keys.key_format import key_format
from ..keys.shard_key import ExternalKeys
from ..keys.shard_key.key_ring import KeyRing, decode_key_ring, encode_key_ring
from ..query.cursor import CursorKeys
from ..query.fanout import DEFAULT_THROTTLE, Wait, wait_for
from ..query.runner import MAX_READ_UNITS, MOST_READ_UNITS, Observer, QueryRunner
from ..reshard.leased_maps import NO_FORMS, LeasedMaps
from ..reshard.load.throttle_recorder import ThrottleNotes
from ..reshard.phases import Waits
from ..reshard.timings import decode_waits
from ..schema.entity import now_ms
from ..schema.schema import Schema
from ..store import Store
from ..store.store import new_token
from ..table import Table
from ..table.layout import TableLayout
from ..table.metered import MeteredTable
from ..table.retry import RetryClock
from .loader import (
    module_schema,
    service_graphql,
    service_module,
    service_operations,
    service_rekey,
    service_schema,
)

if TYPE_CHECKING:
    from ..reshard.admin import ReshardAdmin
    from ..reshard.change_handler import ChangeHandler
    from ..reshard.driver import ReshardDriver
    from ..reshard.load.policy import Policy
    from ..reshard.timings import Pace
    from ..schema.old_forms import OldForm


DELETING_SECONDS = 20.0
"""For how long deletions of records with many children are continued when the function of the stream is woken."""


@dataclass(frozen=True)
class Settings:
    """Everything that differs between deployments.

    `table_name`, `endpoint_url` and `region` are for DynamoDB. `throttle` is the number of reads that a process runs at
    once. Queries do not use `hidden_indexes`, which are still being filled. `waits` are the waits of re-shards, short
    only in stages whose data does not matter; cursors are valid as long as these say. `operators` may send events and
    move an entity's records: with none, nobody may, and there are no operations for moving.

    `max_read_units` is the maximum cost of one query over HTTP, `max_related` the maximum number of related records
    that one request may read. `rates` are the limits of one tenant per minute, by default none. `cursor_keys` may be a
    function that returns the keys; it is called for the first cursor. `external_keys` returns the secrets of external
    keys, and is called only if an entity has an origin. `introspection`: GraphQL answers queries of its schema, unless
    the service decides it itself.
    """

    cursor_keys: CursorKeys | Callable[[], CursorKeys]
    service: str = "user_service"
    key_format: str = "ordered"
    table_name: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    throttle: int = DEFAULT_THROTTLE
    waits: Waits = Waits()  # noqa: RUF009 - it is frozen
    operators: Operators = NO_OPERATORS
    max_body_bytes: int = MAX_BODY_BYTES
    max_read_units: int = MAX_READ_UNITS
    max_related: int = MAX_RELATED
    rates: Rates = Rates()  # noqa: RUF009 - it is frozen
    hidden_indexes: tuple[str, ...] = ()
    external_keys: Callable[[], ExternalKeys] | None = None
    introspection: bool = False

    @classmethod
    def from_environment(
        cls,
        variables: Mapping[str, str],
        cursor_keys: CursorKeys | Callable[[], CursorKeys],
        external_keys: Callable[[], ExternalKeys] | None = None,
    ) -> Settings:
        """The settings of a deployed function: TABLE_NAME, SERVICE, KEY_FORMAT, THROTTLE, QUERY_READ_UNITS,
        RELATED_RECORDS, TENANT_REQUESTS, TENANT_READ_UNITS, HIDDEN_INDEXES, RESHARD_WAITS, OPERATORS. Raises
        ConfigurationError."""
        table_name = _table_name(variables)
        return cls(
            cursor_keys=cursor_keys,
            service=variables.get("SERVICE", cls.service),
            key_format=variables.get("KEY_FORMAT", cls.key_format),
            table_name=table_name,
            throttle=_whole(variables, "THROTTLE", cls.throttle, 1000),
            max_read_units=_whole(variables, "QUERY_READ_UNITS", cls.max_read_units, MOST_READ_UNITS),
            max_related=_whole(variables, "RELATED_RECORDS", cls.max_related, MOST_RELATED),
            rates=Rates(
                _whole(variables, "TENANT_REQUESTS", 0, MOST_OF_A_MINUTE, least=0),
                _whole(variables, "TENANT_READ_UNITS", 0, MOST_OF_A_MINUTE, least=0),
            ),
            hidden_indexes=tuple(name for name in variables.get("HIDDEN_INDEXES", "").split(",") if name),
            external_keys=external_keys,
            waits=deployed_waits(variables),
            operators=Operators.of_text(variables.get("OPERATORS", "")),
        )


@dataclass(frozen=True)
class Service:
    """A service that has been built."""

    settings: Settings
    parts: Parts
    api: Api

    def close(self) -> None:
        """Stop the threads, release connections and files."""
        self.parts.queries.close()
        self.parts.table.close()


def build(
    settings: Settings,
    *,
    open_table: Callable[[TableLayout], Table] | None = None,
    clock: Callable[[], int] = now_ms,
    waiting: RetryClock | None = None,
    wait: Wait = wait_for,
    observe: Observe | None = None,
    observe_query: Observer | None = None,
    module: ModuleType | None = None,
    rekey: Any = None,
) -> Service:
    """The service of these settings. `module` is its module if it has been imported already. `clock` returns epoch
    milliseconds; time limits use `waiting` and `wait`, see `fanout`. `observe` is called for each request,
    `observe_query` for each query. `rekey` replaces the module's mapping of old forms. Raises ConfigurationError,
    SchemaError."""
    module = module or service_module(settings.service)
    schema = module_schema(module, key_format(settings.key_format)).hiding(settings.hidden_indexes)
    table = dynamodb_table(settings, schema.layout) if open_table is None else open_table(schema.layout)
    table = ThrottleNotes(table, schema, clock=clock)
    rekey = service_rekey(module) if rekey is None else rekey
    maps = LeasedMaps(table, settings.waits, clock=clock, forms=_forms(schema, rekey))
    limit = RateLimit(schema, table, settings.rates, clock) if settings.rates else None
    table = MeteredTable(table) if settings.rates.read_units else table
    waiting = waiting or RetryClock()
    queries = QueryRunner(
        schema,
        table,
        settings.cursor_keys,
        maps=maps,
        clock=clock,
        throttle=settings.throttle,
        cursor_life_ms=settings.waits.cursor_life_ms,
        max_units=settings.max_read_units,
        observer=observe_query,
        sleep=waiting.sleep,
        jitter=waiting.random,
        monotonic=waiting.monotonic,
        wait=wait,
    )
    store = Store(schema, table, clock=clock, maps=maps, waiting=waiting, first=queries.first)
    parts = Parts(schema, table, store, queries, _external_keys(settings, schema), maps)
    operations = operations_of(
        module, parts, settings.operators, settings.max_related, introspection=settings.introspection
    )
    if settings.operators:
        operator = reshard_operator(table, settings.waits, clock)
        operations += operators_operations(parts, settings.operators, operator)
        if maps.forms:
            from .rekeying import rekey_operations  # only loaded while records are brought in

            operations += rekey_operations(parts, settings.waits, settings.operators, clock)
        operations += explorer_operations(settings, parts, operations)
    api = Api(
        operations,
        title=title_of(settings),
        description=inspect.cleandoc(module.__doc__ or ""),
        max_body_bytes=settings.max_body_bytes,
        observe=observe,
        claims=parts.access.claims,
        restricted=parts.access.restricts,
        limit=limit,
    )
    return Service(settings, parts, api)


def _forms(schema: Schema, rekey: Any) -> Mapping[str, OldForm]:
    if rekey is None:
        return NO_FORMS
    from ..schema.old_mapping import forms_given

    return forms_given(schema, rekey)


def operations_of(
    module: ModuleType,
    parts: Parts,
    operators: Operators = ALL_OPERATORS,
    max_related: int = MAX_RELATED,
    *,
    introspection: bool = False,
) -> tuple[Operation, ...]:
    """The operations of every collection, of one entity or of several, and of every read model; GraphQL, if the service
    has it; then the operations that the service declares. `operators` may send events, `max_related` is the maximum
    number of related records that one request may read, `introspection` is as in the settings."""
    collections = [
        Collection(entity, parts.store, parts.queries, parts.external_keys, parts.access, max_related=max_related)
        for entity in parts.schema.entities.values()
    ]
    several = [
        CollectionRoute(each, parts.schema, parts.queries, parts.external_keys, parts.access)
        for each in parts.schema.collections
    ]
    events = [Events(each, parts.store, operators) for each in parts.schema.read_models.values() if each.events]
    found = (
        *(each for collection in collections for each in collection.operations()),
        *(each.operation() for each in several),
        *Transactions(collections, parts.store, parts.access).operations(),
        *RelatedLists({each.entity.token: each for each in collections}, parts.store, parts.access).operations(),
        *(each.operation() for each in events),
        *_graphql_operations(service_graphql(module), parts, max_related, introspection=introspection),
        *service_operations(module, parts),
    )
    check_distinct(found)
    return found


def _graphql_operations(
    options: GraphQL | None, parts: Parts, max_related: int, *, introspection: bool
) -> tuple[Operation, ...]:
    if options is None:
        return ()
    from ..api.graphql.route import GraphQLRoute

    return (GraphQLRoute(parts, options, max_related=max_related, introspects=introspection).operation(),)


def _external_keys(settings: Settings, schema: Schema) -> ExternalKeys | None:
    if settings.external_keys is None or all(entity.origin is None for entity in schema.entities.values()):
        return None
    return settings.external_keys()


def reshard_driver(
    schema: Schema,
    table: Table,
    maps: LeasedMaps,
    waits: Waits,
    *,
    pace: Pace | None = None,
    budget_ms: int | None = None,
    policy: Policy | None = None,
    clock: Callable[[], int] = now_ms,
    waiting: RetryClock | None = None,
) -> ReshardDriver:
    """The handler of a table's changes: it drives re-shards, and watches the load of shards. `pace` and `budget_ms`
    limit the time that it works in one call, see `pace` and `driver`; `waiting` makes the pauses of its movers."""
    from ..reshard.admin import ReshardAdmin
    from ..reshard.coordinator import Coordinator
    from ..reshard.driver import BUDGET_MS, ReshardDriver
    from ..reshard.load.monitor import LoadWatch
    from ..reshard.load.policy import Policy
    from ..reshard.mover import Mover

    coordinator = Coordinator(table, waits, new_token=new_token, clock=clock)
    mover = Mover(table, waits, owner=new_token(), new_token=new_token, clock=clock, pace=pace, waiting=waiting)
    operator = ReshardAdmin(table, coordinator, waits, clock=clock)
    watch = LoadWatch(schema, table, maps, operator, policy or Policy(), waits, new_token=new_token, clock=clock)
    budget = BUDGET_MS if budget_ms is None else budget_ms
    return ReshardDriver(schema, coordinator, mover, maps, watch, clock=clock, budget_ms=budget)


def reshard_operator(table: Table, waits: Waits, clock: Callable[[], int] = now_ms) -> ReshardAdmin:
    """The operators' commands for re-shards."""
    from ..reshard.admin import ReshardAdmin
    from ..reshard.coordinator import Coordinator

    coordinator = Coordinator(table, waits, new_token=new_token, clock=clock)
    return ReshardAdmin(table, coordinator, waits, clock=clock)


def operators_operations(parts: Parts, operators: Operators, operator: ReshardAdmin) -> tuple[Operation, ...]:
    """The operations that move the records of every entity, and the doctor's. They do not count towards a tenant's rate
    limit."""
    from ..api.routes.doctor import DoctorRoutes
    from ..api.routes.reshard import ReshardRoutes

    routes = ReshardRoutes(operator, operators)
    found = [each for entity in parts.schema.entities.values() for each in routes.operations(entity)]
    return (*(replace(each, counted=False) for each in found), DoctorRoutes(parts.store, operators).operation())


def title_of(settings: Settings) -> str:
    """The name of a service as a title."""
    return settings.service.replace("_", " ").capitalize()


def explorer_operations(settings: Settings, parts: Parts, operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """The page of the Explorer for a service with these operations, and the operations that only the page uses."""
    from ..api.explorer.route import ExplorerRoutes

    return ExplorerRoutes(title_of(settings), parts, settings.operators, operations).operations()


def import_ahead(service: str) -> None:
    """Import what `build` and the first requests would import: for a process of which a snapshot is taken, so that each
    restored process need not, and for one that is started before its requests. Nothing is opened or read. If the
    service can't be imported, the first request reports it."""
    from cryptography.hazmat.primitives.ciphers import aead  # noqa: F401

    from ..api import route_answers, route_arguments, shown_values  # noqa: F401
    from ..api.graphql import route  # noqa: F401
    from ..store import write_parts  # noqa: F401
    from ..table.dynamodb.transport import direct  # noqa: F401
    from ..wire import query_reports  # noqa: F401

    with suppress(ConfigurationError):
        service_module(service)


def dynamodb_table(settings: Settings, layout: TableLayout) -> Table:
    """The deployed table, with a connection for every read that may run at once."""
    from ..table.dynamodb import DynamoDBTable

    return DynamoDBTable(
        layout,
        settings.table_name,
        endpoint_url=settings.endpoint_url,
        region=settings.region,
        max_pool_connections=settings.throttle,
    )


def deployed_table(variables: Mapping[str, str]) -> Table:
    """The table of a deployed function without an API: TABLE_NAME, SERVICE, KEY_FORMAT. Raises ConfigurationError."""
    from ..table.dynamodb import DynamoDBTable

    return DynamoDBTable(deployed_schema(variables).layout, _table_name(variables))


def deployed_store(variables: Mapping[str, str]) -> Store:
    """The store of a deployed function without an API: TABLE_NAME, SERVICE, KEY_FORMAT, RESHARD_WAITS. Raises
    ConfigurationError, SchemaError."""
    table = deployed_table(variables)
    return Store(deployed_schema(variables), table, maps=LeasedMaps(table, deployed_waits(variables)))


def deployed_schema(variables: Mapping[str, str]) -> Schema:
    """The schema of a deployed function: SERVICE, KEY_FORMAT. Raises ConfigurationError, SchemaError."""
    chosen = key_format(variables.get("KEY_FORMAT", Settings.key_format))
    return service_schema(variables.get("SERVICE", Settings.service), chosen)


def change_handler(variables: Mapping[str, str]) -> ChangeHandler:
    """The handler of every change of a deployed table, in order: TABLE_NAME, SERVICE, KEY_FORMAT, HIDDEN_INDEXES,
    RESHARD_WAITS. Raises ConfigurationError, SchemaError."""
    hidden = tuple(name for name in variables.get("HIDDEN_INDEXES", "").split(",") if name)
    schema = deployed_schema(variables).hiding(hidden)
    table = deployed_table(variables)
    waits = deployed_waits(variables)
    maps = LeasedMaps(table, waits)
    driver = reshard_driver(schema, table, maps, waits, policy=deployed_policy(variables))
    return feeding(driver, Store(schema, table, maps=maps))


def feeding(handler: ChangeHandler, store: Store) -> ChangeHandler:
    """A handler of changes that also feeds the read models of records, and continues deletions of records with many
    children when it is woken, where the schema has any."""
    children = [link for entity in store.schema.entities.values() for link in entity.children]
    if any(link.on_delete != "restrict" for link in children):
        from ..reshard.change_handler import DeletingHandler

        handler = DeletingHandler(handler, partial(store.continue_deletions, seconds=DELETING_SECONDS))
    if not any(each.records for each in store.schema.read_model_list):
        return handler
    from ..reshard.change_handler import FeedingHandler

    return FeedingHandler(handler, store.feed)


def deployed_policy(variables: Mapping[str, str]) -> Policy:
    """The policy that decides when a deployed function re-shards: RESHARD_POLICY. Raises ConfigurationError."""
    from ..reshard.load.policy import Policy

    return Policy.of_mode(variables.get("RESHARD_POLICY") or "propose", "RESHARD_POLICY")


def deployed_waits(variables: Mapping[str, str]) -> Waits:
    """The waits of a deployed function: RESHARD_WAITS. Raises ConfigurationError."""
    return decode_waits(variables.get("RESHARD_WAITS") or "normal", "RESHARD_WAITS")


def _whole(variables: Mapping[str, str], name: str, default: int, most: int, *, least: int = 1) -> int:
    text = variables.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise ConfigurationError(
            f"must be a number from {least} to {most}", where=name, fix=f"set it to {default}, say"
        )
    return int(text)


def _table_name(variables: Mapping[str, str]) -> str:
    if not variables.get("TABLE_NAME"):
        raise ConfigurationError("it is not set", where="TABLE_NAME", fix="set it to the table's name")
    return variables["TABLE_NAME"]


# -- keys as text, see `key_ring` ------------------------------------------------------------------------------------


def encode_cursor_keys(keys: CursorKeys) -> str:
    """The text form of cursor keys, as it is stored in a secret."""
    return encode_key_ring(KeyRing(keys.current, keys.secrets))


def decode_cursor_keys(text: str) -> CursorKeys:
    """The inverse of `encode_cursor_keys`. Raises ConfigurationError, which does not show the text."""
    ring = decode_key_ring(text, where="cursor keys")
    return CursorKeys(ring.current, ring.secrets)


def decode_external_keys(text: str) -> ExternalKeys:
    """The external keys in the same text form. Raises ConfigurationError, which does not show the text."""
    ring = decode_key_ring(text, where="external keys")
    return ExternalKeys(ring.current, ring.secrets)
