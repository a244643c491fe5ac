"""Keyed: records that have a key, and what can be done with lists of them by key alone.

Guarantees: every function here is pure, keeps the order that it promises, and takes two records for the same exactly
when their keys are equal. EMPTY is the key of nothing, so it has no shard to read. Costs grow with the lists' lengths;
sorting is over shards, never over records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

from .key import EMPTY, AnyKey

R = TypeVar("R", bound="Keyed")
K = TypeVar("K", bound=AnyKey)


class Keyed(Protocol):
    """Anything with a key."""

    @property
    def key(self) -> AnyKey: ...


class Shard(NamedTuple):
    """One shard of one entity."""

    origin: str
    suffix: str


def merge(master: Iterable[R], replacements: Iterable[R], append_unmatched: bool = False) -> list[R]:
    """The master list, each record replaced by the one of the same key, where there is one.

    The order and number of the master's records stay: a key that stands twice is replaced twice. Of several
    replacements with one key the last counts. Those that match nothing are left out, or, with `append_unmatched`,
    follow in the order in which their keys first came, each key once.
    """
    last = {each.key: each for each in replacements}
    merged = []
    matched = set()
    for record in master:
        key = record.key
        matched.add(key)
        merged.append(last.get(key, record))
    if append_unmatched:
        merged += [record for key, record in last.items() if key not in matched]
    return merged


def foreign_shards(key_or_shard: AnyKey | str, records: Iterable[Keyed]) -> list[str]:
    """The shards that the records lie in, other than the given one (or the one of the given key): each once, sorted."""
    home = key_or_shard if isinstance(key_or_shard, str) else key_or_shard.shard
    return sorted({key.shard for key in (record.key for record in records) if key != EMPTY} - {home})


def by_shard(keys: Iterable[K]) -> dict[Shard, list[K]]:
    """The keys of each shard, to read them together: each key once, in the order in which they came; shards sorted."""
    groups: dict[Shard, list[K]] = {}
    for key in dict.fromkeys(keys):
        if key != EMPTY:
            groups.setdefault(Shard(key.origin, key.shard), []).append(key)
    return {shard: groups[shard] for shard in sorted(groups)}
