"""Rate limits of tenants: counters of requests and of read units in each minute.

Format, one record for each tenant and minute (without a tenant, for each caller):
    hashKey       _rate!3f           a shard that the rest decides
    rangeKey      64 hexadecimal digits, + and a number: SHA-256 of whose it is, and which minute
    _requests     how many requests were taken
    _readUnits    how many read units were spent
    the table's TTL attribute, some minutes later

The second at which a tenant's minute begins is computed from its name, so that not all counters are reset together. A
process reserves requests in lots: one at first, and twice as many each time a lot was used up within a second, up to
the limit's share of a second. So a process with many requests of a tenant writes about once a second.

Exactness. The limit of requests in a tenant's minute is never exceeded, by all processes together; requests that a
process reserved but did not use are lost until the next minute, at most as many as it used in the second before. Read
units are known only after they are spent: each process writes them with its next lot, which it takes as soon as they
reach the limit's share of a second. So the limit can be exceeded by the requests in progress, and by a second's share
for each process. Excess read units don't count in the next minute. Processes with different clocks have slightly
different minutes.

A record that another program damaged counts as new: values that are not numbers start at 0.

Costs: one write unit for each lot, so at most one for each request; one more if a lot did not fit, a few times a
minute; none for requests after the first refusal in a process. If the record can't be written, the request is refused
like other writes; but if the disk is full nothing is counted, so that reads still work.
"""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

from ..errors import ConditionFailed, ConfigurationError, InvalidRequest, RateExceeded, ShardweaveError, TableFull
from ..keys.key_format import crc32
from ..schema.caller import Caller
from ..schema.schema import Schema
from ..store.lookups.lookup_records import LOOKUP_SPACE
from ..table import Table
from ..table.conditions import And, Compare, Condition, Missing, Or
from ..table.metered import metered
from ..table.operations import GetItem, UpdateItem
from ..table.values import Item

MINUTE_MS, SECOND_MS, MINUTE_SECONDS = 60_000, 1000, 60
MOST = 100_000_000
MAX_BUCKETS = 10_000
"""The number of tenants that a process remembers; the unused lots of others are lost."""
MAX_LOT_WITHOUT_LIMIT = 16
KEPT_SECONDS = 600
_HASH, _REQUESTS, _READ_UNITS = "_rate", "_requests", "_readUnits"


@dataclass(frozen=True)
class Rates:
    """The limits of a tenant's minute; 0 means no limit. Raises ConfigurationError."""

    requests: int = 0
    read_units: int = 0

    def __post_init__(self) -> None:
        for name, most in vars(self).items():
            if not 0 <= most <= MOST:
                message = f"a tenant's minute has 0 to {MOST:,}, and 0 is no limit"
                raise ConfigurationError(message, where=name, fix="give a number in it")

    def __bool__(self) -> bool:
        return bool(self.requests or self.read_units)


@dataclass
class _Bucket:
    """The state of one tenant's minute in this process. `owed` are read units that are not written yet."""

    digest: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    minute: int = -1
    tokens: int = 0
    lot: int = 0
    taken_at: int = 0
    refused: str = ""
    owed: float = 0.0

    @property
    def offset_ms(self) -> int:
        return int(self.digest[:8], 16) % MINUTE_MS


