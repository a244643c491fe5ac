"""`prepare` is called before the properties are checked, so it meets what is missing or of another type: that is
refused as what is wrong with the record, and one of a batch fails alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shardweave import Create, Database, Entity, Put, Schema, Update, errors, nanoid, unique_property


class Person(Entity, token="person"):
    """Somebody who is found whatever the case of their name."""

    person_id: str = unique_property(default_factory=nanoid)
    name: str
    folded: str = ""

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"folded": values["name"].casefold()}


class Ratio(Entity, token="ratio"):
    """Two numbers, and one that follows from them where it can."""

    ratio_id: str = unique_property(default_factory=nanoid)
    above: int = 1
    below: int = 1
    share: int = 0

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"share": values.get("above", 1) // values.get("below", 1)}


class Nothing(Entity, token="nothing"):
    """An entity whose `prepare` forgets to return."""

    nothing_id: str = unique_property(default_factory=nanoid)

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> Any:
        """Returns nothing, which no type checker lets pass."""


@pytest.fixture
def db() -> Iterator[Database]:
    """A database with one person and one ratio."""
    with Database(Schema([Person, Ratio, Nothing], [])) as opened:
        opened.create(Person(person_id="1", name="ANN"))
        opened.create(Ratio(ratio_id="1"))
        yield opened


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda db: db.create(Person, {}), id="create without it"),
        pytest.param(lambda db: db.create(Person, {"name": 5}), id="create with another type"),
        pytest.param(lambda db: db.create(Person, {"name": None}), id="create with none"),
        pytest.param(lambda db: db.put(Person, {"person_id": "1"}), id="put without it"),
        pytest.param(lambda db: db.update(Person, "1", {"name": None}), id="update to none"),
        pytest.param(lambda db: db.update(Person, "1", {"name": 5}), id="update to another type"),
        pytest.param(lambda db: db.update(Person, "1", lambda found: {"name": 5}), id="update by a function"),
        pytest.param(lambda db: db.transact([Update(Person, "1", {"name": []})]), id="transaction"),
        pytest.param(lambda db: db.transact([Create({"folded": "x"}, Person)]), id="create of a transaction"),
    ],
)
def test_what_it_needs_and_is_not_given_is_what_is_wrong(db: Database, ask: Callable[[Database], object]) -> None:
    with pytest.raises(errors.ValidationFailed) as refused:
        ask(db)
    assert [fault.location for fault in refused.value.fields] == [("name",)]
    ann = db.get(Person, "1")
    assert ann is not None
    assert (ann.name, ann.folded) == ("ANN", "ann")


def test_one_of_a_batch_fails_alone(db: Database) -> None:
    result = db.batch_write([Put({"person_id": "2", "name": "BOB"}, Person), Put({"person_id": "3"}, Person)])
    assert [outcome.status for outcome in result.puts] == ["written", "failed"]
    assert isinstance(result.puts[1].error, errors.ValidationFailed)
    assert db.get(Person, "2") is not None


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda db: db.create(Ratio, {"below": 0}), id="properties"),
        pytest.param(lambda db: db.create(Ratio(below=0)), id="record"),
        pytest.param(lambda db: db.update(Ratio, "1", {"below": 0}), id="update"),
        pytest.param(lambda db: db.put(Ratio(ratio_id="1", below=0)), id="put"),
    ],
)
def test_what_it_can_not_go_on_with_is_refused(db: Database, ask: Callable[[Database], object]) -> None:
    with pytest.raises(errors.ValidationFailed, match=r"^ratio: not valid: .*prepare ended with ZeroDivisionError"):
        ask(db)


@pytest.mark.parametrize("given", [{}, {"nothing_id": "1"}])
def test_one_that_returns_no_properties_is_refused(db: Database, given: dict[str, Any]) -> None:
    refused = "prepare must return the properties, got NoneType"
    with pytest.raises(errors.ValidationFailed, match=refused):
        db.create(Nothing, given)
    with pytest.raises(errors.ValidationFailed, match=refused):
        db.put(Nothing(**given))
