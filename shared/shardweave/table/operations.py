"""The closed set of operations on a table, and the answer of each.

Each operation is a frozen value that knows nothing of schemas; `request(table)` renders it, purely, into the keyword
arguments of the DynamoDB client's method named by `method`. A table carries it out and answers the type that the
operation is generic over. Conditions, filters and intervals are values, so a backend need not parse expressions.

Items and keys are plain mappings of native values (see `values`). Results are frozen too; their `units` are the
consumed read or write units as the table reported them (0.0 where it did not).

Failures are those of `errors` under TableError; a write whose condition is false raises ConditionFailed, a
transaction TransactionCanceled with one reason for each action.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from .conditions import Condition, Names
from .layout import IndexLayout
from .values import Item, Value, to_attribute_values

R = TypeVar("R")

MAX_BATCH_GET = 100
MAX_BATCH_WRITE = 25
MAX_TRANSACTION_ACTIONS = 100
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024
MAX_PAGE_BYTES = 1024 * 1024

THROTTLED_CODES = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})
"""The cancellation reasons of a throttled action of a transaction."""


class Operation(Generic[R]):
    """One request to the table; `R` is the type of its answer."""

    method: ClassVar[str]

    def request(self, table: str) -> dict[str, Any]:
        raise NotImplementedError


# -- reads ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ItemAnswer:
    """The item, or None, and the units consumed."""

    item: Item | None
    units: float = 0.0


@dataclass(frozen=True)
class GetItem(Operation[ItemAnswer]):
    """Read one item by primary key. `projection` names top-level attributes; None is all."""

    key: Item
    consistent: bool = False
    projection: tuple[str, ...] | None = None
    method: ClassVar[str] = "get_item"

    def request(self, table: str) -> dict[str, Any]:
        names = Names()
        request = {
            "TableName": table,
            "Key": to_attribute_values(self.key),
            "ConsistentRead": self.consistent,
            "ReturnConsumedCapacity": "TOTAL",
            **_projected(self.projection, names),
        }
        return request | names.request_parts()


@dataclass(frozen=True)
class BatchGetAnswer:
    """The items found, in no order (one that does not exist is left out), and the keys not processed."""

    items: tuple[Item, ...]
    unprocessed: tuple[Item, ...] = ()
    units: float = 0.0


@dataclass(frozen=True)
class BatchGet(Operation[BatchGetAnswer]):
    """Read up to 100 distinct items."""

    keys: tuple[Item, ...]
    consistent: bool = False
    projection: tuple[str, ...] | None = None
    method: ClassVar[str] = "batch_get_item"

    def request(self, table: str) -> dict[str, Any]:
        names = Names()
        asked = {
            "Keys": [to_attribute_values(key) for key in self.keys],
            "ConsistentRead": self.consistent,
            **_projected(self.projection, names),
        }
        return {"RequestItems": {table: asked | names.request_parts()}, "ReturnConsumedCapacity": "TOTAL"}


@dataclass(frozen=True)
class TransactGetAnswer:
    """The items in the order of the keys, None for one that does not exist; a snapshot."""

    items: tuple[Item | None, ...]
    units: float = 0.0


@dataclass(frozen=True)
class TransactGet(Operation[TransactGetAnswer]):
    """Read up to 100 items as they were at one moment. Raises TransactionCanceled when it meets a write."""

    keys: tuple[Item, ...]
    method: ClassVar[str] = "transact_get_items"

    def request(self, table: str) -> dict[str, Any]:
        return {
            "TransactItems": [{"Get": {"TableName": table, "Key": to_attribute_values(key)}} for key in self.keys],
            "ReturnConsumedCapacity": "TOTAL",
        }


@dataclass(frozen=True)
class Interval:
    """Closed interval of a range key. None as a bound is no bound."""

    low: Value = None
    high: Value = None

    @property
    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high

    @property
    def is_whole(self) -> bool:
        return self.low is None and self.high is None


@dataclass(frozen=True)
class PageAnswer:
    """A page of a query or scan. `count` is the number of items that passed the filter, `scanned` the number before
    it, `last_key` where the next page starts (present although nothing may follow), None at the end."""

    items: tuple[Item, ...]
    count: int
    scanned: int
    last_key: Item | None
    units: float = 0.0


@dataclass(frozen=True, kw_only=True)
class _Page(Operation[PageAnswer]):
    """What queries and scans have in common: they read at most `limit` items (counted before `filter`) and 1 MB.

    `index` is None for the table. `start_key` continues after that key, which need not name an item, but holds the
    index's and the table's key attributes. `count_only` answers no items, whatever `projection` says.
    """

    index: str | None = None
    filter: Condition | None = None
    projection: tuple[str, ...] | None = None
    limit: int | None = None
    start_key: Item | None = None
    consistent: bool = False
    count_only: bool = False

    def _page_parts(self, names: Names) -> dict[str, Any]:
        parts: dict[str, Any] = {"Select": "COUNT"} if self.count_only else _projected(self.projection, names)
        if self.index is not None:
            parts["IndexName"] = self.index
        if self.limit is not None:
            parts["Limit"] = self.limit
        if self.start_key is not None:
            parts["ExclusiveStartKey"] = to_attribute_values(self.start_key)
        if self.filter is not None:
            parts["FilterExpression"] = self.filter.render(names)
        if self.consistent:
            parts["ConsistentRead"] = True
        return parts


@dataclass(frozen=True)
class Query(_Page):
    """Read the items of one hash key in range-key order. A `start_key` fits the interval."""

    hash_name: str
    hash_value: Value
    range_name: str
    interval: Interval = Interval()
    descending: bool = field(default=False, kw_only=True)
    method: ClassVar[str] = "query"

    def request(self, table: str) -> dict[str, Any]:
        names = Names()
        request: dict[str, Any] = {
            "TableName": table,
            "KeyConditionExpression": self._key_condition(names),
            "ScanIndexForward": not self.descending,
            "ReturnConsumedCapacity": "TOTAL",
            **self._page_parts(names),
        }
        return request | names.request_parts()

    def _key_condition(self, names: Names) -> str:
        text = f"{names.name(self.hash_name)} = {names.value(self.hash_value)}"
        interval = self.interval
        if interval.is_whole:
            return text
        text += f" AND {names.name(self.range_name)} "
        if interval.is_point:
            return text + f"= {names.value(interval.low)}"
        if interval.high is None:
            return text + f">= {names.value(interval.low)}"
        if interval.low is None:
            return text + f"<= {names.value(interval.high)}"
        return text + f"BETWEEN {names.value(interval.low)} AND {names.value(interval.high)}"


@dataclass(frozen=True)
class Scan(_Page):
    """Read one of `total_segments` disjoint parts of the table or an index, in a stable order that means nothing."""

    segment: int = 0
    total_segments: int = 1
    method: ClassVar[str] = "scan"

    def request(self, table: str) -> dict[str, Any]:
        names = Names()
        request: dict[str, Any] = {
            "TableName": table,
            "Segment": self.segment,
            "TotalSegments": self.total_segments,
            "ReturnConsumedCapacity": "TOTAL",
            **self._page_parts(names),
        }
        return request | names.request_parts()


# -- writes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WriteAnswer:
    """What a single write answers: the attributes asked for by `return_values`, or None."""

    attributes: Item | None = None
    units: float = 0.0


class _Write(Operation[WriteAnswer]):
    return_values: Any

    def request(self, table: str) -> dict[str, Any]:
        (write,) = self.action(table).values()
        return {**write, "ReturnValues": self.return_values, "ReturnConsumedCapacity": "TOTAL"}

    def action(self, table: str) -> dict[str, Any]:
        """This write as one action of a transaction."""
        raise NotImplementedError


@dataclass(frozen=True)
class PutItem(_Write):
    """Write a whole item. With `return_on_failure`, a false condition's error carries the stored item."""

    item: Item
    condition: Condition | None = None
    return_values: Literal["NONE", "ALL_OLD"] = "NONE"
    return_on_failure: bool = False
    method: ClassVar[str] = "put_item"

    def action(self, table: str) -> dict[str, Any]:
        return {
            "Put": _write_parts(table, {"Item": to_attribute_values(self.item)}, self.condition, self.return_on_failure)
        }


