"""Every table answers conditions as `Condition.evaluate` does: as filters of a query, and as conditions of a write."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from shardweave.errors import ConditionFailed
from shardweave.table import Table
from shardweave.table.conditions import (
    And,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Not,
    Or,
    Size,
)
from shardweave.table.operations import PutItem
from tests.integration.table_contract import LAYOUT, OpenTable, every_item, fill, item, query, values

# Without shrinking: an example that an emulator is known to fail is not worth making small.
FEW = settings(
    max_examples=20,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

_fresh = itertools.count(1)

# Few names and values, so that conditions are often true.
ATTRIBUTES = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "a", "ab", "b", "é", "\uffff", "\U00010000"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, Decimal("0.5"), Decimal("1.0"), 10**37, 10**37 + 1])
BINARIES = st.sampled_from([b"", b"a", b"ab", b"\xff"])
ORDERED = TEXTS | NUMBERS | BINARIES
SETS = st.sets(TEXTS, min_size=1, max_size=2) | st.sets(NUMBERS, min_size=1, max_size=2)
SCALARS = ORDERED | st.booleans() | st.none()
VALUES = SCALARS | SETS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from("xy"), SCALARS, max_size=2)
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


def ranges(bounds: st.SearchStrategy[Any]) -> st.SearchStrategy[Condition]:
    return st.builds(
        lambda attribute, low, high: Between(attribute, min(low, high), max(low, high)), ATTRIBUTES, bounds, bounds
    )


SIMPLE: dict[str, st.SearchStrategy[Condition]] = {
    "equality": st.builds(Compare, ATTRIBUTES, st.sampled_from(["=", "<>"]), VALUES),
    "order": st.builds(Compare, ATTRIBUTES, OPERATORS, ORDERED),
    "range": ranges(TEXTS) | ranges(NUMBERS) | ranges(BINARIES),
    "choice": st.builds(In, ATTRIBUTES, st.lists(VALUES, min_size=1, max_size=3).map(tuple)),
    "text prefix": st.builds(BeginsWith, ATTRIBUTES, TEXTS),
    "binary prefix": st.builds(BeginsWith, ATTRIBUTES, BINARIES),
    "element or part": st.builds(Contains, ATTRIBUTES, SCALARS),
    "presence": st.builds(Exists, ATTRIBUTES) | st.builds(Missing, ATTRIBUTES),
    "size": st.builds(Size, ATTRIBUTES, OPERATORS, st.integers(0, 3)),
}
COMBINED = st.recursive(
    SIMPLE["presence"] | st.builds(Compare, ATTRIBUTES, OPERATORS, st.integers(0, 2)),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=6,
)
CONDITIONS = {**SIMPLE, "combination": COMBINED}
ITEMS = st.lists(st.dictionaries(ATTRIBUTES, VALUES, max_size=3), min_size=1, max_size=6)


@pytest.fixture
def table(open_table: OpenTable) -> Table:
    return open_table(LAYOUT)


@pytest.mark.parametrize("case", CONDITIONS)
def test_a_filter_keeps_what_the_condition_is_true_of(table: Table, case: str) -> None:
    @FEW
    @given(attributes=ITEMS, condition=CONDITIONS[case])
    def check(attributes: list[dict[str, Any]], condition: Condition) -> None:
        hash_key = f"example-{next(_fresh)}"
        items = [item(str(place), hash_key=hash_key, **each) for place, each in enumerate(attributes)]
        fill(table, items)
        found = every_item(table, query(hash_value=hash_key, filter=condition))
        assert values(found, "rangeKey") == [each["rangeKey"] for each in items if condition.evaluate(each)]

    check()


@pytest.mark.parametrize("case", CONDITIONS)
def test_a_write_happens_when_its_condition_is_true(table: Table, case: str) -> None:
    @FEW
    @given(attributes=st.dictionaries(ATTRIBUTES, VALUES, max_size=3), condition=CONDITIONS[case])
    def check(attributes: dict[str, Any], condition: Condition) -> None:
        stored = item("1", hash_key=f"example-{next(_fresh)}", **attributes)
        table.run(PutItem(stored))
        write = PutItem(stored, condition=condition)
        if condition.evaluate(stored):
            table.run(write)
        else:
            with pytest.raises(ConditionFailed):
                table.run(write)

    check()
