"""Writing and reading records by identity or by a value that is kept unique.

store        the store: the methods that applications call
operations   operations as values, outcomes of a batch
writing/     a write: preparing the record, the steps and actions, the transaction, sending it
reader       consistent reads by identity
attempts     the clock time and shard maps of one attempt
locations    the primary keys where a record is, or could be
batches      writes of many records at once
lookups/     lookup records: unique values, finding records by a value, backfill, the catalog
relations/   relations: loading related records, enforced relations, deleting a parent
events/      read models: applying events, and sums over records
sequences    numbers for new records
idempotency  stored answers; idempotency_keys: the keys and answers as values
outcomes     what writes are given and end with, as values
write_parts  the parts that write, made and imported with the first write
noticed      unreadable records that a request met
parts        the parts of a store, for maintenance
"""

from ..table.retry import RetryClock
from .idempotency_keys import IdempotencyKey, KeptAnswer
from .lookups.lookup_queries import FoundPage
from .operations import (
    Add,
    Apply,
    BatchWriteResult,
    Check,
    Create,
    Delete,
    Operation,
    Put,
    Reset,
    Update,
    WriteOutcome,
    Written,
)
from .outcomes import Applied, BackfillReport
from .store import Store

__all__ = [
    "Add",
    "Applied",
    "Apply",
    "BackfillReport",
    "BatchWriteResult",
    "Check",
    "Create",
    "Delete",
    "FoundPage",
    "IdempotencyKey",
    "KeptAnswer",
    "Operation",
    "Put",
    "Reset",
    "RetryClock",
    "Store",
    "Update",
    "WriteOutcome",
    "Written",
]
