"""The shape of the physical table: its keys, its indexes with their projections, its TTL attribute.

A pure value, made once from a schema. The embedded table builds its storage from it, tests and local stages their
`CreateTable` request, the CDK stack its `TableV2`. The table has nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

KeyType = Literal["S", "N", "B"]
Projection = Literal["ALL", "KEYS_ONLY"] | tuple[str, ...]
"""Everything, only the keys, or the keys and these attributes."""


@dataclass(frozen=True)
class KeyAttribute:
    """One key attribute: its stored name and its DynamoDB scalar type."""

    name: str
    type: KeyType = "S"


@dataclass(frozen=True)
class IndexLayout:
    """One global secondary index."""

    name: str
    hash_key: KeyAttribute
    range_key: KeyAttribute
    projection: Projection = "ALL"


@dataclass(frozen=True)
class TableLayout:
    """The table: `hash_key` and `range_key` are its primary key."""

    hash_key: KeyAttribute = KeyAttribute("hashKey")
    range_key: KeyAttribute = KeyAttribute("rangeKey")
    indexes: tuple[IndexLayout, ...] = ()
    ttl_attribute: str | None = None
    _by_name: dict[str, IndexLayout] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_name.update({index.name: index for index in self.indexes})

    @property
    def key_names(self) -> tuple[str, str]:
        return self.hash_key.name, self.range_key.name

    def index(self, name: str) -> IndexLayout | None:
        """The index of that name, or None."""
        return self._by_name.get(name)

    def keys_of(self, index: str | None) -> tuple[KeyAttribute, KeyAttribute]:
        """The hash and range key of the table (`None`) or of an index. Raises KeyError for an unknown index."""
        if index is None:
            return self.hash_key, self.range_key
        found = self._by_name[index]
        return found.hash_key, found.range_key

    def start_key_names(self, index: str | None) -> tuple[str, ...]:
        """The attributes of a start key: the index's keys and the table's, each once."""
        hash_key, range_key = self.keys_of(index)
        return tuple(dict.fromkeys((hash_key.name, range_key.name, *self.key_names)))

    def projected(self, index: str | None) -> frozenset[str] | None:
        """The attributes that a read of the index can see, or None for all."""
        found = None if index is None else self._by_name[index]
        if found is None or found.projection == "ALL":
            return None
        extra = () if found.projection == "KEYS_ONLY" else found.projection
        return frozenset((*self.start_key_names(index), *extra))

    def create_request(self, table: str) -> dict[str, Any]:
        """The `CreateTable` request: on demand, with the stream on."""
        keys = [self.hash_key, self.range_key]
        for index in self.indexes:
            keys += [index.hash_key, index.range_key]
        request: dict[str, Any] = {
            "TableName": table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in dict.fromkeys((key.name, key.type) for key in keys)
            ],
            "KeySchema": _key_schema(self.hash_key, self.range_key),
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        }
        if self.indexes:
            request["GlobalSecondaryIndexes"] = [
                {
                    "IndexName": index.name,
                    "KeySchema": _key_schema(index.hash_key, index.range_key),
                    "Projection": _projection(index.projection),
                }
                for index in self.indexes
            ]
        return request


def _key_schema(hash_key: KeyAttribute, range_key: KeyAttribute) -> list[dict[str, str]]:
    return [
        {"AttributeName": hash_key.name, "KeyType": "HASH"},
        {"AttributeName": range_key.name, "KeyType": "RANGE"},
    ]


def _projection(projection: Projection) -> dict[str, Any]:
    if isinstance(projection, tuple):
        return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projection)}
    return {"ProjectionType": projection}
