"""Conditions as values: DynamoDB's answers, DynamoDB's expressions, and what is not sent."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ValueRefused
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
    Names,
    Not,
    Or,
    Size,
    compare,
)
from shardweave.table.embedded.expressions import check_condition

ITEM = {
    "text": "john",
    "wide": "é\U0001d11e",
    "number": 5,
    "fraction": Decimal("5.0"),
    "bytes": b"\x01\x02",
    "yes": True,
    "null": None,
    "list": [1, "a", True, [2]],
    "map": {"a": 1},
    "texts": {"x", "y"},
    "numbers": {1, 2},
}

# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        (Compare("text", "=", "john"), True),
        (Compare("text", "<>", "john"), False),
        (Compare("text", "<", "johnny"), True),
        (Compare("text", ">=", "john"), True),
        (Compare("number", "=", Decimal("5.00")), True),
        (Compare("fraction", "<=", 5), True),
        (Compare("bytes", ">", b"\x01"), True),
        (Compare("null", "=", None), True),
        (Compare("list", "=", [1, "a", True, [2]]), True),
        (Compare("map", "<>", {"a": 2}), True),
        (Compare("texts", "=", {"y", "x"}), True),
        (Between("number", 5, 6), True),
        (Between("number", 4, Decimal("4.9")), False),
        (Between("text", "j", "k"), True),
        (In("text", ("jim", "john")), True),
        (In("number", ("5", 4)), False),
        (BeginsWith("text", "jo"), True),
        (BeginsWith("text", "on"), False),
        (BeginsWith("bytes", b"\x01"), True),
        (Contains("text", "oh"), True),
        (Contains("bytes", b"\x02"), True),
        (Contains("texts", "x"), True),
        (Contains("numbers", Decimal("1.0")), True),
        (Contains("list", "a"), True),
        (Contains("list", [2]), True),
        (Contains("list", 2), False),
        (Contains("map", "a"), False),
        (Exists("null"), True),
        (Missing("null"), False),
        (Size("text", "=", 4), True),
        (Size("wide", "=", 3), True),
        (Size("bytes", ">", 1), True),
        (Size("map", "<", 2), True),
        (Size("numbers", "<>", 2), False),
    ],
)
def test_a_condition_on_an_attribute(condition: Condition, answer: bool) -> None:
    assert condition.evaluate(ITEM) is answer
    assert Not(condition).evaluate(ITEM) is not answer


@pytest.mark.parametrize(
    "condition",
    [
        Compare("absent", "=", 1),
        Compare("absent", "<", 1),
        Compare("absent", ">=", 1),
        Between("absent", 1, 2),
        In("absent", (1, None)),
        BeginsWith("absent", ""),
        Contains("absent", ""),
        Exists("absent"),
        Size("absent", "<", 9),
        Size("absent", "=", 0),
        Size("number", "=", 1),
        Size("null", "<", 9),
    ],
)
def test_what_is_missing_or_has_no_size_fits_nothing(condition: Condition) -> None:
    assert condition.evaluate(ITEM) is False


@pytest.mark.parametrize(
    "condition", [Compare("absent", "<>", 1), Missing("absent"), Size("absent", "<>", 0), Size("number", "<>", 1)]
)
def test_what_is_missing_differs_from_everything(condition: Condition) -> None:
    assert condition.evaluate(ITEM) is True


@pytest.mark.parametrize("stored", [1, True, "1", b"1", None, [1], {"1": 1}, {1}, {"1"}, {b"1"}])
@pytest.mark.parametrize("other", [1, "1", b"1"])
def test_values_of_different_types_are_neither_equal_nor_ordered(stored: Any, other: Any) -> None:
    if type(stored) is type(other):
        return
    assert compare(stored, "<>", other)
    for operator in ("=", "<", "<=", ">", ">="):
        assert not compare(stored, operator, other)


def test_true_is_not_one_inside_collections() -> None:
    assert not Compare("a", "=", [1]).evaluate({"a": [True]})
    assert not Compare("a", "=", {"b": 0}).evaluate({"a": {"b": False}})
    assert not Contains("a", 1).evaluate({"a": [True]})


def test_texts_are_ordered_by_code_point() -> None:
    assert compare("\uffff", "<", "\U00010000")
    assert compare("Z", "<", "a")


# -- combinations -----------------------------------------------------------------------------------------------------

leaves = st.sampled_from([Exists("text"), Missing("text"), Compare("number", ">", 4), Compare("absent", "=", 1)])
trees = st.recursive(
    leaves,
    lambda inner: (
        st.builds(Not, inner)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts)))
    ),
    max_leaves=8,
)


@given(trees, trees)
def test_combinations_follow_boolean_logic(left: Condition, right: Condition) -> None:
    a, b = left.evaluate(ITEM), right.evaluate(ITEM)
    assert (left & right).evaluate(ITEM) == (a and b)
    assert (left | right).evaluate(ITEM) == (a or b)
    assert (~left).evaluate(ITEM) == (not a)


@given(trees)
def test_a_condition_names_every_attribute_that_it_looks_at(condition: Condition) -> None:
    names = Names()
    condition.render(names)
    assert set(condition.attributes()) == set(names.request_parts()["ExpressionAttributeNames"].values())


def test_an_empty_combination_can_not_be_built() -> None:
    for combination in (And, Or):
        with pytest.raises(ValueRefused, match="at least one"):
            combination(())


# -- expressions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "text", "values"),
    [
        (Compare("a", "<>", 1), "#n0 <> :v0", [{"N": "1"}]),
        (Between("a", b"a", b"b"), "#n0 BETWEEN :v0 AND :v1", [{"B": b"a"}, {"B": b"b"}]),
        (In("a", ("x", None)), "#n0 IN (:v0, :v1)", [{"S": "x"}, {"NULL": True}]),
        (BeginsWith("a", "x"), "begins_with(#n0, :v0)", [{"S": "x"}]),
        (Contains("a", True), "contains(#n0, :v0)", [{"BOOL": True}]),
        (Exists("a"), "attribute_exists(#n0)", []),
        (Missing("a"), "attribute_not_exists(#n0)", []),
        (Size("a", ">=", 3), "size(#n0) >= :v0", [{"N": "3"}]),
        (Size("a", "<>", 3), "NOT size(#n0) = :v0", [{"N": "3"}]),
        (~Exists("a"), "NOT (attribute_exists(#n0))", []),
        (~(Exists("a") & Exists("b")), "NOT (attribute_exists(#n0) AND attribute_exists(#n1))", []),
        (~~Exists("a"), "NOT (NOT (attribute_exists(#n0)))", []),
        (
            (Exists("a") | Missing("b")) & Compare("a", "=", "x"),
            "(attribute_exists(#n0) OR attribute_not_exists(#n1)) AND #n0 = :v0",
            [{"S": "x"}],
        ),
    ],
)
def test_a_condition_is_written_as_an_expression(condition: Condition, text: str, values: list[Any]) -> None:
    names = Names()
    assert condition.render(names) == text
    assert list(names.values.values()) == values


@pytest.mark.parametrize(
    "wrap", [lambda part: And((part,)), lambda part: Or((part,)), lambda part: And((Or((part,)),))]
)
def test_a_combination_of_one_is_written_without_parentheses(wrap: Any) -> None:
    assert wrap(Exists("a")).render(Names()) == "attribute_exists(#n0)"
    assert (~wrap(Exists("a"))).render(Names()) == "NOT (attribute_exists(#n0))"
    both = wrap(Exists("a")) & wrap(Exists("a") | Exists("b"))
    assert both.render(Names()) == "attribute_exists(#n0) AND (attribute_exists(#n0) OR attribute_exists(#n1))"


def pairs_of_parentheses(text: str) -> set[tuple[int, int]]:
    opened: list[int] = []
    pairs = set()
    for place, character in enumerate(text):
        if character == "(":
            opened.append(place)
        elif character == ")":
            pairs.add((opened.pop(), place))
    assert not opened
    return pairs


@given(trees)
def test_parentheses_are_never_redundant(condition: Condition) -> None:
    text = condition.render(Names())
    pairs = pairs_of_parentheses(text)
    assert (0, len(text) - 1) not in pairs
    assert not any((first + 1, last - 1) in pairs for first, last in pairs)


def test_expressions_of_one_request_share_their_names() -> None:
    names = Names()
    first, second = Compare("a", "=", 1).render(names), Compare("a", "<", 1).render(names)
    assert (first, second) == ("#n0 = :v0", "#n0 < :v1")
    assert names.request_parts() == {
        "ExpressionAttributeNames": {"#n0": "a"},
        "ExpressionAttributeValues": {":v0": {"N": "1"}, ":v1": {"N": "1"}},
    }


def test_a_request_without_expressions_has_no_parts() -> None:
    assert Names().request_parts() == {}


# -- what DynamoDB would refuse ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build",
    [
        lambda: Compare("secret", "<", True),
        lambda: Compare("secret", ">=", [1]),
        lambda: Compare("secret", "<", None),
        lambda: Compare("secret", "=", 1.5),
        lambda: Compare("secret", "=", set()),
        lambda: Between("secret", 2, 1),
        lambda: Between("secret", "b", "a"),
        lambda: Between("secret", 1, "b"),
        lambda: Between("secret", [1], [2]),
        lambda: In("secret", ()),
        lambda: In("secret", tuple(range(101))),
        lambda: In("secret", (1, 1.5)),
        lambda: BeginsWith("secret", 1),  # type: ignore[arg-type]
        lambda: Contains("secret", object()),
        lambda: Size("secret", "=", "1"),  # type: ignore[arg-type]
    ],
)
def test_what_dynamodb_would_refuse_is_not_sent(build: Any) -> None:
    for send in (lambda: build().render(Names()), lambda: check_condition(Exists("other") & build())):
        with pytest.raises(ValueRefused) as refused:
            send()
        assert refused.value.where == "secret"
        assert refused.value.fix


@pytest.mark.parametrize("operator", ["==", "!=", "~", "", "in", None, 5])
def test_what_compares_nothing_is_refused(operator: Any) -> None:
    with pytest.raises(ValueRefused, match="no such comparison"):
        Compare("a", operator, 1).check()
    with pytest.raises(ValueRefused, match="no such comparison"):
        Size("a", operator, 1)


@pytest.mark.parametrize("values", [5, "ab", {1}, None])
def test_values_to_choose_from_are_a_tuple(values: Any) -> None:
    with pytest.raises(ValueRefused, match="must be a tuple"):
        In("a", values)
    listed: Any = [1, 2]
    assert In("a", listed) == In("a", (1, 2))
