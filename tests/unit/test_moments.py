"""Where Python takes a moment, it takes a datetime with its zone as well as the epoch number that is meant."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

import pytest

from shardweave import Database
from shardweave.errors import InputError
from shardweave.routing import Listed, get, listed
from shardweave.testing import Clock
from tests.unit.api_reference import reference
from tests.unit.database_world import DAY, NOW, SCHEMA, Account, accounts
from tests.unit.database_world import Clock as Standing
from tests.unit.test_routing import serving

MOMENTS = ("earliest", "latest", "timestamp", "moment", "begin", "since", "until")


@pytest.fixture
def db() -> Iterator[Database]:
    with Database(SCHEMA, clock=Standing(NOW)) as made:
        made.batch_write(accounts(20))
        yield made


def test_every_public_argument_that_is_a_moment_takes_a_datetime() -> None:
    signatures = "\n".join(re.findall(r"```python\n(.*?)```", reference(), re.DOTALL))
    found = re.findall(rf"\b({'|'.join(MOMENTS)}): ([^,=)\n]+)", signatures)
    assert len(found) >= 15
    assert {name for name, _ in found} == {"earliest", "latest", "timestamp", "moment", "begin"}
    assert all(kind.startswith("dt.datetime | int") for _, kind in found)


@pytest.mark.parametrize("zone", [dt.UTC, dt.timezone(dt.timedelta(hours=-5))], ids=["UTC", "-05:00"])
def test_a_time_window_takes_datetimes_too(db: Database, zone: dt.tzinfo) -> None:
    """They are truncated to the unit of the timestamp, as datetimes of records are."""
    begin = dt.datetime.fromtimestamp((NOW - DAY) // 1000, zone) + dt.timedelta(milliseconds=NOW % 1000)
    window: dict[str, Any] = {
        "earliest": begin + dt.timedelta(seconds=3, microseconds=999),
        "latest": begin + dt.timedelta(seconds=5),
    }
    assert [each.balance for each in db.query(Account, index="created", **window).items] == [3, 4, 5]
    assert [each.balance for each in db.records(Account, index="created", **window)] == [3, 4, 5]
    assert (db.count(Account, index="created", **window), db.exists(Account, index="created", **window)) == (3, True)
    first = db.first(Account, index="created", **window)
    assert first is not None
    assert first.balance == 3
    numbers: dict[str, Any] = {"earliest": NOW - DAY + 3_000, "latest": NOW - DAY + 5_000}
    plans = [db.explain(Account, index="created", **each).plan_text() for each in (window, numbers)]
    assert plans[0] == plans[1]


@pytest.mark.parametrize("asked", ["query", "records", "first", "exists", "count", "explain"])
@pytest.mark.parametrize("name", ["earliest", "latest"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dt.datetime(2025, 1, 1), "a datetime has no time zone. Fix: give it one"),  # noqa: DTZ001
        (dt.date(2025, 1, 1), "must be a datetime or a whole number of epoch ms, got date. Fix: give datetime("),
        ("2025-01-01", "must be a datetime or a whole number of epoch ms, got str"),
        (True, "must be a datetime or a whole number of epoch ms, got bool"),
        (1.5, "must be a datetime or a whole number of epoch ms, got float"),
    ],
)
def test_what_is_no_moment_is_refused_by_its_name(
    db: Database, asked: str, name: str, given: Any, message: str
) -> None:
    with pytest.raises(InputError, match=f"^{name}: {re.escape(message)}"):
        getattr(db, asked)(Account, index="created", **{name: given})


@get("/v1/recent")
def recent(hours: int) -> Listed[Account]:
    """Accounts of the last hours."""
    since = dt.datetime.fromtimestamp(NOW / 1000, dt.UTC) - dt.timedelta(hours=hours)
    return listed(Account, index="created", earliest=since, latest=since + dt.timedelta(seconds=5))


def test_a_route_of_ones_own_lists_by_datetimes() -> None:
    with serving(SCHEMA, recent) as client:
        client.database.batch_write(accounts(20))
        assert len(client.get("/v1/recent", hours=24).expect(200).json["items"]) == 6
        assert client.get("/v1/recent", hours=23).json["items"] == []


def test_a_clock_of_tests_takes_the_same() -> None:
    moment = dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone(dt.timedelta(hours=3)))
    assert Clock(moment).now_ms == Clock(1_709_197_200_000).now_ms
    refused: tuple[tuple[Any, str], ...] = (
        (moment.replace(tzinfo=None), "a datetime has no time zone"),
        ("now", "must be a datetime or a whole number of epoch ms, got str"),
    )
    for given, message in refused:
        with pytest.raises(InputError, match=f"moment: {message}"):
            Clock().set(given)


@pytest.mark.parametrize("seconds", ["10", None, True, -1, float("nan")])
def test_what_is_no_number_of_seconds_is_refused(db: Database, seconds: Any) -> None:
    with pytest.raises(InputError, match=r"^seconds: must be a number of seconds, 0 or more\. Fix: give 10\.0"):
        db.continue_deletions(seconds=seconds)
    assert db.continue_deletions(seconds=0.5) == 0
