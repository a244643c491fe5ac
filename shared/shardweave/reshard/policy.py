"""When to re-shard: what the numbers of shards say, judged window by window.

A shard is too small for its load when more is written to it than `writes_per_second` allows, or it holds more than
`bytes_per_shard`. One window that says so proposes nothing; `windows` of them in a row do, and the proposal stands
until as many in a row are below half of the limits. So a load that goes up and down does not make shards go up and
down. Only growth is proposed: fewer shards save little, and an operator knows better when.

A record that takes most of its shard's writes by itself is not helped by more shards: that is said instead.

What is judged is a `Verdict`, kept beside the control record so that any process can judge the next window:
    rangeKey   _verdict
    at         when, in epoch milliseconds; writes, hot: each shard's numbers at that time
    high, low  windows in a row above the limits, and below half of them
    target, why        what is proposed; advice: what is said where shards don't help

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..entity_type import REVISION, EntityType
from ..errors import ConfigurationError
from ..sharding import ShardBump, ShardMap
from ..table.values import Item
from .control import partition_key
from .signal import Load

Mode = Literal["off", "propose", "apply"]
MODES: tuple[Mode, ...] = ("off", "propose", "apply")
VERDICT = "_verdict"
HOT_SHARE = 0.5
HOT_WRITES = 0.2
"""The share of the limit from which on a single record counts as hot."""
MAX_BITS = 20


@dataclass(frozen=True)
class Policy:
    """The limits. A partition of DynamoDB takes 1,000 write units a second, so the default leaves room for transactions
    and peaks; `window_ms` is how long one window lasts at least."""

    mode: Mode = "propose"
    writes_per_second: float = 300.0
    bytes_per_shard: int = 8 * 1024**3
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
class Verdict:
    """What was judged last."""

    at_ms: int
    writes: Mapping[str, int] = field(default_factory=dict)
    hot: Mapping[str, int] = field(default_factory=dict)
    high: int = 0
    low: int = 0
    target: ShardBump | None = None
    why: str = ""
    advice: str = ""


def judged(
    policy: Policy, before: Verdict | None, loads: Mapping[str, Load], current: ShardMap, now_ms: int
) -> Verdict:
    """The verdict after one more window. The first one only notes the numbers."""
    live = {suffix: load for suffix, load in loads.items() if len(suffix) in _widths(current)}
    noted = Verdict(
        now_ms,
        {suffix: load.writes for suffix, load in live.items()},
        {suffix: load.hot for suffix, load in live.items()},
    )
    if before is None:
        return noted
    seconds = max(1.0, (now_ms - before.at_ms) / 1000)
    rates = {suffix: (load.writes - before.writes.get(suffix, 0)) / seconds for suffix, load in live.items()}
    hottest = {suffix: (load.hot - before.hot.get(suffix, 0)) / seconds for suffix, load in live.items()}
    spread = {
        suffix: rate - (hottest[suffix] if _is_one_record(policy, rate, hottest[suffix]) else 0.0)
        for suffix, rate in rates.items()
    }
    use = max((_use(policy, spread[suffix], live[suffix]) for suffix in live), default=0.0)
    high = before.high + 1 if use > 1 else 0
    low = before.low + 1 if use < 0.5 else 0
    verdict = replace(noted, high=high, low=low, advice=_advice(policy, rates, hottest))
    if high >= policy.windows:
        target = _target(current, use)
        return replace(verdict, target=target, why=_why(policy, spread, live, target))
    if before.target is not None and low < policy.windows:
        return replace(verdict, target=before.target, why=before.why)
    return verdict


def _widths(current: ShardMap) -> set[int]:
    return {generation.space.chars for generation in current.generations}


def _is_one_record(policy: Policy, rate: float, hottest: float) -> bool:
    return hottest > HOT_WRITES * policy.writes_per_second and hottest > HOT_SHARE * rate


def _use(policy: Policy, rate: float, load: Load) -> float:
    """How much of what a shard may take it takes; over 1 is too much."""
    return max(rate / policy.writes_per_second, load.bytes / policy.bytes_per_shard)


def _target(current: ShardMap, use: float) -> ShardBump | None:
    """The smallest space in which a shard takes half of what it may, or less, with suffixes wider than any now."""
    chars = max(_widths(current)) + 1
    needed = max(generation.space.shards for generation in current.generations) * use * 2
    for bits in range(1, 6):
        if bits * chars > MAX_BITS:
            return None
        if 2 ** (bits * chars) >= needed:
            return ShardBump(0, bits, chars)
    return None


def _why(policy: Policy, rates: Mapping[str, float], loads: Mapping[str, Load], target: ShardBump | None) -> str:
    fullest = max(loads, key=lambda suffix: _use(policy, rates[suffix], loads[suffix]))
    rate, load = rates[fullest], loads[fullest]
    if rate / policy.writes_per_second >= load.bytes / policy.bytes_per_shard:
        reason = f"shard {fullest!r} had {rate:,.0f} writes a second in {policy.windows} windows, and may have "
        reason += f"{policy.writes_per_second:,.0f}"
    else:
        reason = f"shard {fullest!r} holds {load.bytes:,} bytes, and may hold {policy.bytes_per_shard:,}"
    if target is None:
        return f"{reason}; no wider shard space is possible"
    return f"{reason}; in {target.space.shards} shards it would be half of that or less"


def _advice(policy: Policy, rates: Mapping[str, float], hottest: Mapping[str, float]) -> str:
    hot = [suffix for suffix in rates if _is_one_record(policy, rates[suffix], hottest[suffix])]
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
        "high": verdict.high,
        "low": verdict.low,
        "target": None if target is None else [target.char_bits, target.chars],
        "why": verdict.why,
        "advice": verdict.advice,
        REVISION: rev,
    }


def decode_verdict(record: Item) -> Verdict:
    """The verdict of a record."""
    target = record["target"]
    return Verdict(
        at_ms=int(record["at"]),
        writes=_by_suffix(record["writes"]),
        hot=_by_suffix(record["hot"]),
        high=int(record["high"]),
        low=int(record["low"]),
        target=None if target is None else ShardBump(0, int(target[0]), int(target[1])),
        why=str(record["why"]),
        advice=str(record["advice"]),
    )


def _named(numbers: Mapping[str, int]) -> dict[str, int]:
    """Numbers by suffix as a map whose names are never empty, as the suffix of a single shard is."""
    return {f"!{suffix}": number for suffix, number in numbers.items()}


def _by_suffix(named: Mapping[str, Any]) -> dict[str, int]:
    return {name.removeprefix("!"): int(number) for name, number in named.items()}
