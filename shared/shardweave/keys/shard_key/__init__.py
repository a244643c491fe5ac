"""Shard keys: a record's name outside, which says where the record lies.

    identifiers   the types of ids, their order and their bytes
    key           ShardKey, ShardChild, ShardGrandchild, EMPTY
    external      ExternalKeys: a key as one signed, URL-safe text, and back; keys as fields of pydantic models
    properties    keys in separate properties, and the meaning of nulls there
    keyed         lists of records by key: merge, foreign_shards, by_shard

No I/O. A key is a value; only `external` knows secrets.
"""

from __future__ import annotations

from .external import ExternalKeys, OfOrigin, json_context
from .identifiers import Id
from .key import EMPTY, AnyKey, ShardChild, ShardGrandchild, ShardKey, key_of
from .keyed import Keyed, Shard, by_shard, foreign_shards, merge
from .properties import KeyProperties, read_keys

__all__ = [
    "EMPTY",
    "AnyKey",
    "ExternalKeys",
    "Id",
    "KeyProperties",
    "Keyed",
    "OfOrigin",
    "Shard",
    "ShardChild",
    "ShardGrandchild",
    "ShardKey",
    "by_shard",
    "foreign_shards",
    "json_context",
    "key_of",
    "merge",
    "read_keys",
]
