"""Writing and reading records by identity or by a value that is kept unique.

store        the store: what an application calls
operations   operations as values, outcomes of a batch
drafts       from what is given to checked properties
places       where a record is, or could be
lookups      lookup records, which find records by a value over all shards
claims       how values are taken, kept and given up
parents      enforced relations: the protocol between children and parents
removing     deleting a parent whose children go, or are let go, before it
planned      planned actions, and conditions on records
checks       actions that only require
actions      the actions and conditions of every write
mirroring    the copy that every write keeps while its entity moves
steps        one operation: what it reads, plans, and does when refused
combining    several operations as one transaction
writer       read, plan, send, and again
reads        consistent reads by identity
sending      one write until its outcome is known
batches      many records, each on its own
finding      records by a value
numbering    sequences
expanding    relations of many records at once
readiness    whether a lookup holds all records
backfill     filling one that was added to a filled table; filling: one record of it
idempotency  a request repeated is answered as the first time
merging      what events make of one record
projecting   events carried out once, whole and in order
catalog      by what an application can find records
retries      how often, how long
"""

from ..table.retry import RetryClock
from .events.event_applier import Applied
from .idempotency import IdempotencyKey, KeptAnswer
from .lookups.backfill import BackfillReport
from .lookups.catalog import CatalogEntry, catalog
from .lookups.lookup_queries import FoundPage
from .operations import Add, BatchWriteResult, Check, Create, Delete, Operation, Put, Update, WriteOutcome, Written
from .store import Store

__all__ = [
    "Add",
    "Applied",
    "BackfillReport",
    "BatchWriteResult",
    "CatalogEntry",
    "Check",
    "Create",
    "Delete",
    "FoundPage",
    "IdempotencyKey",
    "KeptAnswer",
    "Operation",
    "Put",
    "RetryClock",
    "Store",
    "Update",
    "WriteOutcome",
    "Written",
    "catalog",
]
