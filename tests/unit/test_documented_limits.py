"""The limits and defaults that the guides name are those of the code: each of these sentences is on its page."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from services.issue_tracker import merging
from services.issue_tracker.records import MAX_VALUES
from shardweave import Create, Database, Entity, GraphQL, Lookup, Schema, Unique, belongs_to, unique_property
from shardweave.api import app, bodies, expansion, preconditions, response_size
from shardweave.api.routes import batches, rekey, transactions
from shardweave.cli import deletions
from shardweave.database import shadow
from shardweave.errors import LimitExceeded
from shardweave.keys import entity_keys, sharding
from shardweave.keys.shard_key.external import MAX_TEXT_CHARACTERS
from shardweave.keys.shard_key.identifiers import MAX_ID_BYTES
from shardweave.local import asgi, protocol, serve, server
from shardweave.maintenance import (
    comparing,
    doctor,
    findings,
    importing,
    index_examination,
    late_findings,
    rekey_passes,
    sequences_behind,
    sum_recount,
    sums,
    version_metrics,
    walk,
)
from shardweave.query import cursor, filters, plan, resume, runner, spec
from shardweave.reshard import admin, phases, timings
from shardweave.reshard.load.policy import Policy
from shardweave.schema import nested_elements, read_models
from shardweave.schema.checks import indexes
from shardweave.store import outcomes
from shardweave.store.events import event_applier, record_feed
from shardweave.store.idempotency_keys import MAX_KEY_CHARACTERS
from shardweave.store.lookups import backfill_state, lookup_queries, lookup_records
from shardweave.store.operations import Operation
from shardweave.store.relations import deletion_work
from shardweave.table import conditions as table_conditions
from shardweave.table import operations, retry, values
from shardweave.testing import BEGIN

ROOT = Path(__file__).parents[2]
WORDS = dict(enumerate(["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]))
BODY, MAX_PROBED = app.MAX_BODY_BYTES // 1024**2, backfill_state.MAX_PROBED
POLICY, NORMAL, LANGUAGE = Policy(), phases.Waits(), GraphQL()


def minutes(milliseconds: float) -> int:
    return round(milliseconds / 60_000)


SAID: dict[str, tuple[str, ...]] = {
    "README.md": (
        f"the API of a sample service, with 5,000 users, on http://127.0.0.1:{serve.parser().get_default('port')}",
    ),
    "modelling.md": (
        f"at most {minutes(sharding.WRITE_AHEAD_MS)} minutes ahead of the clock",
        f"there are at most {sharding.MAX_SHARDS:,} shards",
        f"The limits are {values.MAX_HASH_KEY_BYTES - entity_keys.RESERVE_BYTES:,} bytes for a hash key",
        f"(DynamoDB's {values.MAX_HASH_KEY_BYTES:,}, less",
        f"and {values.MAX_RANGE_KEY_BYTES:,} bytes for a range key",
        f"A table has at most {indexes.MAX_INDEXES} indexes and at most {indexes.MAX_PROJECTED} projected properties",
    ),
    "writing.md": (
        f"A map is used for at most {timings.SHORTEST_LEASE_MS} ms after it was read",
        f"otherwise tries again, up to {retry.CONTENDED.attempts} times",
        f"with at most {operations.MAX_TRANSACTION_ACTIONS} actions on the table",
    ),
    "querying.md": (
        f"for `in`, 1 to {table_conditions.MAX_CHOICES} values",
        f"the limit of {plan.MAX_LANES:,}; the branches of all count towards {spec.MAX_BRANCHES}",
        f"It is valid for {cursor.DEFAULT_LIFE_MS // 3_600_000} hours after the first page",
        f"from the table afterwards, {operations.MAX_BATCH_GET} in a request",
        f"Each process reads up to {walk.LANES} hash keys or parts of the table at once",
        f"or there are more than {walk.MAX_HASH_KEYS:,} of them",
        f"The token stores the positions of up to {WORDS[resume.MAX_LAGGING]} failed lanes",
    ),
    "relations-and-lookups.md": (
        f"A record has at most {lookup_records.MAX_MEMBERS} distinct members in each such lookup",
        f"a page | at most {lookup_queries.MAX_FOUND} records",
        f"in a table of at most {backfill_state.PAGE} items, or if the entity has at most {MAX_PROBED} shards",
        f"One deletion takes at most {outcomes.SECONDS:.0f} seconds",
        f"holds it for its time, {deletions.SECONDS + deletion_work.MARGIN_MS / 1000:.0f} seconds for the command",
    ),
    "beyond-one-transaction.md": (
        f"at most {operations.MAX_TRANSACTION_ACTIONS} records, or {operations.MAX_TRANSACTION_ACTIONS // 2} while",
    ),
    "read-models.md": (
        f"The marker is kept for {read_models.REMEMBER_DAYS} days (`remember_days`)",
        f"one transaction, with at most {event_applier.MAX_ACTIONS} records",
        f"**{record_feed.MAX_TARGETS} records.** One record adds to at most {record_feed.MAX_TARGETS} others",
        f"{record_feed.AT_ONCE} of them change in one transaction",
    ),
    "types.md": (f"up to {nested_elements.MAX_STEPS} steps deep",),
    "shard-keys.md": (
        f"up to {MAX_ID_BYTES:,} bytes of UTF-8",
        f"A text with more than {MAX_TEXT_CHARACTERS:,} characters is refused",
    ),
    "graphql.md": (
        f"`limit` (by default {spec.DEFAULT_LIMIT}, at most {spec.MAX_LIMIT})",
        f"`max_depth` | {LANGUAGE.max_depth} |",
        f"`max_fields` | {LANGUAGE.max_fields} |",
        f"`max_cost` | {LANGUAGE.max_cost:,} |",
    ),
    "http-queries.md": (
        f"1 to {spec.MAX_LIMIT}, by default {spec.DEFAULT_LIMIT}",
        f"at most {spec.MAX_TIME_LIMIT_MS:,}",
        f"{spec.MAX_BRANCHES} branches (each value of a list counts as a branch), {filters.MAX_NODES} nodes and",
        f"{filters.MAX_DEPTH} levels of a filter, {spec.MAX_LIMIT} records on a page, a time limit of one hour,",
        f"a budget of {spec.MAX_BUDGET:,} reads, and a body of {BODY} MB with at most {bodies.MAX_DEPTH} levels",
        f"One query spends at most {runner.MAX_READ_UNITS:,} read units",
        f"A request reads at most {expansion.MAX_RELATED:,} related records",
        f"its records and their related records reach {response_size.MAX_PAGE_BYTES // 1024**2} MB",
    ),
    "http-records.md": (
        f"It has at most {BODY} MB, {bodies.MAX_DEPTH} levels, {bodies.MAX_NAMES:,} names in all its objects,",
        f"and {bodies.MAX_VALUES:,} values in its objects and lists",
        f"(or one of up to {preconditions.MAX_TAGS})",
        f"A batch has up to {batches.MAX_ITEMS} different records",
        f"A batch has at most {batches.MAX_SECONDS:.0f} seconds",
        f"carries out up to {transactions.MAX_OPERATIONS} operations",
        f"`Idempotency-Key` (1 to {MAX_KEY_CHARACTERS} visible ASCII characters",
        f"DynamoDB limits a record to {values.MAX_ITEM_BYTES:,} bytes",
        f"Shardweave reserves {entity_keys.RESERVE_BYTES} bytes for each sharded key",
    ),
    "http-server.md": (
        f"a request line and headers of more than {protocol.MAX_HEAD_BYTES // 1024} KiB together",
        f"request line and headers not complete within {protocol.HEAD_SECONDS:.0f} seconds,",
        f"or a body not complete within {asgi.BODY_SECONDS:.0f} seconds",
        f"more than {protocol.MAX_CONNECTIONS:,} connections, or more than {protocol.MAX_PIPELINED} requests pipelined",
        f"requests that read | {serve.THREADS} running, {asgi.WAITING_READS} waiting",
        f"requests that write | {serve.THREADS // 2} running, {asgi.WAITING_WRITES} waiting",
        f"a connection between two requests | {server.IDLE_SECONDS} seconds",
        f"requests in progress have {server.GRACE_SECONDS} seconds to finish",
    ),
    "export-import.md": (f"of which the first {importing.MAX_EXAMPLES} are listed",),
    "comparing.md": (
        f"The report names the first {comparing.MAX_EXAMPLES} records that differ",
        f"those that find {shadow.MAX_WAITING} others waiting",
        f"`shadow.samples` has the first {shadow.MAX_SAMPLES} differences",
        f"fewer than {version_metrics.LEAST} requests",
    ),
    "doctor.md": (
        f"the keys of the first {findings.MAX_NAMED}",
        f"the first {sequences_behind.MAX_KNOWN:,} sequences",
        f"more than are kept ({doctor.MAX_POSTPONED_SAVED})",
        f"each {index_examination.MAX_PLACES:,} entries",
        f"counted again in passes over the whole table, {sums.MAX_HELD:,} at a time",
        f"up to {sum_recount.MAX_TOGETHER} items in one or more transactions",
        f"looked at again after {late_findings.LATE_SECONDS:.0f} seconds",
        f"A number that keeps changing is summed up to {WORDS[sum_recount.PASSES]} times",
    ),
    "bringing-a-table-in.md": (
        f"a run, for about {rekey.RUN_SECONDS:.0f} seconds",
        f"at least once in a lease ({NORMAL.lease_ms // 1000} s)",
        f"It writes up to {rekey_passes.RECORDS_A_TRANSACTION} records in a transaction",
    ),
    "operating-resharding.md": (
        f"a shard had over {POLICY.writes_per_second:.0f} writes a second,",
        f"held over {POLICY.bytes_per_shard // 1024**3} GiB, or was throttled over {POLICY.throttled} times,",
        f"in {WORDS[POLICY.windows]} consecutive windows of {minutes(POLICY.window_ms)} minutes",
        f"They assume {admin.USUAL_RATE} copied and {admin.USUAL_EMPTYING} removed records a second",
        f"Without a rate, this limit is {timings.DEPLOYED_PACE.into_key}",
    ),
    "issue-tracker.md": (
        f"A request moves as many issues as it has time for, at most {merging.MAX_MOVES * merging.AT_ONCE:,}",
        f"A merge is a sequence of transactions of up to {merging.AT_ONCE} issues each",
        f"each request skips up to {merging.LAGS * merging.AT_ONCE} numbers",
        f"custom values of an issue | {MAX_VALUES},",
    ),
    "testing.md": (f"The clock starts on {BEGIN:%-d %B %Y}",),
}


@pytest.mark.parametrize(("page", "sentence"), [(page, said) for page, every in SAID.items() for said in every])
def test_a_page_says_what_holds(page: str, sentence: str) -> None:
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    assert sentence in " ".join(path.read_text(encoding="utf-8").split())


class Parent(Entity, token="parent"):
    parent_id: str = unique_property()


class Child(Entity, token="child"):
    child_id: str = unique_property()
    parent_id: str
    parent = belongs_to(Parent, by="parent_id", enforced=True)


class NamedChild(Entity, token="named"):
    child_id: str = unique_property()
    parent_id: str
    code: str
    place: str
    codes = Unique("code")
    places = Lookup("place")
    parent = belongs_to(Parent, by="parent_id", enforced=True)


@pytest.mark.parametrize(("model", "most"), [(Child, 98), (NamedChild, 32)])
def test_so_many_children_are_written_in_one_transaction(model: type[Entity], most: int) -> None:
    guide = " ".join((ROOT / "docs" / "relations-and-lookups.md").read_text(encoding="utf-8").split())
    assert "count as one write: up to 98, or 32 if each has two lookups" in guide
    more = {"code": "c", "place": "p"} if model is NamedChild else {}
    with Database(Schema([Parent, Child, NamedChild])) as db:
        db.create(Parent(parent_id="p"))

        def creates(count: int) -> list[Create]:
            every = [{"child_id": f"{n}", "parent_id": "p", **dict.fromkeys(more, f"{n}")} for n in range(count)]
            return [Create(each, model) for each in every]

        with pytest.raises(LimitExceeded):
            db.transact(creates(most + 1))
        assert len(db.transact(creates(most))) == most


@pytest.mark.parametrize("page", ["writing.md", "glossary.md"])
def test_a_page_names_every_operation(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [each.__name__ for each in get_args(Operation) if f"`{each.__name__}`" not in text] == []
