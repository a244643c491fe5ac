"""Fixtures for tests of properties with members: buyers in a store, and an API on the same new table."""

from __future__ import annotations

from typing import Any

from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.schema.schema import Schema
from shardweave.store import RetryClock, Store
from tests.integration.conftest import OpenTable
from tests.unit.api_world import CURSOR_KEYS, Client, api_of


class Buyers:
    """Records of the entity `buyer` of a schema."""

    def __init__(self, schema: Schema, open_table: OpenTable) -> None:
        self._schema = schema
        self.table = open_table(schema.layout)
        self.store = Store(schema, self.table, waiting=RetryClock(sleep=lambda _: None))
        self.client = Client(api_of(schema, table=self.table))

    def found(self, condition: Any) -> list[str]:
        """The ids of the buyers that fit a condition."""
        queries = QueryRunner(self._schema, self.table, CURSOR_KEYS)
        try:
            return [each.buyer_id for each in queries.run(QuerySpec("buyer", filter=condition)).items]
        finally:
            queries.close()