@dataclass(frozen=True)
class UpdateItem(_Write):
    """Change attributes of an item, and create the item if it does not exist, unless the update only removes
    attributes. `set` assigns, `remove` drops, `add` adds numbers (a missing one counts as zero) or elements to a set.
    An update that is not `repeatable` may be carried out twice if it is sent twice, although it has a condition."""

    key: Item
    set: Mapping[str, Value] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    add: Mapping[str, Value] = field(default_factory=dict)
    condition: Condition | None = None
    return_values: Literal["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_NEW"] = "NONE"
    return_on_failure: bool = False
    repeatable: bool = True
    method: ClassVar[str] = "update_item"

    def action(self, table: str) -> dict[str, Any]:
        names = Names()
        parts: dict[str, Any] = {"Key": to_attribute_values(self.key)}
        clauses = []
        if self.set:
            clauses.append("SET " + ", ".join(f"{names.name(n)} = {names.value(v)}" for n, v in self.set.items()))
        if self.remove:
            clauses.append("REMOVE " + ", ".join(names.name(n) for n in self.remove))
        if self.add:
            clauses.append("ADD " + ", ".join(f"{names.name(n)} {names.value(v)}" for n, v in self.add.items()))
        if clauses:
            parts["UpdateExpression"] = " ".join(clauses)
        return {"Update": _write_parts(table, parts, self.condition, self.return_on_failure, names)}


@dataclass(frozen=True)
class DeleteItem(_Write):
    """Delete an item; a missing item is no error unless the condition requires it."""

    key: Item
    condition: Condition | None = None
    return_values: Literal["NONE", "ALL_OLD"] = "NONE"
    return_on_failure: bool = False
    method: ClassVar[str] = "delete_item"

    def action(self, table: str) -> dict[str, Any]:
        return {
            "Delete": _write_parts(
                table, {"Key": to_attribute_values(self.key)}, self.condition, self.return_on_failure
            )
        }


