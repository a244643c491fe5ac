"""Processes in virtual time: greenlets of which one runs at a time, until it pauses.

Guarantees: which process runs next, and how much time passes, is drawn from the seeded generator alone, so a history
can be repeated; time never stands still for ever: when nobody can run, it goes on to when the first one can.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Protocol

from greenlet import GreenletExit, getcurrent, greenlet

from shardweave.store import RetryClock

START_MS = 1_700_000_000_000
MAX_STEPS = 400_000
IDLE_MS = 5_000


class Crash(GreenletExit):
    """The process dies. No code of it runs any more but what closes locks."""


class Job(Protocol):
    """Something that the table does by itself, step by step, and must have done by a time."""

    deadline: int
    done: bool

    def step(self) -> None: ...


class Process:
    """One process. `offset` is by how much its wall clock is fast, in milliseconds."""

    def __init__(self, simulation: Simulation, name: str, work: Callable[[Process], None], offset: int) -> None:
        self.simulation = simulation
        self.name = name
        self.offset = offset
        self.wakes = 0
        self.waits_for: Job | None = None
        self.crashed = False
        self._greenlet = greenlet(lambda: self._run(work))

    @property
    def over(self) -> bool:
        return self._greenlet.dead

    def wall_ms(self) -> int:
        """What its wall clock says."""
        return self.simulation.now + self.offset

    def can_run(self, now: int) -> bool:
        return self.wakes <= now and (self.waits_for is None or self.waits_for.done)

    def resume(self) -> None:
        self.waits_for = None
        self._greenlet.switch()

    def crash(self) -> None:
        """Called in the process itself."""
        self.crashed = True
        raise Crash

    def end(self) -> None:
        """Called from outside: what it waits in would be held for ever otherwise."""
        self.crashed = True
        while not self.over:
            self._greenlet.throw(Crash)

    def _run(self, work: Callable[[Process], None]) -> None:
        try:
            work(self)
        except Crash:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised again where the simulation runs
            self.simulation.failure = self.simulation.failure or error


class Simulation:
    """The processes, the time, and the generator. `tasks` gives what else can happen now, as callables."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = START_MS
        self.processes: list[Process] = []
        self.jobs: list[Job] = []
        self.world: Callable[[], int | None] = lambda: None
        self.failure: BaseException | None = None
        self.steps = 0
        self.due = START_MS
        """When the world has to act at the latest."""
        self.pace = 30

    # -- for processes

    def waiting(self) -> RetryClock:
        """How a store waits here."""
        return RetryClock(
            sleep=lambda seconds: self.sleep(int(seconds * 1000)),
            random=self.random.random,
            monotonic=lambda: self.now / 1000,
        )

    def spawn(self, name: str, work: Callable[[Process], None], offset: int = 0) -> Process:
        process = Process(self, name, work, offset)
        self.processes.append(process)
        return process

    def pause(self) -> None:
        """Let others run. They may run for long."""
        self.current.wakes = self.now
        self._main.switch()

    def sleep(self, milliseconds: int) -> None:
        self.current.wakes = self.now + max(0, milliseconds)
        self._main.switch()

    def wait_for(self, job: Job) -> None:
        self.current.waits_for = job
        self._main.switch()

    @property
    def current(self) -> Process:
        found = self._running
        assert found is not None, "called outside of a process"
        return found

    # -- the run

    def run(self, done: Callable[[], bool]) -> None:
        """Run until `done`. Raises what a process raised."""
        self._main = getcurrent()
        self._running: Process | None = None
        try:
            while not done():
                self.steps += 1
                if self.steps > MAX_STEPS:
                    elapsed = self.now - START_MS
                    raise AssertionError(f"no end after {MAX_STEPS} steps, at {elapsed} ms: {self._waiting()}")
                self._step()
                if self.failure is not None:
                    raise self.failure
        finally:
            for process in self.processes:
                self._running = process
                process.end()

    def _step(self) -> None:
        draw = self.random.random
        self._finish_late_jobs()
        if self.due <= self.now:
            self.due = self.world() or self.now + IDLE_MS
        if self.jobs and draw() < 0.3:
            self._advance_job(self.random.choice(self.jobs))
            return
        if draw() < 0.35:
            self.due = self.world() or self.now + IDLE_MS
        able = [process for process in self.processes if process.can_run(self.now)]
        if able:
            process = self.random.choice(able)
            self._running = process
            process.resume()
            self._running = None
            if process.over:
                self.processes.remove(process)
            self.now += int(draw() * self.pace)
            return
        if self.jobs:
            self._advance_job(self.random.choice(self.jobs))
            return
        moments = [process.wakes for process in self.processes if process.waits_for is None]
        moments.append(self.due)
        future = [moment for moment in moments if moment > self.now]
        self.now = min(future) if future else self.now + 1 + int(draw() * self.pace)

    def _finish_late_jobs(self) -> None:
        for job in [job for job in self.jobs if job.deadline <= self.now]:
            while not job.done:
                self._advance_job(job)

    def _advance_job(self, job: Job) -> None:
        job.step()
        if job.done:
            self.jobs.remove(job)

    def _waiting(self) -> list[Any]:
        return [(process.name, process.wakes - START_MS) for process in self.processes]
