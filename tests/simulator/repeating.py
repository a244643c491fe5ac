"""Requests of application processes that are sent under an idempotency key: by two processes at once, one of which may
die, and again long after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from shardweave.errors import IdempotencyMismatch, OutcomeUnknown, ShardweaveError, StillInProgress
from shardweave.schema.entity import Entity
from shardweave.store import Add, Create, IdempotencyKey, KeptAnswer, Operation, Put, Store
from tests.simulator.oracle import Value
from tests.simulator.revising import RevisingWriter
from tests.simulator.scheduler import Process

REPEATING_KINDS = ("write_once", "write_once", "write_once", "work_once", "write_again", "write_again")
CRASHES = 0.08
SOON_MS = 50_000
"""Work that began so long ago may be begun again by another process."""


@dataclass
class Request:
    """A request under a key, and its answer, if one was given."""

    once: IdempotencyKey
    operations: list[Operation]
    told: bytes | None = None

    def sent(self, store: Store) -> KeptAnswer:
        """Send it, whoever does."""
        return store.idempotent(self.once, self.operations, answer_of)


@dataclass
class Work(Request):
    """A request that is carried out by code: it puts a thing, and may be done again if a process dies in it."""

    values: dict[str, Any] = field(default_factory=dict)
    model: type[Entity] = Entity
    begun: list[int] = field(default_factory=list)
    """When it was begun by those who are at it, and `times`, how often it was."""
    times: list[int] = field(default_factory=lambda: [0])
    clock: Callable[[], int] = int

    def sent(self, store: Store) -> KeptAnswer:
        return store.idempotent_work(self.once, lambda: self._done(store))

    def _done(self, store: Store) -> bytes:
        began = self.clock()
        assert all(began - each > SOON_MS for each in self.begun), f"{self.once.key} is worked on by two"
        self.begun.append(began)
        self.times[0] += 1
        try:
            return answer_of((store.put(self.values, self.model),))
        finally:
            self.begun.remove(began)


def answer_of(records: tuple[Entity | None, ...]) -> bytes:
    """What is kept of a request: which things it left, in which revisions."""
    things: list[Any] = [each for each in records if each is not None]
    return " ".join(f"{each.thing_id}={each.number}={each.rev}" for each in things).encode()


class RepeatingWriter(RevisingWriter):
    """A writer that also repeats requests."""

    def write_once(self) -> None:
        """A record that is put, or made under an id of the store's own, and an addition to the counter: all of it once,
        whoever sends it how often."""
        name, number, draw = self._pick(), self._number(), self.world.simulation.random
        values, model = self.world.values(name, number), self.world.model
        new: dict[str, Value] = {name: number}
        write: Operation = Put(values, model)
        if draw.random() < 0.4:
            values = self.world.values("", number)
            del values["thing_id"]
            new, write = {}, Create(values, model)
        add = Add(model, self.key("counter"), {"number": 1})
        once = IdempotencyKey(f"key-{number}", "all", f"write {number}".encode())
        request = Request(once, [add, write])
        self._count(lambda: self._write(new, lambda: self._sent_by_two(request), told=True))
        if request.told is None:
            self.failed = True
            return
        self.world.requests.append(request)
        if not new:
            made = request.told.decode().split()[1].split("=")[0]
            self.world.oracle.end(self._now(), {made: number})
            self.world.done["made once under a key"] += 1

    def _sent_by_two(self, request: Request) -> None:
        """Send a request in two processes, and again where neither had an answer and one may have been carried out."""
        answers: list[KeptAnswer] = []
        errors: list[ShardweaveError] = []

        def send(store: Store) -> None:
            for pause in (15_000,) * 6:
                try:
                    answers.append(request.sent(store))
                except StillInProgress as error:  # until what a process left that died is taken over
                    errors.append(error)
                    self.world.simulation.sleep(pause)
                    continue
                except (OutcomeUnknown, *self.not_done) as error:
                    errors.append(error)
                return

        died = self._beside(send)
        is_unknown = died or any(isinstance(each, OutcomeUnknown | StillInProgress) for each in errors)
        if is_unknown and not answers:
            send(self.store)
            self.world.done["sent again after no answer"] += bool(answers)
        if not answers:
            raise OutcomeUnknown("no process had an answer", fix="send it again") if is_unknown else errors[0]
        self._until_visible()
        self._told(request, answers, is_certain=not is_unknown)
        self.world.done["answers of one that died"] += died and all(each.repeated for each in answers)

    def _until_visible(self) -> None:
        """Wait for what writers have under way: an answer that was kept is found as soon as its own item is written,
        and the table writes those of its transaction one after the other."""
        simulation = self.world.simulation
        writing = [each for each in simulation.jobs if str(getattr(each, "by", "")).startswith("client")]
        while not all(each.done for each in writing):
            self.world.done["answers before all was to be seen"] += 1
            simulation.sleep(20)

    def _beside(self, send: Callable[[Store], None]) -> bool:
        """Send in another process and in this one, at some moment of the other's. Gives whether the other one died."""
        simulation = self.world.simulation
        skew = self.world.waits.accepted_ms * 9 // 10
        weather = replace(self.world.weather, crash=CRASHES)

        def run(process: Process) -> None:
            send(self.world.store(process, weather)[0])

        other = simulation.spawn("client beside", run, simulation.random.randint(-skew, skew))
        simulation.sleep(int(simulation.random.random() ** 2 * 1_000))
        send(self.store)
        while not other.over:
            simulation.sleep(50)
        self.world.done["senders that died"] += other.crashed
        return other.crashed

    def _told(self, request: Request, answers: list[KeptAnswer], *, is_certain: bool) -> None:
        """One answer, which is the first's."""
        told = {each.answer for each in answers}
        assert len(told) == 1, f"{request.once.key} was answered by {told}"
        (request.told,) = told
        made = sum(not each.repeated for each in answers)
        assert made <= 1, f"{request.once.key} was carried out {made} times"
        assert made == 1 or not is_certain, f"{request.once.key} was carried out by nobody"
        self.world.done["answered by what another sent"] += len(answers) > made

    def work_once(self) -> None:
        """A record that is put by work under a key, which two processes are asked for."""
        name, number, simulation = self._pick(), self._number(), self.world.simulation
        values, once = self.world.values(name, number), IdempotencyKey(f"work-{number}", "all", b"work")
        work = Work(once, [], values=values, model=self.world.model, clock=lambda: simulation.now)
        self._write({name: number}, lambda: self._sent_by_two(work))
        if work.told is None:
            self.failed = True
            return
        self.world.requests.append(work)
        self.world.done["work that was begun again"] += work.times[0] > 1

    def write_again(self) -> None:
        """A request that was carried out before, by whoever it was, or another one under its key."""
        draw = self.world.simulation.random
        if not self.world.requests:
            self.failed = True
            return
        request = draw.choice(self.world.requests)
        is_other = draw.random() < 0.25
        sent = replace(request, once=replace(request.once, fingerprint=b"another")) if is_other else request
        try:
            kept = sent.sent(self.store)
        except IdempotencyMismatch:
            assert is_other, f"{request.once.key} is said to be another request's"
            self.world.done["other requests under a key refused"] += 1
        except (OutcomeUnknown, *self.not_done):
            self.failed = True
        else:
            assert not is_other, f"{request.once.key} was taken for another request"
            assert (kept.answer, kept.repeated) == (request.told, True), f"{request} is answered by {kept}"
