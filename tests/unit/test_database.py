"""The database: one object for a schema and a table, whatever the table is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from shardweave import (
    Add,
    Apply,
    Check,
    Create,
    CursorKeys,
    Database,
    Delete,
    Entity,
    Page,
    Put,
    Reset,
    Schema,
    Update,
    between,
    branch,
    errors,
    one_of,
    prefix,
    where,
)
from shardweave.reshard.leased_maps import LeasedMaps
from tests.unit.database_world import DAY, NOW, SCHEMA, Account, Clock, Team, accounts


@pytest.fixture
def db() -> Iterator[Database]:
    """A database in memory, with twenty accounts of a team."""
    with Database(SCHEMA, clock=Clock()) as opened:
        opened.create(Team(team_id="red", name="Red"))
        assert opened.batch_write(accounts(20)).complete
        yield opened


# -- records


def test_a_record_is_created_read_changed_and_removed(db: Database) -> None:
    made = db.create(Account(team_id="red", email="ann@example.org"))
    assert db.get(Account, made.account_id) == made
    changed = db.update(Account, made.account_id, {"city": "Rome"}, rev=made.rev)
    assert (changed.city, changed.email) == ("Rome", "ann@example.org")
    with pytest.raises(errors.RevisionConflict):
        db.put(made, rev=made.rev)
    assert db.put(made, rev=changed.rev).city is None
    assert db.delete(Account, made.account_id)
    assert not db.delete(Account, made.account_id)
    assert db.get(Account, made.account_id) is None


def test_a_class_and_its_token_are_taken_alike(db: Database) -> None:
    made = db.create("account", {"team_id": "red", "email": "ann@example.org"})
    assert isinstance(made, Account)
    key = made.account_id
    assert db.get("account", key) == db.get(Account, key) == made
    assert db.update("account", key, {"limit": 3}).limit == 3
    assert db.put("account", made.model_dump() | {"limit": 4}).limit == 4
    assert db.batch_get("account", [key, "nobody"]) == db.batch_get(Account, [key, "nobody"])
    assert db.query("account", index="created").items == db.query(Account, index="created").items
    assert db.count("account", team_id="red") == db.count(Account, team_id="red") == 21
    assert db.first("account", index="created") == db.first(Account, index="created")
    assert db.exists("account", team_id="red")
    assert list(db.records("account", team_id="red", index="teamLimit"))
    assert db.explain("account", team_id="red").entity == "account"
    assert db.get_by("account", "email", "ann@example.org") == db.get_by(Account, "email", "ann@example.org")
    assert db.find_by("account", "city", "Oslo").items == db.find_by(Account, "city", "Oslo").items
    assert db.transact([Update("account", key, {"limit": 1}), Check("account", "red000")])
    assert db.delete("account", key)


async def _gives_changes(_: Account) -> dict[str, Any]:
    return {"city": "Rome"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("given", [lambda _: None, lambda _: [("city", "Rome")], lambda _: 5, _gives_changes])
def test_a_function_that_gives_no_changes_is_refused(db: Database, given: Any) -> None:
    refused = r"changes: the function must return a mapping .* got (NoneType|list|int|coroutine)\. Fix: return"
    before = db.get(Account, "red003")
    with pytest.raises(errors.InputError, match=refused):
        db.update(Account, "red003", given)
    with pytest.raises(errors.InputError, match=refused):
        db.transact([Update(Account, "red003", given)])
    assert db.get(Account, "red003") == before


def test_what_pydantic_refuses_shows_no_value() -> None:
    with pytest.raises(ValidationError) as refused:
        Account.model_validate({"team_id": ["secret"], "email": "ann@example.org"})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "condition", [between(), between(5, 1), prefix("5")], ids=["without a bound", "the wrong way round", "of a number"]
)
def test_the_fix_of_a_range_names_what_python_has(db: Database, condition: Any) -> None:
    with pytest.raises(errors.InputError, match=r"Fix: .*in Python between\(low, high\)"):
        db.query(Account, {"limit": condition}, team_id="red", index="teamLimit")


@pytest.mark.parametrize(
    ("current", "secrets"),
    [
        ("a", {"a": "x" * 32}),
        ("a", {"a": b"x" * 32, "b": None}),
        ("a", {"a": list(b"x" * 32)}),
        (1, {1: b"x" * 32}),
        ("a", [b"x" * 32]),
        ("a", "a"),
        (["a"], {"a": b"x" * 32}),
    ],
)
def test_secrets_of_cursors_are_bytes_by_their_ids(current: Any, secrets: Any) -> None:
    with pytest.raises(errors.ConfigurationError, match=r"cursor keys: .* Fix: give (bytes|CursorKeys)") as refused:
        CursorKeys(current, secrets)
    assert "xxx" not in str(refused.value)


def test_a_transaction_is_carried_out_as_a_whole_or_not_at_all(db: Database) -> None:
    ann = Account(team_id="red", email="ann@example.org")
    with pytest.raises(errors.NotFound, match=r"operations\[1\]"):
        db.transact([Create(ann), Check(Account, "nobody")])
    assert db.get_by(Account, "email", "ann@example.org") is None
    made, gone = db.transact([Create(ann), Delete(Account, "red000")])
    assert (made, gone) == (ann.model_copy(update={"created": NOW}), None)


def test_records_are_found_by_a_value_in_pages_whose_tokens_hide_ids(db: Database) -> None:
    pages: list[Page[Account]] = [db.find_by(Account, "city", "Oslo", limit=4)]
    while (token := pages[-1].next_token) is not None:
        assert "red" not in token
        pages.append(db.find_by(Account, "city", "Oslo", limit=4, next_token=token))
    assert [len(page.items) for page in pages] == [4, 4, 2]
    assert [each.account_id for page in pages for each in page.items] == [f"red{each:03}" for each in range(1, 20, 2)]
    with pytest.raises(errors.CursorMismatch, match="next_token"):
        db.find_by(Account, "city", "Lima", next_token=pages[0].next_token)


def test_relations_of_a_page_are_expanded(db: Database) -> None:
    page = db.query(Account, index="created", limit=3)
    assert db.expand(page.items, "team") == [{"team": Team(team_id="red", name="Red")}] * 3


# -- queries


def test_conditions_are_given_by_name_and_a_plain_value_is_equality(db: Database) -> None:
    def ids(**conditions: Any) -> list[str]:
        return [each.account_id for each in db.query(Account, team_id="red", **conditions).items]

    assert ids(city="Oslo") == [f"red{each:03}" for each in range(1, 20, 2)]
    assert ids(city=prefix("Os")) == ids(city="Oslo")
    assert ids(city=["Oslo", "Lima"]) == ids(city=one_of("Oslo", "Lima"))
    assert len(ids(city=between("L", "M"))) == 10
    assert ids(city="Oslo", limit=2) == ["red001", "red003"]
    assert ids(city="Oslo", limit=1, reverse=True) == ["red019"]


def test_a_property_that_is_called_like_a_parameter_is_given_in_a_mapping(db: Database) -> None:
    page = db.query(Account, {"team_id": "red", "limit": 4}, limit=2)
    assert [each.limit for each in page.items] == [4, 4]
    assert page.index == "teamLimit"
    assert db.count(Account, {"limit": 4}, team_id="red") == 4


def test_a_query_gives_whole_records_also_by_an_index_that_does_not_hold_them(db: Database) -> None:
    page = db.query(Account, team_id="red", city="Oslo", limit=1)
    assert (page.index, page.items[0].email) == ("teamCity", "red1@example.org")
    first = db.first(Account, team_id="red", city="Oslo")
    assert first == page.items[0]
    assert next(db.records(Account, team_id="red", city="Oslo")) == page.items[0]


def test_pages_go_on_where_the_last_one_ended(db: Database) -> None:
    found: list[str] = []
    token = None
    while True:
        page = db.query(Account, index="created", limit=7, next_token=token)
        found += [each.account_id for each in page.items]
        token = page.next_token
        if token is None:
            break
    assert found == [each.account_id for each in accounts(20)]
    assert [each.account_id for each in db.records(Account, index="created", limit=7)] == found


def test_filters_are_made_of_properties(db: Database) -> None:
    def balances(condition: Any) -> list[int]:
        return [each.balance for each in db.query(Account, index="created", filter=condition).items]

    balance = where("balance")
    assert balances(balance > 17) == [18, 19]
    assert balances((balance >= 17) & ~(balance == 18)) == [17, 19]
    assert balances((balance < 1) | balance.one_of(5, 6)) == [0, 5, 6]
    assert balances((balance <= 2) & (balance != 1)) == [0, 2]
    assert balances(balance.between(3, 4)) == [3, 4]
    assert balances(where("email").begins_with("red19")) == [19]
    assert balances(where("email").contains("d18")) == [18]
    assert balances(where("city").missing()) == []
    assert len(balances(where("city").exists() & (where("email").size("=", 17)))) == 10
    assert balances(where("email").size("<", 17)) == list(range(10))


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(lambda: (where("balance") > 2) and (where("limit") < 8), id="and"),
        pytest.param(lambda: (where("balance") > 2) or (where("limit") < 8), id="or"),
        pytest.param(lambda: not (where("balance") > 2), id="not"),
        pytest.param(lambda: not where("balance").exists(), id="not exists"),
        pytest.param(lambda: 2 < where("balance") < 8, id="chained"),
        pytest.param(lambda: where("city") in ("Oslo", "Lima"), id="in a tuple"),
        pytest.param(lambda: "Oslo" in where("city"), id="in a property"),
        pytest.param(lambda: "Oslo" in (where("city") == "Oslo"), id="in a test"),
        pytest.param(lambda: (where("city") == "Oslo") if where("city") else None, id="if"),
        pytest.param(lambda: [*where("city")], id="each of a property"),
        pytest.param(lambda: [*(where("city") == "Oslo")], id="each of a test"),
        pytest.param(lambda: all(((where("balance") > 2) & (where("limit") < 8), where("city").missing())), id="all"),
    ],
)
def test_what_python_would_drop_of_a_filter_is_refused(written: Callable[[], object]) -> None:
    with pytest.raises(
        errors.InputError, match=r"^filter: .* Fix: (join tests with &, \| and ~|use where|give the test)"
    ):
        written()


def test_branches_are_merged_into_one_answer(db: Database) -> None:
    asked = [branch(index="created", filter=where("balance") < 2), branch({"team_id": "red"}, index="teamLimit")]
    with pytest.raises(errors.UnsupportedQuery):
        db.query(Account, branches=asked)
    asked = [branch(team_id="red", index="teamLimit", filter=where("balance") == each) for each in (9, 3)]
    assert [each.balance for each in db.query(Account, branches=asked).items] == [3, 9]


def test_a_time_window_bounds_the_timestamp(db: Database) -> None:
    begin = NOW - DAY
    page = db.query(Account, index="created", earliest=begin + 3_000, latest=begin + 5_000)
    assert [each.balance for each in page.items] == [3, 4, 5]
    assert db.count(Account, index="created", earliest=begin + 3_000) == 17


def test_an_explanation_says_what_would_be_done(db: Database) -> None:
    plan = db.explain(Account, team_id="red", city="Oslo", limit=5)
    assert (plan.indexes, plan.limit, plan.stats) == (("teamCity",), 5, None)
    ran = db.explain(Account, team_id="red", city="Oslo", limit=5, run=True)
    assert ran.stats is not None
    assert ran.stats.returned == 5


# -- where the records are


def test_a_folder_keeps_the_records_and_the_tokens_of_pages(tmp_path: Path) -> None:
    with Database(SCHEMA, path=tmp_path / "data", clock=Clock()) as first:
        first.batch_write(accounts(10))
        token = first.query(Account, index="created", limit=4).next_token
    with Database(SCHEMA, path=str(tmp_path / "data"), clock=Clock()) as second:
        assert [each.balance for each in second.query(Account, index="created", next_token=token).items] == [
            *range(4, 10)
        ]
        assert second.get_by(Account, "email", "red7@example.org") is not None


def test_a_folder_holds_a_table_for_each_name(tmp_path: Path) -> None:
    with Database(SCHEMA, path=tmp_path, name="one") as one, Database(SCHEMA, path=tmp_path, name="two") as two:
        one.create(Team(team_id="red", name="Red"))
        assert two.get(Team, "red") is None


def test_a_folder_refuses_a_schema_that_would_not_find_its_records(tmp_path: Path) -> None:
    with Database(SCHEMA, path=tmp_path) as db:
        db.create(Team(team_id="red", name="Red"))

    class Group(Entity, token="team", partition="name", sort="group_id"):
        name: str
        group_id: str

    with pytest.raises(errors.ConfigurationError, match=r"path: .*written with another schema"):
        Database(Schema([Group]), path=tmp_path)


def test_databases_in_memory_have_nothing_in_common() -> None:
    with Database(SCHEMA) as one, Database(SCHEMA) as two:
        one.create(Team(team_id="red", name="Red"))
        assert two.get(Team, "red") is None
        token = one.query(Team, team_id="red").next_token
        assert token is None


def test_tokens_are_good_wherever_the_keys_of_cursors_are_the_same() -> None:
    keys = CursorKeys("k", {"k": bytes(32)})
    with (
        Database(SCHEMA, clock=Clock(), cursor_keys=keys) as one,
        Database(SCHEMA, clock=Clock(), cursor_keys=keys) as two,
    ):
        for each in (one, two):
            each.batch_write(accounts(4))
        token = one.query(Account, index="created", limit=2).next_token
        assert [each.balance for each in two.query(Account, index="created", next_token=token).items] == [2, 3]


def test_reads_and_writes_go_by_the_maps_in_force() -> None:
    with Database(SCHEMA) as db:
        assert isinstance(db.store._maps, LeasedMaps)
        assert db.store._maps is db.queries._maps


def test_the_parts_are_there_for_those_who_need_more(db: Database) -> None:
    assert db.store.get(Account, "red001") == db.get(Account, "red001")
    assert db.schema is SCHEMA
    whole = Database.over(db.store, db.queries)
    with whole:
        assert whole.get(Account, "red001") is not None
    assert db.get(Account, "red001") is not None, "what was put together elsewhere stays open"


# -- what is wrong

Ask = Callable[[Database], object]

MISTAKES: dict[str, tuple[Ask, str]] = {
    "no property": (lambda db: db.query(Account, citty="x"), "citty: the entity 'account' has no property 'citty'"),
    "no entity": (lambda db: db.query("acount"), "entity: there is no entity 'acount'. Fix: use one of team, account"),
    "no class": (lambda db: db.get(str, "x"), "entity: str is not in the schema"),
    "a number as an entity": (lambda db: db.query(5), "entity: an object of type int is not in the schema"),
    "a mapping as an entity": (lambda db: db.get({}, "x"), "entity: an object of type dict"),
    "a record as an entity": (lambda db: db.query(accounts(1)[0]), "entity: an object of type Account"),
    "a value of another type": (lambda db: db.query(Account, team_id=5), "teamId: Input should be a valid string"),
    "no value": (lambda db: db.query(Account, team_id=None), "teamId: Input should be a valid string"),
    "the JSON form of a condition": (
        lambda db: db.query(Account, team_id="red", city={"prefix": "O"}),
        "city: a condition must be a value, a list of values, prefix, one_of or between, got dict",
    ),
    "a filter as a condition": (lambda db: db.query(Account, team_id=where("x") == 1), "team_id: a condition must be"),
    "a list in a list": (lambda db: db.query(Account, team_id=[["red"]]), "team_id: a list holds values"),
    "an empty list": (lambda db: db.query(Account, team_id=[]), "team_id: a list has 1 to 50 values"),
    "a key in place of conditions": (lambda db: db.query(Account, "red"), "conditions must be a mapping of properties"),
    "two conditions": (lambda db: db.query(Account, {"city": "x"}, city="y"), "city: the property has two conditions"),
    "no index for it": (lambda db: db.query(Account, balance=5), "no index of 'account' answers conditions on balance"),
    "no such index": (lambda db: db.query(Account, index="x"), "index: the entity 'account' has no index 'x'"),
    "a class as an index": (lambda db: db.query(Account, index=Account), "index: an index must be named by text"),
    "a limit as text": (lambda db: db.query(Account, team_id="red", limit="5"), "limit: a page has 1 to 500 records"),
    "a word for true": (lambda db: db.query(Account, team_id="red", reverse="yes"), "reverse: must be True or False"),
    "a text as a time": (
        lambda db: db.query(Account, team_id="red", earliest="x"),
        "earliest: must be a datetime or a whole number of epoch ms, got str",
    ),
    "a token that is none": (lambda db: db.query(Account, team_id="red", next_token="x"), "next_token: the cursor"),
    "a number as a token": (
        lambda db: db.query(Account, team_id="red", next_token=5),
        "next_token: must be text",
    ),
    "a mapping as a filter": (lambda db: db.query(Account, team_id="red", filter={}), "filter: must be a condition"),
    "a filter on nothing": (lambda db: db.count(Account, index="created", filter=where("x") == 1), "no property 'x'"),
    "a property of no name": (lambda db: where(5), "where: a property must be named by text, got int"),
    "a text as branches": (lambda db: db.query(Account, branches="x"), "branches: must be a list of branches"),
    "a time limit as text": (lambda db: db.query(Account, team_id="red", time_limit_ms="x"), "time_limit_ms: a time"),
    "no key": (lambda db: db.get(Account, None), "key: accountId is missing"),
    "a list as a key": (lambda db: db.get(Account, ["x"]), "accountId: Input should be a valid string"),
    "a key as keys": (lambda db: db.batch_get(Account, "abc"), "keys: must be a list of keys, got str"),
    "a mapping without its entity": (lambda db: db.create({"city": "x"}), "record: must be a record, got dict"),
    "a class without values": (lambda db: db.create(Account), "record: must be a record, got the class Account"),
    "no values": (lambda db: db.put("account", 5), "values: must map properties to values, got int"),
    "values that do not fit": (lambda db: db.create(Account, {"email": 5}), "email: Input should be a valid string"),
    "no changes": (lambda db: db.update(Account, "red001", 5), "changes: must map properties to their new values"),
    "a record as changes": (lambda db: db.update(Account, "red001", Account), "changes: .* got the class Account"),
    "a change of nothing": (lambda db: db.update(Account, "red001", {"x": 1}), "x: Extra inputs are not permitted"),
    "a number as a revision": (lambda db: db.delete(Account, "red001", rev=5), "rev: must be a revision, got int"),
    "a text as an operation": (lambda db: db.transact(["x"]), r"operations\[0\]: must be an operation, got str"),
    "a word for existing": (
        lambda db: db.transact([Delete(Account, "red000"), Check(Account, "x", exists="no")]),
        r"operations\[1\].exists: must be true or false, got str",
    ),
    "a text for what is given back": (
        lambda db: db.batch_write([Put(accounts(1)[0], returning="old")]),
        r"puts\[0\].returning: must be true or false, got str",
    ),
    "a word as an upsert": (
        lambda db: db.transact([Update(Account, "new", {"city": "x"}, upsert="yes")]),
        r"operations\[0\].upsert: must be true or false, or map",
    ),
    "a number as an upsert in a batch": (
        lambda db: db.batch_write(updates=[Update(Account, "new", {}, upsert=1)]),
        r"updates\[0\].upsert: must be true or false, or map",
    ),
    "a number as a revision in a batch": (
        lambda db: db.batch_write(deletes=[Delete(Account, "red000", rev=5)]),
        r"deletes\[0\].rev: must be a revision, got int",
    ),
    "a number as amounts": (
        lambda db: db.transact([Add(Account, "red000", 5)]),
        r"operations\[0\].amounts: must map properties to what is added, got int",
    ),
    "a text as names": (
        lambda db: db.transact([Reset(Account, "red000", "balance")]),
        r"operations\[0\].names: must be a tuple of the names of numbers",
    ),
    "properties without their entity": (
        lambda db: db.transact([Create({"city": "x"})]),
        r"operations\[0\].model: properties alone do not say of which entity they are",
    ),
    "a list as a read model": (
        lambda db: db.transact([Apply(["x"], None)]),
        r"operations\[0\].read model: a read model must be named by text, got list",
    ),
    "a list as what is rebuilt": (lambda db: db.rebuild(["x"]), "read model: there is no read model"),
    "one operation": (lambda db: db.transact(Delete(Account, "x")), "operations: must be a list, got Delete"),
    "an unknown entity in one": (lambda db: db.transact([Delete("x", 1)]), r"operations\[0\].entity: there is no"),
    "a number as a put": (lambda db: db.batch_write([5]), r"puts\[0\]: must be a record, got int"),
    "a key as a delete": (lambda db: db.batch_write([], ["x"]), r"deletes\[0\]: must be a Delete, got str"),
    "no lookup": (lambda db: db.find_by(Account, "balance", 5), "balance: the entity 'account' has no lookup"),
    "a class as a lookup": (lambda db: db.get_by(Account, Account, 5), "name: must name a lookup"),
    "a text as what it is within": (lambda db: db.get_by(Account, "email", "x", within="y"), "within: must map"),
    "a limit of lookups": (lambda db: db.find_by(Account, "city", "Oslo", limit="x"), "limit: a page has 1 to 500"),
    "no relation": (lambda db: db.expand(accounts(1), "x"), "x: the entity 'account' has no relation 'x'"),
    "no record to expand": (lambda db: db.expand(["x"], "team"), r"records\[0\]: must be a record, got str"),
    "more than a key": (lambda db: db.get(Account, {"account_id": "a", "city": "Oslo"}), "key: city identifies no"),
    "more than a key to delete": (
        lambda db: db.delete(Account, {"account_id": "a", "city": "x"}),
        "key: city identifies",
    ),
    "no such condition of records": (lambda db: db.records(Account, zz=1), "zz: the entity 'account' has no property"),
    "a filter that compares nothing": (
        lambda db: db.query(Account, team_id="red", filter=where("balance")),
        "filter: must be a condition, got Where. Fix: compare a property",
    ),
    "an empty folder": (lambda db: Database(SCHEMA, path=""), "path: must be a folder, got an empty text"),
    "a name without a folder": (lambda db: Database(SCHEMA, name="x"), "name: it names a table in a folder"),
    "no schema": (lambda db: Database([Account]), "schema: must be a Schema, got list"),
    "two places": (lambda db: Database(SCHEMA, path="x", table_name="y"), "table_name: .* exclude one another"),
    "a number as a folder": (lambda db: Database(SCHEMA, path=5), "path: must be a folder, got int"),
    "a name with a way out": (lambda db: Database(SCHEMA, path="x", name="../y"), "name: must be a name that a"),
    "an empty table name": (lambda db: Database(SCHEMA, table_name=""), "table_name: must be the name of a table"),
    "a region for memory": (lambda db: Database(SCHEMA, region="eu-west-1"), "region: it is for DynamoDB alone"),
    "a number as a client": (lambda db: Database(SCHEMA, table_name="x", client=5), "client: must be a client"),
    "an observer of memory": (lambda db: Database(SCHEMA, observe=print), "observe: it is for DynamoDB alone"),
    "a number as an observer": (lambda db: Database(SCHEMA, table_name="x", observe=5), "observe: must be a function"),
    "a transport that is none": (
        lambda db: Database(SCHEMA, table_name="x", transport="http"),
        "transport: there is no such transport. Fix: set it to auto, direct or botocore",
    ),
    "a number as keys of cursors": (lambda db: Database(SCHEMA, cursor_keys=5), "cursor_keys: must be CursorKeys"),
    "a number as a clock": (lambda db: Database(SCHEMA, clock=5), "clock: must be a function, got int"),
    "no reads at all": (lambda db: Database(SCHEMA, throttle=0), "throttle: 1 to 1000 reads"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_place_and_changes_nothing(mistake: str) -> None:
    ask, said = MISTAKES[mistake]
    with Database(SCHEMA, clock=Clock()) as db:
        kept = db.batch_write(accounts(2)).puts
        with pytest.raises(errors.ShardweaveError, match=said):
            ask(db)
        assert db.query(Account, index="created").items == tuple(each.record for each in kept)


def test_a_closed_database_refuses_everything() -> None:
    db = Database(SCHEMA)
    records = db.records(Team, team_id="red")
    db.close()
    db.close()
    asked: list[Callable[[], object]] = [
        lambda: db.get(Account, "x"),
        lambda: db.create(accounts(1)[0]),
        lambda: db.query(Account, index="created"),
        lambda: db.records(Account, index="created"),
        lambda: db.count(Account, index="created"),
        lambda: db.batch_write([]),
        lambda: db.find_by(Account, "city", "Oslo"),
        lambda: db.store,
        lambda: db.queries,
        lambda: next(records),
        db.__enter__,
    ]
    for each in asked:
        with pytest.raises(errors.InputError, match="database: it is closed"):
            each()
