"""Long work tells how far it has come where no bar can."""

from __future__ import annotations

from shardweave.cli.progress_lines import ProgressLines


def test_a_line_is_said_when_its_time_has_come_and_no_sooner() -> None:
    said: list[str] = []
    times = [0.0]
    lines = ProgressLines(said.append, every=10.0, monotonic=lambda: times[-1])
    for now in (0.0, 9.9, 10.0, 11.0, 19.9, 20.0, 45.0):
        times.append(now)
        lines.tell(lambda: f"at {times[-1]}")
    assert said == ["at 10.0", "at 20.0", "at 45.0"]
