"""Shardweave: many entity types in one DynamoDB table, sharded, with exact ordered pages.

What a program may import is what `__all__` names here, `shardweave.routing` for routes of a service's own,
`shardweave.testing` for tests, and `shardweave.cdk` for what deploys; everything else may change. A name is loaded when
it is first asked for, so that a program pays for what it uses.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"
"""The version of the library: the one place that says it."""

if TYPE_CHECKING:
    from . import errors
    from .api.graphql.options import GraphQL
    from .database.async_database import AsyncDatabase
    from .database.database import Database
    from .database.shadow import Shadow
    from .keys import shard_key
    from .keys.key_format import ARTICLE, ENTITY_MANAGER, ORDERED, KeyFormat
    from .keys.sharding import ShardBump
    from .query.cursor import CursorKeys
    from .query.shorthand import between, branch, one_of, prefix, where
    from .query.spec import Page
    from .schema.access_rules import Allow
    from .schema.collection import Collection
    from .schema.declarations import Index, Lookup, OrderedLookup, Sequence, Unique, belongs_to, has_many
    from .schema.entity import Entity, HashKey, RangeKey, desc, nanoid
    from .schema.property_options import (
        CanonicalBegin,
        claim_property,
        private_property,
        timestamp_property,
        ttl_property,
        unique_property,
        updated_property,
    )
    from .schema.read_models import Delete as DeleteRecord
    from .schema.read_models import Event, ReadModel
    from .schema.read_models import Set as SetRecord
    from .schema.read_models import Update as UpdateRecord
    from .schema.schema import Schema
    from .store.idempotency_keys import IdempotencyKey
    from .store.operations import Add, Apply, Check, Create, Delete, Put, Reset, Update
    from .values.codecs import DecimalCodec, SemanticVersion, Timestamp, TimestampSeconds

__all__ = [
    "ARTICLE",
    "ENTITY_MANAGER",
    "ORDERED",
    "Add",
    "Allow",
    "Apply",
    "AsyncDatabase",
    "CanonicalBegin",
    "Check",
    "Collection",
    "Create",
    "CursorKeys",
    "Database",
    "DecimalCodec",
    "Delete",
    "DeleteRecord",
    "Entity",
    "Event",
    "GraphQL",
    "HashKey",
    "IdempotencyKey",
    "Index",
    "KeyFormat",
    "Lookup",
    "OrderedLookup",
    "Page",
    "Put",
    "RangeKey",
    "ReadModel",
    "Reset",
    "Schema",
    "SemanticVersion",
    "Sequence",
    "SetRecord",
    "Shadow",
    "ShardBump",
    "Timestamp",
    "TimestampSeconds",
    "Unique",
    "Update",
    "UpdateRecord",
    "__version__",
    "belongs_to",
    "between",
    "branch",
    "claim_property",
    "desc",
    "errors",
    "has_many",
    "nanoid",
    "one_of",
    "prefix",
    "private_property",
    "shard_key",
    "timestamp_property",
    "ttl_property",
    "unique_property",
    "updated_property",
    "where",
]

_MODULES = {"errors": "errors", "shard_key": "keys.shard_key"}
_PLACES = {
    "api.graphql.options": ("GraphQL",),
    "database.async_database": ("AsyncDatabase",),
    "database.database": ("Database",),
    "database.shadow": ("Shadow",),
    "keys.key_format": ("ARTICLE", "ENTITY_MANAGER", "ORDERED", "KeyFormat"),
    "keys.sharding": ("ShardBump",),
    "query.cursor": ("CursorKeys",),
    "query.shorthand": ("between", "branch", "one_of", "prefix", "where"),
    "query.spec": ("Page",),
    "schema.access_rules": ("Allow",),
    "schema.collection": ("Collection",),
    "schema.declarations": ("Index", "Lookup", "OrderedLookup", "Sequence", "Unique", "belongs_to", "has_many"),
    "schema.entity": ("Entity", "HashKey", "RangeKey", "desc", "nanoid"),
    "schema.property_options": (
        "CanonicalBegin",
        "claim_property",
        "private_property",
        "timestamp_property",
        "ttl_property",
        "unique_property",
        "updated_property",
    ),
    "schema.read_models": ("DeleteRecord=Delete", "Event", "ReadModel", "SetRecord=Set", "UpdateRecord=Update"),
    "schema.schema": ("Schema",),
    "store.idempotency": ("IdempotencyKey",),
    "store.operations": ("Add", "Apply", "Check", "Create", "Delete", "Put", "Reset", "Update"),
    "values.codecs": ("DecimalCodec", "SemanticVersion", "Timestamp", "TimestampSeconds"),
}

if not TYPE_CHECKING:

    def __getattr__(name):
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"{__name__}.{_MODULES[name]}")
        for module, names in _PLACES.items():
            for each in names:
                public, _, defined = each.partition("=")
                if public == name:
                    found = getattr(import_module(f"{__name__}.{module}"), defined or public)
                    globals()[name] = found
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