@dataclass(frozen=True)
class ConditionCheck:
    """An action of a transaction that changes nothing and requires that `condition` holds for an item."""

    key: Item
    condition: Condition
    return_on_failure: bool = False

    def action(self, table: str) -> dict[str, Any]:
        parts = {"Key": to_attribute_values(self.key)}
        return {"ConditionCheck": _write_parts(table, parts, self.condition, self.return_on_failure)}


Action = PutItem | UpdateItem | DeleteItem | ConditionCheck
"""The possible actions of a transaction. `return_values` of an action must be NONE."""


def key_or_item(action: Action) -> Item:
    """The primary key of an action's item, or the whole item of a put."""
    return action.item if isinstance(action, PutItem) else action.key


@dataclass(frozen=True)
class TransactAnswer:
    """A transaction that was carried out."""

    units: float = 0.0


@dataclass(frozen=True)
class TransactWrite(Operation[TransactAnswer]):
    """Carry out up to 100 actions on distinct items, 4 MB together, atomically. The same `token` (1 to 36 characters)
    with the same content within ten minutes is carried out once."""

    actions: tuple[Action, ...]
    token: str | None = None
    method: ClassVar[str] = "transact_write_items"

    def __post_init__(self) -> None:
        if any(not isinstance(action, ConditionCheck) and action.return_values != "NONE" for action in self.actions):
            raise ValueError("an action of a transaction answers nothing: its return_values must be NONE")

    def request(self, table: str) -> dict[str, Any]:
        request: dict[str, Any] = {
            "TransactItems": [action.action(table) for action in self.actions],
            "ReturnConsumedCapacity": "TOTAL",
        }
        if self.token is not None:
            request["ClientRequestToken"] = self.token
        return request


@dataclass(frozen=True)
class BatchWriteAnswer:
    """The writes that were not processed, to be sent again."""

    unprocessed_puts: tuple[Item, ...] = ()
    unprocessed_deletes: tuple[Item, ...] = ()
    units: float = 0.0


@dataclass(frozen=True)
class BatchWrite(Operation[BatchWriteAnswer]):
    """Up to 25 unconditional puts (whole items) and deletes (keys) of distinct items, independently of each other."""

    puts: tuple[Item, ...] = ()
    deletes: tuple[Item, ...] = ()
    method: ClassVar[str] = "batch_write_item"

    def request(self, table: str) -> dict[str, Any]:
        requests: list[dict[str, Any]] = [{"PutRequest": {"Item": to_attribute_values(item)}} for item in self.puts]
        requests += [{"DeleteRequest": {"Key": to_attribute_values(key)}} for key in self.deletes]
        return {"RequestItems": {table: requests}, "ReturnConsumedCapacity": "TOTAL"}


WRITES = (PutItem, UpdateItem, DeleteItem, BatchWrite, TransactWrite)
"""The operations that change items."""


def may_be_repeated(operation: Operation[Any]) -> bool:
    """Whether an operation may be sent again if the outcome of an earlier attempt is unknown: reads, transactions with
    a token, and writes with a condition that the write itself makes false."""
    if isinstance(operation, UpdateItem) and not operation.repeatable:
        return False
    if isinstance(operation, PutItem | UpdateItem | DeleteItem):
        return operation.condition is not None
    return not isinstance(operation, BatchWrite)


# -- the table itself --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableDescription:
    """The description of the table. `index_states` maps each index to ACTIVE, CREATING, UPDATING or DELETING."""

    name: str
    status: str
    indexes: tuple[IndexLayout, ...]
    index_states: Mapping[str, str]
    items: int
    bytes: int


@dataclass(frozen=True)
class Describe(Operation[TableDescription]):
    """Ask for the table's description. Raises TableNotFound."""

    method: ClassVar[str] = "describe_table"

    def request(self, table: str) -> dict[str, Any]:
        return {"TableName": table}


def key_of(names: tuple[str, str], item: Item) -> dict[str, Value]:
    """The primary key of an item, given the names of the table's key attributes."""
    return {name: item[name] for name in names}


# -- parts of requests -------------------------------------------------------------------------------------------------


def _projected(projection: Sequence[str] | None, names: Names) -> dict[str, str]:
    """The requested attributes, each once; None means all."""
    if projection is None:
        return {}
    return {"ProjectionExpression": ", ".join(names.name(name) for name in dict.fromkeys(projection))}


def _write_parts(
    table: str,
    parts: dict[str, Any],
    condition: Condition | None,
    return_on_failure: bool,
    names: Names | None = None,
) -> dict[str, Any]:
    """A write as an action of a transaction: `parts` are its expressions, with the placeholders in `names`."""
    names = names or Names()
    write = {"TableName": table, **parts}
    if condition is not None:
        write["ConditionExpression"] = condition.render(names)
    if return_on_failure:
        write["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return write | names.request_parts()
