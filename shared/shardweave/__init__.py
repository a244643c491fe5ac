"""Shardweave: many entity types in one DynamoDB table, sharded, with exact ordered pages.

What a program may import is what `__all__` names here, `shardweave.routing` for routes of a service's own,
`shardweave.testing` for tests, and `shardweave.cdk` for what deploys; everything else may change. A name is loaded when
it is first asked for, so that a program pays for what it uses.
"""

from typing import TYPE_CHECKING

from .version import __version__

if TYPE_CHECKING:
    from . import errors, shard_key
    from .access.bindings import claim_property, private_property
    from .access.rules import Allow
    from .async_database import AsyncDatabase
    from .codecs import DecimalCodec, SemanticVersion, Timestamp, TimestampSeconds
    from .database import Database
    from .declarations import Index, Lookup, Sequence, Unique, belongs_to, has_many
    from .entity import (
        CanonicalBegin,
        Entity,
        HashKey,
        RangeKey,
        desc,
        nanoid,
        timestamp_property,
        ttl_property,
        unique_property,
        updated_property,
    )
    from .key_format import ARTICLE, ENTITY_MANAGER, ORDERED, KeyFormat
    from .projections import Delete as DeleteRecord
    from .projections import Event, EventProjection
    from .projections import Set as SetRecord
    from .projections import Update as UpdateRecord
    from .query.cursor import CursorKeys
    from .query.shorthand import between, branch, one_of, prefix, where
    from .query.spec import Page
    from .schema import Schema
    from .sharding import ShardBump
    from .store.idempotency import Once as IdempotencyKey
    from .store.operations import Check, Create, Delete, Put, Update

__all__ = [
    "ARTICLE",
    "ENTITY_MANAGER",
    "ORDERED",
    "Allow",
    "AsyncDatabase",
    "CanonicalBegin",
    "Check",
    "Create",
    "CursorKeys",
    "Database",
    "DecimalCodec",
    "Delete",
    "DeleteRecord",
    "Entity",
    "Event",
    "EventProjection",
    "HashKey",
    "IdempotencyKey",
    "Index",
    "KeyFormat",
    "Lookup",
    "Page",
    "Put",
    "RangeKey",
    "Schema",
    "SemanticVersion",
    "Sequence",
    "SetRecord",
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

_MODULES = ("errors", "shard_key")
_PLACES = {
    "access.bindings": ("claim_property", "private_property"),
    "access.rules": ("Allow",),
    "async_database": ("AsyncDatabase",),
    "codecs": ("DecimalCodec", "SemanticVersion", "Timestamp", "TimestampSeconds"),
    "database": ("Database",),
    "declarations": ("Index", "Lookup", "Sequence", "Unique", "belongs_to", "has_many"),
    "entity": (
        "CanonicalBegin",
        "Entity",
        "HashKey",
        "RangeKey",
        "desc",
        "nanoid",
        "timestamp_property",
        "ttl_property",
        "unique_property",
        "updated_property",
    ),
    "key_format": ("ARTICLE", "ENTITY_MANAGER", "ORDERED", "KeyFormat"),
    "projections": ("DeleteRecord=Delete", "Event", "EventProjection", "SetRecord=Set", "UpdateRecord=Update"),
    "query.cursor": ("CursorKeys",),
    "query.shorthand": ("between", "branch", "one_of", "prefix", "where"),
    "query.spec": ("Page",),
    "schema": ("Schema",),
    "sharding": ("ShardBump",),
    "store.idempotency": ("IdempotencyKey=Once",),
    "store.operations": ("Check", "Create", "Delete", "Put", "Update"),
}

if not TYPE_CHECKING:

    def __getattr__(name):
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
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
