"""A sequence that is behind is one fault, however many records are above it, and costs little more than a sound one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.maintenance.findings import Finding
from shardweave.maintenance.sequences_behind import BEHIND, MAX_KNOWN, SequencesBehind
from shardweave.table.operations import TransactGet
from tests.unit.doctor_world import Clinic
from tests.unit.shop_world import Issue, Project

ISSUES = 60


def numbered() -> Clinic:
    """Two projects with many issues, and one whose sequence is not touched."""
    clinic = Clinic()
    for project in ("p2", "p3", "p4"):
        clinic.store.create({"projectId": project}, Project)
        for number in range(ISSUES):
            record = {"issueId": f"{project}-{number}", "projectId": project}
            clinic.store.create(record, Issue)
    return clinic


def counter(clinic: Clinic, project: str) -> dict[str, Any]:
    return clinic.one("issue.num+!", rangeKey=f"projectId#{project}")


def set_back(clinic: Clinic, project: str, last: int = 0) -> None:
    clinic.put(counter(clinic, project), _last=last)


def transactions(clinic: Clinic, **options: Any) -> int:
    """How many transactions read something for a doctor."""
    clinic.table.calls.clear()
    clinic.examined(**options)
    return sum(isinstance(each, TransactGet) for each in clinic.table.calls)


@pytest.mark.parametrize("page", [3, 20, 1000])
def test_a_sequence_that_is_behind_is_found_once_and_goes_on_above_the_highest_number(page: int) -> None:
    clinic, said = numbered(), list[str]()
    set_back(clinic, "p2")
    clinic.remove(counter(clinic, "p3"))
    found = clinic.examined(page=page).findings
    assert found.counts == {"sequence_behind": 2}
    assert {each.key[1] for each in found.all_named} == {"projectId#p2", "projectId#p3"}
    report = clinic.examined(page=page, repair=True, say=said.append)
    assert (report.findings.counts, report.findings.repaired, report.code) == (found.counts, found.counts, 0)
    assert len(said) == 2
    assert [counter(clinic, each)["_last"] for each in ("p2", "p3", "p4")] == [ISSUES] * 3
    assert clinic.found() == {}
    assert clinic.store.create({"issueId": "next", "projectId": "p2"}, Issue).num == ISSUES + 1


def test_only_what_may_be_the_highest_number_is_read_again() -> None:
    clinic = numbered()
    assert transactions(clinic, page=100) == 0
    set_back(clinic, "p2")
    assert 0 < transactions(clinic, page=100) < ISSUES, "each that is read again takes several"
    assert 0 < transactions(clinic, page=100, repair=True) < ISSUES


@pytest.mark.parametrize("rounds", [1, 2, 5, 9])
def test_stopped_and_gone_on_with_the_report_is_the_same(rounds: int) -> None:
    clinic = numbered()
    set_back(clinic, "p2")
    set_back(clinic, "p3", 30)
    whole, runs = clinic.examined(page=5), 0
    while True:
        left = iter(range(rounds))
        runs += 1
        report = clinic.doctor(page=5).run(stop=lambda left=left: next(left, None) is None)  # type: ignore[misc]
        if report.done:
            break
    assert runs > 1
    assert report.findings == whole.findings
    assert whole.findings.counts == {"sequence_behind": 2}


def test_the_other_faults_of_records_above_a_counter_are_found() -> None:
    clinic = numbered()
    set_back(clinic, "p2")
    for number in range(0, ISSUES, 7):
        clinic.remove(clinic.one("issue.num!", _owner=f"issueId#p2-{number}"))
    lacking = len(range(0, ISSUES, 7))
    assert clinic.found() == {"sequence_behind": 1, "lookup_missing": lacking}
    assert clinic.examined(repair=True).findings.repaired == {"sequence_behind": 1, "lookup_missing": lacking}
    assert clinic.found() == {}


def test_the_highest_is_removed_before_it_is_read_again_and_the_next_one_tells() -> None:
    clinic = numbered()
    set_back(clinic, "p2", ISSUES - 2)
    removed: list[str] = []

    class Meanwhile:
        """A table from which the record with the highest number goes before anything is read in a transaction."""

        def __getattr__(self, name: str) -> Any:
            return getattr(clinic.inner, name)

        def run(self, operation: Any, **options: Any) -> Any:
            if isinstance(operation, TransactGet) and not removed:
                removed.append("highest")
                clinic.store.delete(Issue, f"p2-{ISSUES - 1}")
            return clinic.inner.run(operation, **options)

    report = clinic.doctor(table=Meanwhile(), page=1000).run()
    assert removed == ["highest"]
    assert report.findings.counts == {"sequence_behind": 1}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=30))
@settings(max_examples=100)
def test_what_is_covered_never_has_a_higher_number_than_what_was_told(told: list[tuple[int, int]]) -> None:
    behind, highest = SequencesBehind(), dict[int, int]()
    for number_of_counter, number in told:
        finding, item = Finding(BEHIND, ("issue.num+!", str(number_of_counter)), "issue.num"), {"num": number}
        assert behind.knows(finding) == (number_of_counter in highest)
        assert behind.covers(finding, item) == (number <= highest.get(number_of_counter, -1))
        behind.note(finding, item)
        highest[number_of_counter] = max(number, highest.get(number_of_counter, -1))
        behind = SequencesBehind.decode(behind.encode())


def test_of_more_sequences_than_are_kept_each_record_tells_by_itself() -> None:
    behind = SequencesBehind()
    findings = [Finding(BEHIND, ("issue.num+!", str(number)), "issue.num") for number in range(MAX_KNOWN + 1)]
    for each in findings:
        behind.note(each, {"num": 5})
    assert [behind.knows(each) for each in findings] == [*[True] * MAX_KNOWN, False]
    assert len(behind.encode()) == MAX_KNOWN
