"""A name that an entity does not have is answered with those that it has, or with that it has none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardweave.errors import UnknownName
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable


class Plain(Entity, token="plain"):
    """What has nothing but an id."""

    plain_id: str = unique_property()


ASKED: dict[str, Callable[[Store], object]] = {
    "lookup": lambda store: store.find_by(Plain, "colour", "red"),
    "relation": lambda store: store.expand([Plain(plain_id="a")], "colour"),
    "sequence": lambda store: store.take(Plain, "colour"),
}


@pytest.mark.parametrize("what", ASKED)
def test_where_there_are_no_names_none_is_offered(what: str) -> None:
    schema = Schema([Plain])
    store = Store(schema, EmbeddedTable(schema.layout))
    with pytest.raises(UnknownName, match=f"has no {what} 'colour'") as refused:
        ASKED[what](store)
    assert refused.value.fix == f"leave it out, or declare it: there is no {what} here"
