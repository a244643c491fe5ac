"""The policy: when to propose a re-shard, from the numbers of shards in each window.

A shard is overloaded if it has more writes than `writes_per_second`, holds more than `bytes_per_shard`, or had more
than `throttled` throttled requests. A re-shard is proposed after `windows` consecutive windows with an overloaded
shard, and the proposal is dropped after the same number of consecutive windows below half of the limits, so that a
varying load does not lead to varying numbers of shards. Only more shards are proposed: fewer shards save little, and an
operator knows better when they suffice.

If a single record causes most of a shard's writes, more shards would not help; this is reported as advice instead.

The result of a window is a `Verdict`, stored beside the control record so that any process can evaluate the next
window:
    rangeKey   _verdict
    at         when, in epoch milliseconds; writes, hot, throttled: each shard's numbers at that time
    high, low  windows in a row above the limits, and below half of them
    target, why        what is proposed; advice: what is said where shards don't help
    indexes            the same for each generated hash key with shards of its own, see `index_load`

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ...errors import ConfigurationError
from ...keys.sharding import ShardBump, ShardMap
from ...schema.entity_type import REVISION, EntityType
from ...table.values import Item
from ..control import partition_key
from .counters import Load

Mode = Literal["off", "propose", "apply"]
MODES: tuple[Mode, ...] = ("off", "propose", "apply")
VERDICT = "_verdict"
OF_INDEX = "!"
"""Stands between an attribute and a suffix in the name of an index's numbers."""
HOT_SHARE = 0.5
HOT_WRITES = 0.2
"""The share of the limit above which a single record counts as hot."""
MOST_BY_THROTTLING = 1.5
"""The maximum overload assumed for a throttled shard, since throttling does not show the real load."""
MAX_BITS = 20


@dataclass(frozen=True)
class Policy:
    """The limits. A partition of DynamoDB allows 1,000 write units a second, so the default leaves a reserve for
    transactions and peaks; `throttled` is the number of throttled requests in a window; `window_ms` is the minimum
    duration of a window."""

    mode: Mode = "propose"
    writes_per_second: float = 300.0
    bytes_per_shard: int = 8 * 1024**3
    throttled: int = 10
    windows: int = 4
    window_ms: int = 15 * 60_000

    @classmethod
    def of_mode(cls, text: str, where: str) -> Policy:
        """The policy of a mode's name. Raises ConfigurationError."""
        for mode in MODES:
            if mode == text:
                return cls(mode)
        raise ConfigurationError(f"there is no policy {text[:40]!r}", where=where, fix=f"use {', '.join(MODES)}")


@dataclass(frozen=True)
class Standing:
    """What was judged last of a generated hash key with shards of its own: windows in a row above the limits, and below
    half of them, and what is said of it."""

    high: int = 0
    low: int = 0
    advice: str = ""


@dataclass(frozen=True)
class Verdict:
    """The result of the last window."""

    at_ms: int
    writes: Mapping[str, int] = field(default_factory=dict)
    hot: Mapping[str, int] = field(default_factory=dict)
    high: int = 0
    low: int = 0
    target: ShardBump | None = None
    why: str = ""
    advice: str = ""
    throttled: Mapping[str, int] = field(default_factory=dict)
    indexes: Mapping[str, Standing] = field(default_factory=dict)

    def seconds_to(self, now_ms: int) -> float:
        """How long the window has been that ends now."""
        return max(1.0, (now_ms - self.at_ms) / 1000)

    @property
    def advices(self) -> str:
        """All that is said beside a proposal, of indexes too."""
        return _joined(self.advice, *(each.advice for each in self.indexes.values()))

    @property
    def said(self) -> str:
        """What is proposed, or said where shards don't help, and what is said of indexes."""
        return _joined(self.why or self.advice, *(each.advice for each in self.indexes.values()))


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)


def judged(
    policy: Policy, before: Verdict | None, loads: Mapping[str, Load], current: ShardMap, now_ms: int
) -> Verdict:
    """The verdict after another window. The first one only stores the numbers."""
    widths = {generation.space.chars for generation in current.generations}
    live = {suffix: load for suffix, load in loads.items() if OF_INDEX not in suffix and len(suffix) in widths}
    kept = live | {name: load for name, load in loads.items() if OF_INDEX in name}
    noted = Verdict(
        now_ms,
        {name: load.writes for name, load in kept.items()},
        {name: load.hot for name, load in kept.items()},
        throttled={name: load.throttled for name, load in kept.items()},
    )
    if before is None:
        return noted
    seconds = before.seconds_to(now_ms)
    windows = {suffix: Window.of(load, before, seconds) for suffix, load in live.items()}
    use = max((each.use(policy) for each in windows.values()), default=0.0)
    high = before.high + 1 if use > 1 else 0
    low = before.low + 1 if use < 0.5 else 0
    verdict = replace(noted, high=high, low=low, advice=_advice(policy, windows))
    if high >= policy.windows:
        target = _target(current, use)
        return replace(verdict, target=target, why=_why(policy, windows, target))
    if before.target is not None and low < policy.windows:
        return replace(verdict, target=before.target, why=before.why)
    return verdict


