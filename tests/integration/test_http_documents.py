"""The documents tell the truth: their examples are run, and their answers compared with what is shown."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from pathlib import Path

import pytest

from services._samples.users import FIRST_USER, user_service_records
from services.user_service import Email, User
from shardweave.api.problems import STATUSES
from shardweave.errors import InputError
from tests.integration.documented import DAY, check_document, examples
from tests.integration.local_server import ROOT, LocalServer

DOCUMENTS = {
    "README.md": 6,
    "docs/article-questions.md": 13,
    "docs/http-records.md": 8,
    "docs/http-queries.md": 6,
    "docs/http-errors.md": 3,
    "docs/graphql.md": 3,
}
"""The documents with examples, and how many there are at least: an example that is no longer found is noticed."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the sample data."""
    folder = tmp_path_factory.mktemp("documented") / "data"
    assert LocalServer.start(folder, "--day", DAY.isoformat()).stop() == 0
    return folder


@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_the_examples_of_a_document(filled: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(filled, tmp_path / "data")
    server = LocalServer.start(tmp_path / "data")
    try:
        assert check_document(ROOT / name, server) >= DOCUMENTS[name]
    finally:
        assert server.stop() == 0


def test_every_block_that_looks_like_an_example_is_one() -> None:
    for name in DOCUMENTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert len(re.findall(r"^curl ", text, re.MULTILINE)) == sum(
            1 for example in examples(text) if example.language == "sh"
        )


def test_the_table_of_errors_has_every_error() -> None:
    text = (ROOT / "docs" / "http-errors.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE))
    shown = {
        (kind.code, str(status)) for kind, (status, _) in STATUSES.items() if status != 500 and kind is not InputError
    }
    assert rows == {*shown, ("invalid_input", "400"), ("record_unreadable", "500"), ("internal_error", "500")}


class TestSampleData:
    def test_it_has_5000_users_with_names_of_many_scripts_and_their_emails(self) -> None:
        records = list(user_service_records(DAY))
        users = [record for record in records if isinstance(record, User)]
        emails = [record for record in records if isinstance(record, Email)]
        assert len(users) == len({user.user_id for user in users}) == 5000
        assert len(emails) == len({email.email for email in emails}) > 5000
        assert {email.user_id for email in emails} == {user.user_id for user in users}
        written = {character for user in users for character in user.first_name}
        assert written >= set("éłøğЁФήمحनส小さ민")
        assert 500 < sum(user.phone is None for user in users) < 1000
        assert users[0] == FIRST_USER

    def test_it_is_the_same_every_time_and_only_its_times_follow_the_day(self) -> None:
        first = list(user_service_records(DAY))
        again = list(user_service_records(DAY))
        later = list(user_service_records(DAY + dt.timedelta(days=365)))
        assert first == again
        assert [_timeless(record) for record in first] == [_timeless(record) for record in later]
        assert _created(first[-1]) == _created(later[-1]) - 365 * 86_400_000


def _timeless(record: object) -> object:
    assert isinstance(record, (User, Email))
    return record.model_copy(update={"created": 0, **({"updated": 0} if isinstance(record, User) else {})})


def _created(record: object) -> int:
    assert isinstance(record, (User, Email))
    return record.created
