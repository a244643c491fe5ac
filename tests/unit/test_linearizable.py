"""The checker of histories takes what can have happened, and nothing else."""

from __future__ import annotations

from math import inf

import pytest

from tests.integration.linearizable import Absent, Noted, NotLinearizable, Request, possible_states


def wrote(note: str, sent: float, answered: float = inf, kind: str = "put", **more: object) -> Request:
    outcome = "" if answered == inf else "done"
    return Request(kind, note, sent=sent, answered=answered, **{"outcome": outcome, **more})  # type: ignore[arg-type]


def read(note: str | None, sent: float, answered: float) -> Request:
    value = None if note is None else (note, None)
    return Request("read", sent=sent, answered=answered, outcome="done", value=value)


def test_requests_one_after_the_other() -> None:
    history = [wrote("a", 0, 1, "create"), read("a", 2, 3), wrote("", 4, 5, "delete"), read(None, 6, 7)]
    assert possible_states(history, []) == {None}


def test_an_answered_write_that_is_gone_is_found() -> None:
    with pytest.raises(NotLinearizable):
        possible_states([wrote("a", 0, 1), read(None, 3, 4)], [2])
    with pytest.raises(NotLinearizable):
        possible_states([wrote("a", 0, 1), wrote("b", 2, 3), read("a", 4, 5)], [])


def test_a_write_without_an_answer_is_there_or_not_and_stays_so() -> None:
    lost = wrote("b", 2)
    assert possible_states([wrote("a", 0, 1), lost], [3]) == {("a", None), ("b", None)}
    for there in ("a", "b"):
        assert possible_states([wrote("a", 0, 1), lost, read(there, 4, 5)], [3]) == {(there, None)}
    with pytest.raises(NotLinearizable):
        possible_states([wrote("a", 0, 1), lost, read("a", 4, 5), read("b", 6, 7)], [3])
    with pytest.raises(NotLinearizable):
        possible_states([wrote("a", 0, 1), wrote("b", 3.5), read("b", 2, 3)], [4])


def test_one_that_was_repeated_with_its_key_happens_once() -> None:
    repeated = wrote("b", 2, 8, "create")
    assert possible_states([repeated, read("b", 4, 5)], [3]) == {("b", None)}
    history = [repeated, read("b", 4, 5), wrote("", 6, 7, "delete"), read("b", 9, 10)]
    with pytest.raises(NotLinearizable):
        possible_states(history, [3])


def test_concurrent_writes_have_either_order_and_all_see_the_same() -> None:
    both = [wrote("a", 0, 5), wrote("b", 1, 6)]
    assert possible_states(both, []) == {("a", None), ("b", None)}
    assert possible_states([*both, read("b", 2, 3), read("a", 7, 8)], []) == {("a", None)}
    with pytest.raises(NotLinearizable):
        possible_states([*both, read("b", 2, 3), read("a", 3.1, 4), read("b", 7, 8)], [])


def test_answers_that_refuse_say_what_there_was() -> None:
    exists = wrote("b", 2, 3, "create", outcome="exists")
    with pytest.raises(NotLinearizable):
        possible_states([exists], [])
    assert possible_states([wrote("a", 0, 1), exists], []) == {("a", None)}
    with pytest.raises(NotLinearizable):
        possible_states([wrote("a", 0, 1), wrote("", 2, 3, "delete", outcome="missing")], [])
    for condition in (Noted("b"), Absent()):
        mismatch = wrote("c", 2, 3, outcome="mismatch", condition=condition)
        assert possible_states([wrote("a", 0, 1), mismatch], []) == {("a", None)}
    with pytest.raises(NotLinearizable):
        possible_states([wrote("a", 0, 1), wrote("c", 2, 3, outcome="mismatch", condition=Noted("a"))], [])
    with pytest.raises(NotLinearizable):
        possible_states([wrote("a", 0, 1), wrote("c", 2, 3, condition=Noted("b"))], [])


def test_a_patch_keeps_what_it_does_not_name_and_shows_it() -> None:
    made = Request("put", "a", "x", sent=0, answered=1, outcome="done")
    for handle, fits in (("x", True), ("y", False)):
        patch = Request("patch", "b", keeps_handle=True, sent=2, answered=3, outcome="done", shows_value=True)
        patch.value = ("b", handle)
        if fits:
            assert possible_states([made, patch], []) == {("b", "x")}
        else:
            with pytest.raises(NotLinearizable):
                possible_states([made, patch], [])
