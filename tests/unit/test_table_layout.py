"""What the doctor says of a table that is not as the schema has it."""

from __future__ import annotations

from dataclasses import replace

from shardweave.maintenance.table_layout import layout_faults
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import Describe, TableDescription

HASH, SIZE, NAME = KeyAttribute("hashKey"), KeyAttribute("size", "N"), KeyAttribute("nameRangeKey")
BY_SIZE, BY_NAME = IndexLayout("size", HASH, SIZE), IndexLayout("name", HASH, NAME, ("b", "a"))
LAYOUT = TableLayout(indexes=(BY_SIZE, BY_NAME))
SOUND = TableDescription("t", "ACTIVE", LAYOUT.indexes, {"size": "ACTIVE", "name": "ACTIVE"}, 0, 0)


def found(description: TableDescription) -> list[str]:
    faults = list(layout_faults(LAYOUT, description))
    assert all(fault.message and fault.fix for fault in faults)
    return [fault.where for fault in faults]


def test_a_table_that_is_as_its_layout_says_has_no_fault() -> None:
    table = EmbeddedTable(LAYOUT)
    assert list(layout_faults(LAYOUT, table.run(Describe()))) == []
    table.close()
    assert found(SOUND) == []


def test_the_order_of_projected_attributes_does_not_matter() -> None:
    assert found(replace(SOUND, indexes=(BY_SIZE, replace(BY_NAME, projection=("a", "b"))))) == []


def test_a_missing_an_additional_and_a_different_index_are_named() -> None:
    other = replace(BY_SIZE, name="other")
    assert found(replace(SOUND, indexes=(BY_SIZE, other))) == ["index name", "index other"]
    assert found(replace(SOUND, indexes=(BY_SIZE, replace(BY_NAME, projection="ALL")))) == ["index name"]
    assert found(replace(SOUND, indexes=(replace(BY_SIZE, range_key=NAME), BY_NAME))) == ["index size"]


def test_an_index_that_is_not_active_is_named_with_its_state() -> None:
    description = replace(SOUND, index_states={"size": "CREATING", "name": "UPDATING"})
    (fault,) = layout_faults(LAYOUT, description)
    assert fault.where == "index size"
    assert "CREATING" in fault.message


def test_a_table_that_is_being_made_is_a_fault() -> None:
    assert found(replace(SOUND, status="CREATING")) == ["table"]
