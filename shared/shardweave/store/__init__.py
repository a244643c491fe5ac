"""Writing and reading records by identity.

store        the store: what an application calls
operations   operations as values, outcomes of a batch
drafts       from what is given to checked properties
places       where a record is, or could be
lookups      lookup records, which keep values unique over all shards
actions      the actions and conditions of every write
steps        one operation: what it reads, plans, and does when refused
writer       read, plan, send, and again
reads        consistent reads by identity
sending      one write until its outcome is known
batches      many records, each on its own
retries      how often, how long
"""

from .operations import BatchWriteResult, Check, Create, Delete, Operation, Put, Update, WriteOutcome
from .retries import Waiting
from .store import Store

__all__ = [
    "BatchWriteResult",
    "Check",
    "Create",
    "Delete",
    "Operation",
    "Put",
    "Store",
    "Update",
    "Waiting",
    "WriteOutcome",
]