@dataclass(frozen=True)
class Window:
    """The load of one shard since the last verdict: writes a second in all, and of its hottest records; throttled
    requests; its size."""

    rate: float
    hottest: float
    throttled: int
    bytes: int

    @classmethod
    def of(cls, load: Load, before: Verdict, seconds: float) -> Window:
        suffix = load.suffix
        return cls(
            (load.writes - before.writes.get(suffix, 0)) / seconds,
            (load.hot - before.hot.get(suffix, 0)) / seconds,
            load.throttled - before.throttled.get(suffix, 0),
            load.bytes,
        )

    def is_of_one_record(self, policy: Policy) -> bool:
        return self.hottest > HOT_WRITES * policy.writes_per_second and self.hottest > HOT_SHARE * self.rate

    def uses(self, policy: Policy) -> tuple[float, float, float]:
        """The utilization of a shard, where more than 1 is an overload: by writes, by size, and by throttling. The load
        of a single record does not count, since more shards would not help."""
        alone = self.is_of_one_record(policy)
        spread = self.rate - self.hottest if alone else self.rate
        throttled = 0.0 if alone else min(MOST_BY_THROTTLING, self.throttled / policy.throttled)
        return spread / policy.writes_per_second, self.bytes / policy.bytes_per_shard, throttled

    def use(self, policy: Policy) -> float:
        return max(self.uses(policy))

    def reason(self, policy: Policy) -> str:
        """The reason with the highest utilization."""
        by_writes, by_bytes, by_throttling = self.uses(policy)
        if by_writes >= max(by_bytes, by_throttling):
            spread = by_writes * policy.writes_per_second
            return (
                f"had {spread:,.0f} writes a second in {policy.windows} windows, and may have "
                f"{policy.writes_per_second:,.0f}"
            )
        if by_bytes >= by_throttling:
            return f"holds {self.bytes:,} bytes, and may hold {policy.bytes_per_shard:,}"
        return f"was throttled {self.throttled:,} times in the last of {policy.windows} windows"


def _target(current: ShardMap, use: float) -> ShardBump | None:
    """The smallest shard space in which a shard has at most half of its limits, with suffixes longer than all present
    ones."""
    chars = max(generation.space.chars for generation in current.generations) + 1
    needed = max(generation.space.shards for generation in current.generations) * use * 2
    for bits in range(1, 6):
        if bits * chars > MAX_BITS:
            return None
        if 2 ** (bits * chars) >= needed:
            return ShardBump(0, bits, chars)
    return None


def _why(policy: Policy, windows: Mapping[str, Window], target: ShardBump | None) -> str:
    fullest = max(windows, key=lambda suffix: windows[suffix].use(policy))
    reason = f"shard {fullest!r} {windows[fullest].reason(policy)}"
    if target is None:
        return f"{reason}; no wider shard space is possible"
    return f"{reason}; in {target.space.shards} shards it would be half of that or less"


def _advice(policy: Policy, windows: Mapping[str, Window]) -> str:
    hot = [suffix for suffix, each in windows.items() if each.is_of_one_record(policy)]
    if not hot:
        return ""
    return (
        f"one record takes most of the writes of shard {', '.join(map(repr, sorted(hot)))}: more shards don't help it"
    )


# -- as a record ------------------------------------------------------------------------------------------------------


def verdict_key(entity: EntityType[Any]) -> dict[str, Any]:
    """The key of the verdict."""
    design = entity.keys.design
    return {design.hash_name: partition_key(entity), design.range_name: VERDICT}


def encode_verdict(entity: EntityType[Any], verdict: Verdict, rev: str) -> dict[str, Any]:
    """The record of a verdict."""
    target = verdict.target
    return {
        **verdict_key(entity),
        "at": verdict.at_ms,
        "writes": _named(verdict.writes),
        "hot": _named(verdict.hot),
        "throttled": _named(verdict.throttled),
        "high": verdict.high,
        "low": verdict.low,
        "target": None if target is None else [target.char_bits, target.chars],
        "why": verdict.why,
        "advice": verdict.advice,
        "indexes": {name: [each.high, each.low, each.advice] for name, each in verdict.indexes.items()},
        REVISION: rev,
    }


def decode_verdict(record: Item) -> Verdict | None:
    """The verdict in a record; None for a damaged record, which the next verdict replaces."""
    try:
        return _decoded(record)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError):
        return None


def _decoded(record: Item) -> Verdict:
    target = record["target"]
    return Verdict(
        at_ms=int(record["at"]),
        writes=_by_suffix(record["writes"]),
        hot=_by_suffix(record["hot"]),
        throttled=_by_suffix(record.get("throttled", {})),
        high=int(record["high"]),
        low=int(record["low"]),
        target=None if target is None else ShardBump(0, int(target[0]), int(target[1])),
        why=str(record["why"]),
        advice=str(record["advice"]),
        indexes={
            name: Standing(int(high), int(low), str(advice))
            for name, (high, low, advice) in record.get("indexes", {}).items()
        },
    )


def _named(numbers: Mapping[str, int]) -> dict[str, int]:
    """Numbers by suffix as a map without empty names (the suffix of a single shard is empty)."""
    return {f"!{suffix}": number for suffix, number in numbers.items()}


def _by_suffix(named: Mapping[str, Any]) -> dict[str, int]:
    return {name.removeprefix("!"): int(number) for name, number in named.items()}
