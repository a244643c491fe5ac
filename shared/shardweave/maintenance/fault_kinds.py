"""The kinds of faults that the doctor finds: name, description, causes, and the effect of a repair.

A kind is *repairable* when what is right follows from what is stored and nothing is lost by writing it. It *needs a
person* when somebody has to say what is right, or another program's work would be undone.

Pure.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Severity(enum.Enum):
    """Whether `--repair` puts it right."""

    REPAIRABLE = "repairable"
    NEEDS_A_PERSON = "needs a person"


@dataclass(frozen=True)
class FaultKind:
    """One kind of fault."""

    name: str
    severity: Severity
    what: str
    comes: str
    repair: str


_R, _P = Severity.REPAIRABLE, Severity.NEEDS_A_PERSON

_LISTED = (
    FaultKind(
        "missing_key",
        _R,
        "a record lacks a generated property that its declaration gives it, so it is not in an index",
        "the property was added to a filled table; another program wrote the record",
        "the record is written as its next write would leave it",
    ),
    FaultKind(
        "stale_key",
        _R,
        "a generated property says something else than the record's properties",
        "another program changed a property and not the keys that are made of it",
        "as `missing_key`",
    ),
    FaultKind(
        "superfluous_key",
        _R,
        "a record has a generated property that its declaration does not give it",
        "a property was made None by another program; a `HashKey` or `RangeKey` was taken away",
        "as `missing_key`",
    ),
    FaultKind(
        "stray_record",
        _R,
        "a record lies in another shard or generation than its id and time say, where its id is not found",
        "another program placed it; a shard bump was added that had begun",
        "it is moved where it belongs, if nothing is there and no records of the entity are being moved",
    ),
    FaultKind(
        "duplicate_id",
        _P,
        "two records have one id",
        "another program created one of them; two processes had different shard maps",
        "none: both keys are given; say which one is right, and remove the other",
    ),
    FaultKind(
        "copy_differs",
        _P,
        "while records move, a marked record and its copy in the other shard space differ, or one is missing",
        "another program wrote one of the two",
        "none: the re-shard verifies before it goes on, and stops where it has to",
    ),
    FaultKind(
        "reshard_remains",
        _R,
        "a record, or an item of work, of a re-shard that has ended is still there",
        "another program wrote to the old shard space after it was emptied",
        "it is removed, if it bears the mark of the re-shard or belongs to its bookkeeping",
    ),
    FaultKind(
        "impossible_mark",
        _P,
        "a record bears the mark of a re-shard that has not been started, so that every write of it is refused",
        "the control record was removed, or put back from a copy",
        "none: put the control record back as it was",
    ),
    FaultKind(
        "unreadable_record",
        _P,
        "a record does not fit its declaration, or its key is not that of its properties",
        "another program, or a newer version, wrote it; a property was added that is required; an upgrade fails",
        "none: correct what is stored, or let the entity take it",
    ),
    FaultKind(
        "unknown_item",
        _P,
        "an item is of no entity of the schema, and none that the library keeps",
        "an entity or a lookup was taken away; another program uses the table",
        "none: remove it, or leave the kind out with `--skip unknown_item`",
    ),
    FaultKind(
        "lookup_missing",
        _R,
        "a record is not found by a value, or by its id, that it has a lookup for",
        "another program wrote or removed it; a lookup was added and not filled",
        "the lookup record is written, unless another live record has the value",
    ),
    FaultKind(
        "lookup_stale",
        _R,
        "a lookup record is its record's and says something else than it, such as another expiry or place",
        "another program changed one of the two",
        "the lookup record is written anew",
    ),
    FaultKind(
        "lookup_dangling",
        _R,
        "a lookup record leads to no record, or to one that has another value",
        "another program removed or changed the record",
        "it is removed",
    ),
    FaultKind(
        "lookup_damaged",
        _R,
        "a lookup record does not say whose it is",
        "another program wrote it",
        "it is removed; the record that lacks it then gets its own",
    ),
    FaultKind(
        "value_held_twice",
        _P,
        "two live records have one unique value",
        "another program wrote one of them; a `Unique` was added to a table that has such records",
        "none: both keys are given; change one of the values",
    ),
    FaultKind(
        "lookup_not_filled",
        _P,
        "a lookup or an enforced relation does not hold all records, and is refused to whoever relies on it",
        "it was added to a filled table",
        "none: run `shardweave backfill` once no older version writes",
    ),
    FaultKind(
        "expired_item",
        _R,
        "a lookup record, or an item that the library keeps for a time, expired over a week ago and is still there",
        "the table's TTL is turned off, or is set to another attribute",
        "it is removed",
    ),
    FaultKind(
        "expired_record",
        _P,
        "a record expired over a week ago and is still there, unseen",
        "as `expired_item`",
        "none: set the table's TTL to the schema's attribute",
    ),
    FaultKind(
        "sequence_behind",
        _R,
        "a record's number is above the last one that its sequence says was given",
        "numbers were imported or given by hand; the counter was removed, or put back from a copy",
        "the sequence goes on above the number",
    ),
    FaultKind(
        "counter_damaged",
        _P,
        "a counter of a sequence, or of a parent's children, holds what is no number",
        "another program wrote it",
        "none: set it to the highest number that was given, or remove it and count children again",
    ),
    FaultKind(
        "deletion_stopped",
        _R,
        "a record is being deleted with all that belongs to it, and nobody has gone on with that for half an hour",
        "the process that did it has ended, and nothing calls `continue_deletions`",
        "the deletion goes on, for up to a minute at each run",
    ),
    FaultKind(
        "deletion_remains",
        _R,
        "a counter of children says that its parent is being deleted, and nothing is stored of that, or the reverse",
        "another program removed one of the two, or put it back from a copy",
        "what is there alone is removed: children can be created again, and the record can be deleted again",
    ),
    FaultKind(
        "counter_dangling",
        _R,
        "a counter of children has no parent, and counts none",
        "another program removed the parent",
        "it is removed",
    ),
    FaultKind(
        "counter_wrong",
        _R,
        "a parent's counter says another number than it has children that are counted",
        "another program created or removed children",
        "it is set to what was counted, if it still says what it said",
    ),
    FaultKind(
        "uncounted_child",
        _R,
        "a record belongs to a parent by an enforced relation and is not counted there",
        "another program wrote it; the relation was added and not filled",
        "it is counted",
    ),
    FaultKind(
        "parent_missing",
        _P,
        "a record belongs by an enforced relation to a parent that is not there",
        "another program removed the parent",
        "none: make the parent again, or remove the child",
    ),
    FaultKind(
        "count_missing",
        _R,
        "a record adds to a read model and was not counted, though it has not changed for 15 seconds or more",
        "the read model was declared for a filled table and not rebuilt; its changes are not, or not yet, handled",
        "it is counted, as if the stream had told of it again",
    ),
    FaultKind(
        "count_stale",
        _R,
        "a record adds something else to a read model than was counted of it, for 15 seconds or more",
        "a change was not handled; `project` was changed and the read model not rebuilt; another program wrote it",
        "the numbers get the difference",
    ),
    FaultKind(
        "count_dangling",
        _R,
        "a record is counted in a read model, and is not there any more, for 15 seconds or more",
        "its removal was not handled",
        "what it added is taken away, unless a reset has settled it",
    ),
    FaultKind(
        "uncountable_record",
        _P,
        "`project` of a read model fails for a record, which adds what it added before",
        "the function has an error, or adds what can't be added",
        "none: correct the function, and run `shardweave rebuild`",
    ),
    FaultKind(
        "sum_wrong",
        _R,
        "a number of a read model is not the sum of what was counted since its last reset",
        "another program, or an update, changed it",
        "it is set to the sum, if its record has not been changed",
    ),
    FaultKind(
        "sum_lost",
        _P,
        "records were counted in a record of a read model that is not there, or was made again without its resets",
        "it was removed by hand; another program changed what is remembered of the records",
        "none: run `shardweave rebuild`, which counts everything again, also what lost resets had settled",
    ),
    FaultKind(
        "index_entry_missing",
        _P,
        "an index does not show a record at its keys",
        "the index is still being filled, or is far behind",
        "none: see whether it goes away; write the record again (`shardweave rewrite` does not, if it is right)",
    ),
    FaultKind(
        "index_entry_left",
        _P,
        "an index shows a record where it is not",
        "the index is far behind",
        "none: see whether it goes away",
    ),
    FaultKind(
        "control_unreadable",
        _P,
        "the record about an entity's re-shard can't be read, or is in a state that can't be",
        "another program, or a newer version, wrote it",
        "none: put it back as it was; until then nothing of the entity is read or written",
    ),
    FaultKind(
        "declaration_differs",
        _P,
        "records move by another declaration than this one, or a new bump is too narrow",
        "the declaration was changed during or after a re-shard",
        "none: go on with the declaration from before",
    ),
    FaultKind(
        "reshard_stopped",
        _P,
        "a re-shard needs someone to look",
        "what `shardweave reshard status` says",
        "none: `shardweave reshard resume` after a look",
    ),
    FaultKind(
        "bookkeeping_damaged",
        _P,
        "an item of work or a verdict of a re-shard, a marker, or what a read model keeps of a record can't be read",
        "another program wrote it",
        "none: put it back as it was, or remove it with the table's own tools",
    ),
    FaultKind(
        "layout_differs",
        _P,
        "the table or an index is not as the schema says, or not active",
        "an index is being built; the stack that was deployed is another one's",
        "none: deploy the schema's stack, or wait",
    ),
)

KINDS = {each.name: each for each in _LISTED}
"""Every kind by its name."""


def kinds_table() -> str:
    """The kinds as a table for the guides."""
    rows = ["| kind | what it is | how it comes about | what `--repair` does |", "| --- | --- | --- | --- |"]
    for each in KINDS.values():
        mark = "" if each.severity is Severity.REPAIRABLE else " (*needs a person*)"
        rows.append(f"| `{each.name}`{mark} | {each.what} | {each.comes} | {each.repair} |")
    return "\n".join(rows) + "\n"
