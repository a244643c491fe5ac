"""The user service in its two layouts: the article's questions have the same answers, at another price."""

from __future__ import annotations

import datetime as dt
from itertools import islice
from typing import Any

import pytest

from services import user_service, user_service_lean
from shardweave import ARTICLE, ENTITY_MANAGER, Database
from shardweave.errors import SchemaError
from shardweave.keys.key_format import KeyFormat
from shardweave.query.spec import BranchSpec, Equal, Prefix, QuerySpec, Range
from shardweave.schema.manifest import manifest_of

DAY = dt.date(2025, 1, 1)
RECORDS = 1200
FIRST = "JCcwi4vyqwMJdaBwbjLG3"
MINE = {"beneficiary_id": Equal(FIRST)}
QUESTIONS: dict[str, tuple[QuerySpec, int, int]] = {
    "users created in the last 30 days": (
        QuerySpec("user", {"created": Range(1_733_097_600_000)}, "created", reverse=True), 4, 4,
    ),
    "first names with J": (QuerySpec("user", {"first_name_canonical": Prefix("j")}, "firstName"), 4, 4),
    "a phone": (QuerySpec("user", {"phone": Prefix("1773")}, "phone"), 4, 4),
    "first or last names with A": (
        QuerySpec(
            "user",
            branches=(
                BranchSpec({"first_name_canonical": Prefix("a")}, "firstName"),
                BranchSpec({"last_name_canonical": Prefix("a")}, "lastName"),
            ),
        ), 8, 8,
    ),
    "a beneficiary's users by creation": (QuerySpec("user", MINE, "userBeneficiaryCreated"), 4, 1),
    "and by change": (QuerySpec("user", MINE, "userBeneficiaryUpdated", reverse=True), 4, 1),
    "and by first name": (QuerySpec("user", MINE, "userBeneficiaryFirstName"), 4, 1),
    "and by last name": (QuerySpec("user", MINE, "userBeneficiaryLastName"), 4, 1),
    "and by phone": (QuerySpec("user", MINE, "userBeneficiaryPhone"), 4, 1),
    "a user's e-mails": (QuerySpec("email", {"user_id": Equal("wf5yU_5f63gqauSOLpP5O")}, "userCreated"), 1, 1),
    "e-mails by creation": (QuerySpec("email", {}, "created", reverse=True), 1, 1),
}  # fmt: skip
"""The article's questions, and how many requests a page of each takes in either layout."""


@pytest.fixture(scope="module")
def layouts() -> Any:
    found = []
    for service in (user_service, user_service_lean):
        database = Database(service.schema())
        for record in islice(service.sample_data(DAY), RECORDS):
            database.create(record)
        found.append(database)
    yield found
    for database in found:
        database.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_article_s_questions_have_the_same_answers_at_their_price(question: str, layouts: Any) -> None:
    spec, *requests = QUESTIONS[question]
    pages = [database.queries.run(spec) for database in layouts]
    assert [page.stats.requests for page in pages] == requests
    one, other = (answers(database, spec) for database in layouts)
    assert one
    assert one == other


def answers(database: Database, spec: QuerySpec) -> list[str]:
    """The records of all pages, in an order of their own: those of equal places stand by their shards."""
    return sorted(record.model_dump_json() for record in database.queries.records(spec))


def test_both_layouts_have_the_same_indexes_and_properties() -> None:
    article, lean = user_service.schema(), user_service_lean.schema()
    assert [index.name for index in article.layout.indexes] == [index.name for index in lean.layout.indexes]
    for token in ("user", "email"):
        assert article.entities[token].properties.keys() == lean.entities[token].properties.keys()
    assert manifest_of(lean).entities["user"].shards == {"allHashKey": 4, "userBeneficiaryHashKey": 1}


@pytest.mark.parametrize("key_format", [ARTICLE, ENTITY_MANAGER], ids=lambda each: each.name)
def test_the_formats_of_others_have_no_such_layout(key_format: KeyFormat) -> None:
    with pytest.raises(SchemaError, match="the keys of another library"):
        user_service_lean.schema(key_format)
