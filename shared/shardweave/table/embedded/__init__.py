"""The embedded table: DynamoDB's behaviour on SQLite, with only the standard library, in a file or in memory.

It is the local default and the users' test double, so it behaves like DynamoDB, including errors: keys are ordered by
UTF-8 bytes and by exact decimals, ties in an index have a stable order that is not the table key's, start keys need not
name an item, filters see what an index projects, pages end at `limit` or 1 MB with a last key, transactions have tokens
and reasons, changes create stream records, writes without a change create none, an update that only removes attributes
creates no item, equal numbers are the same. It differs from DynamoDB in one way only: indexes and all reads are up to
date (unless faults are injected).

Guarantees: a write that returned survives the death of the process (kill -9); see `connections` for what a power
failure may take. Many threads, and many processes on one file, may use it at once: reads go on beside a write, writes
take turns. Costs: `pages` for reads, `writes` for writes, `files` for how it lies on disk.
"""

from .connections import BUSY_SECONDS
from .files import holds_hash_keys, holds_items, stored_items
from .table import EmbeddedTable

__all__ = ["BUSY_SECONDS", "EmbeddedTable", "holds_hash_keys", "holds_items", "stored_items"]