class RateLimit:
    """Rate limits with counters in a table; safe for many threads. `clock` returns epoch milliseconds."""

    def __init__(self, schema: Schema, table: Table, rates: Rates, clock: Callable[[], int]) -> None:
        self._schema = schema
        self._table = table
        self._rates = rates
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    @contextmanager
    def spending(self, caller: Caller) -> Iterator[None]:
        """A context for carrying out a request of the caller. Raises RateExceeded if its tenant's limit is reached, and
        the errors of the table."""
        bucket = self._bucket(owner_of(caller))
        with bucket.lock:
            self._take(bucket)
        with metered() as meter:
            try:
                yield
            finally:
                with bucket.lock:
                    bucket.owed += meter.read_units if self._rates.read_units else 0.0

    # -- parts

    def _bucket(self, owner: str) -> _Bucket:
        digest = sha256(owner.encode(errors="surrogatepass")).hexdigest()
        with self._lock:
            bucket = self._buckets.setdefault(digest, _Bucket(digest))
            self._buckets.move_to_end(digest)
            if len(self._buckets) > MAX_BUCKETS:
                self._buckets.popitem(last=False)
        return bucket

    def _take(self, bucket: _Bucket) -> None:
        """Take one request. Raises RateExceeded."""
        now = self._clock()
        minute = (now + bucket.offset_ms) // MINUTE_MS
        if minute != bucket.minute:
            bucket.minute, bucket.tokens, bucket.refused = minute, 0, ""
        if not bucket.refused and (not bucket.tokens or self._is_due(bucket)):
            self._take_lot(bucket, now)
        if bucket.refused:
            raise self._exceeded(bucket, now)
        bucket.tokens -= 1

    def _is_due(self, bucket: _Bucket) -> bool:
        """Whether the unwritten read units have reached the limit's share of a second."""
        return bool(self._rates.read_units) and bucket.owed >= max(1, self._rates.read_units // MINUTE_SECONDS)

    def _take_lot(self, bucket: _Bucket, now: int) -> None:
        """Reserve more requests and write the spent read units, or note which limit is reached."""
        quick = bucket.lot and now - bucket.taken_at < SECOND_MS
        size = 0 if bucket.tokens else min(2 * bucket.lot if quick else 1, self._largest_lot)
        spent = int(bucket.owed)
        while True:
            try:
                with _not_the_callers_write():
                    self._table.run(self._update(bucket, now, size, spent))
            except InvalidRequest:
                if not self._began_anew(bucket, self._stored(bucket)):
                    raise
            except ConditionFailed as failed:
                if self._began_anew(bucket, failed.item or {}):
                    continue
                # Other processes took some meanwhile, so the loop ends.
                size = self._fitting(bucket, failed.item or {}, size)
                if bucket.refused:
                    return
            except TableFull:
                bucket.tokens += 1
                return
            else:
                bucket.owed -= spent
                bucket.tokens += size
                bucket.taken_at = now
                bucket.lot = size or bucket.lot
                return

    def _began_anew(self, bucket: _Bucket, found: Item) -> bool:
        """Whether the stored minute was damaged by another program; what is no number there is 0 from now on."""
        damaged = {name: found[name] for name in (_REQUESTS, _READ_UNITS) if not _is_number(found.get(name, 0))}
        if not damaged:
            return False
        unchanged = And(tuple(Compare(name, "=", value) for name, value in damaged.items()))
        with suppress(ConditionFailed), _not_the_callers_write():
            self._table.run(UpdateItem(self._key(bucket), set=dict.fromkeys(damaged, 0), condition=unchanged))
        return True

    def _stored(self, bucket: _Bucket) -> Item:
        with _not_the_callers_write():
            return self._table.run(GetItem(self._key(bucket), consistent=True)).item or {}

    @property
    def _largest_lot(self) -> int:
        requests = self._rates.requests
        return max(1, requests // MINUTE_SECONDS) if requests else MAX_LOT_WITHOUT_LIMIT

    def _fitting(self, bucket: _Bucket, found: Item, size: int) -> int:
        """How many requests of a lot still fit into the stored minute. Notes which limit is reached."""
        if self._rates.read_units and found.get(_READ_UNITS, 0) >= self._rates.read_units:
            bucket.refused = _READ_UNITS
        left = self._rates.requests - int(found.get(_REQUESTS, 0)) if self._rates.requests else size
        if left < min(1, size):
            bucket.refused = bucket.refused or _REQUESTS
        return min(size, left)

    def _update(self, bucket: _Bucket, now: int, size: int, spent: int) -> UpdateItem:
        ttl = self._schema.layout.ttl_attribute
        return UpdateItem(
            self._key(bucket),
            set={ttl: now // SECOND_MS + KEPT_SECONDS} if ttl else {},
            add={_REQUESTS: size, **({_READ_UNITS: spent} if spent else {})},
            condition=self._condition(size),
            return_on_failure=True,
        )

    def _condition(self, size: int) -> Condition | None:
        tests: list[Condition] = []
        if self._rates.requests:
            tests.append(Or((Missing(_REQUESTS), Compare(_REQUESTS, "<=", self._rates.requests - size))))
        if self._rates.read_units:
            tests.append(Or((Missing(_READ_UNITS), Compare(_READ_UNITS, "<", self._rates.read_units))))
        return And(tuple(tests)) if len(tests) > 1 else tests[0]

    def _key(self, bucket: _Bucket) -> dict[str, Any]:
        name = f"{bucket.digest}+{bucket.minute}"
        shard = LOOKUP_SPACE.suffix_of(crc32(name))
        hash_key = f"{_HASH}{self._schema.key_format.shard_delimiter}{shard}"
        return {self._schema.hash_key: hash_key, self._schema.range_key: name}

    def _exceeded(self, bucket: _Bucket, now: int) -> RateExceeded:
        ends = (bucket.minute + 1) * MINUTE_MS - bucket.offset_ms
        seconds = max(1, math.ceil((ends - now) / SECOND_MS))
        rates, units = self._rates, bucket.refused == _READ_UNITS
        most = f"{rates.read_units:,} read units" if units else f"{rates.requests:,} requests"
        return RateExceeded(
            f"a minute has {most}, which are spent.", retry_after_seconds=seconds, fix=f"ask again in {seconds} s"
        )


@contextmanager
def _not_the_callers_write() -> Iterator[None]:
    """A context in which errors say that the caller's own write was not carried out."""
    try:
        yield
    except ShardweaveError as error:
        error.maybe_written = False
        raise


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def owner_of(caller: Caller) -> str:
    """The owner of the counters of a caller: its tenant, or the caller itself if it has no tenant."""
    names = json.loads(caller.tenant) if caller.tenant else []
    return json.dumps(["tenant", caller.tenant] if any(names) else ["caller", caller.principal])
