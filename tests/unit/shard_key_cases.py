"""Ids of every type, and keys of every kind, for the tests of shard keys."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

from hypothesis import strategies as st

from shardweave.keys.shard_key import AnyKey, ExternalKeys, Id, ShardChild, ShardGrandchild, ShardKey

KINDS: tuple[type[AnyKey], ...] = (ShardKey, ShardChild, ShardGrandchild)

KEYS = ExternalKeys("k1", {"k1": b"1" * 32})

_DIGITS = st.tuples(st.integers(0, 1), st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(-200, 200))

IDS: dict[type, st.SearchStrategy[Id]] = {
    str: st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    int: st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from([0, -1, 127, 128, 255, 256, -128, -129, -(2**63), 2**63, 2**64 - 1]),
    uuid.UUID: st.uuids(),
    Decimal: st.builds(Decimal, _DIGITS) | st.sampled_from(["0", "-0", "0.00", "1E+5", "1.0", "1.00"]).map(Decimal),
    bool: st.booleans(),
    dt.datetime: st.datetimes(timezones=st.just(dt.UTC)).map(lambda moment: moment.replace(fold=0)),
    dt.date: st.dates(),
    dt.timedelta: st.timedeltas(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bytes: st.binary(max_size=40),
}
"""Ids in plain form, by their type."""

any_id: st.SearchStrategy[Id] = st.one_of(*IDS.values())
origins = st.sampled_from("ueXZ19")
shards = st.text("0123456789abcdefghijklmnopqrstuv", max_size=16)


def keys_of(
    kind: type[AnyKey], ids: st.SearchStrategy[Id] = any_id, origin: st.SearchStrategy[str] = origins
) -> st.SearchStrategy[AnyKey]:
    """Keys of one kind."""
    return st.builds(kind, origin, shards, *([ids] * len(kind.id_names)))


any_key: st.SearchStrategy[AnyKey] = st.one_of(*map(keys_of, KINDS))

few_keys: st.SearchStrategy[AnyKey] = st.one_of(
    *(
        st.builds(
            kind,
            st.sampled_from("ue"),
            st.sampled_from(["", "0", "00"]),
            *([st.sampled_from([0, 1, True, 1.0, Decimal(1), Decimal("1.0"), "1", "", b"1"])] * len(kind.id_names)),
        )
        for kind in KINDS
    )
)
"""Keys that are often the same, or differ in an id's type alone."""


def same(one: Id, other: Id) -> bool:
    """Whether two ids are the same in type, digits and bits."""
    return type(one) is type(other) and repr(one) == repr(other)
