"""The protocol as a model that is searched exhaustively: one id, a few writers, one mover, re-shards without end.

A state is all that matters of a moment: the copies of the record in both spaces, the requests under way, the phase.
From each state everything that can happen next is tried: a writer plans by what it reads, a request arrives, the mover
plans, its transaction arrives, the record expires, the table's TTL removes one copy, the control record goes on, or
back. Invariants, checked in every state: who reads by the phase in force, or by the one before, sees what the last
write that was carried out left; no write is carried out on other grounds than it was planned on; another program's
write to the old space is not destroyed after the flip. And from every state, with no new request, the re-shard can come
to its end.

`Guards` are the rules of the protocol. With each one taken away, the search finds a history that breaks an invariant,
which is how it is known that the rule is needed, and that the search would find it missing.

Copies are (revision, live, marked, generation); revisions are renamed by their order of appearance, so that the number
of states is finite.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

STABLE, DUAL_OLD, DUAL_NEW, NEW_ONLY, PURGE = range(5)
EARLIER, LATER = 0, 1
"""The generations of the old space. A new record is of the later one; the new space has one for all."""


class Copy(NamedTuple):
    """A stored copy of the record."""

    rev: int
    live: bool = True
    marked: bool = False
    generation: int = LATER
    stray: bool = False
    """Whether another program wrote it."""


class Request(NamedTuple):
    """A write under way: what it was planned as, by which phase of which move, and on what."""

    kind: str
    phase: int
    known_mark: bool
    """Whether its version is that of marks made now."""
    rev: int
    """The revision that it writes, or, of a removal, 0."""
    seen: int = 0
    generation: int = LATER
    turned: bool = False
    """Whether the spaces have changed their roles since."""


class Move(NamedTuple):
    """A transaction of the mover under way."""

    kind: str
    copy: Copy
    valid: bool = True
    """Whether its token is still the item's."""


class State(NamedTuple):
    """Everything that matters of a moment. `truth` is the revision that readers must see, 0 for none."""

    phase: int = STABLE
    before: int = STABLE
    old: tuple[Copy | None, Copy | None] = (None, None)
    new: Copy | None = None
    truth: int = 0
    requests: tuple[Request | None, ...] = (None, None)
    move: Move | None = None
    swept: bool = False
    verified: bool = False
    aborting: bool = False
    broken: str = ""


@dataclass(frozen=True)
class Guards:
    """The rules of the protocol, each of which can be taken away."""

    mark: bool = True
    """Writers refuse a record with a mark of a version that they do not know."""
    condition: bool = True
    """A copy is made only of the revision that was read."""
    sweep: bool = True
    """What the old space has not is removed from the new one."""
    sweep_revision: bool = True
    """A sweep removes only the revision that was seen."""
    others: bool = True
    """A create also removes the id in the other generations."""
    token: bool = True
    """A transaction of the mover is carried out only in the step that it belongs to."""
    phase_wait: bool = True
    """A phase lasts until nothing planned in the one before is under way, so leases and their checks as well."""
    verification: bool = True
    """The flip needs both spaces to be equal."""
    verification_wait: bool = True
    """The verification that counts begins when nothing planned in the phase before is under way."""
    purge_mark: bool = True
    """Only what is marked, or expired, is removed from the old space."""


WRITES = frozenset({"create", "change", "remove"})
ADDITIONS = WRITES - {"change"} | {"add"}
"""The same with additions of the table's, which take no condition on the revision, in place of changes."""


def search(
    guards: Guards = Guards(), *, writers: int = 2, kinds: frozenset[str] = WRITES, most: int = 5_000_000
) -> tuple[int, str]:
    """How many states there are, and what is broken in the first one in which something is. `kinds` are the writes that
    applications ask for; where none creates, a record is there from the beginning."""
    copies = (Copy(1, live=False, generation=EARLIER), None if "create" in kinds else Copy(2))
    first = State(old=copies, truth=0 if "create" in kinds else 2, requests=(None,) * writers)
    waiting = deque([first])
    reached_from: dict[State, list[State]] = {first: []}
    while waiting:
        state = waiting.popleft()
        for by_itself, following in _following(state, guards, kinds):
            named = _renamed(following)
            wrong = named.broken or _wrong(named)
            if wrong:
                return len(reached_from), wrong
            if named not in reached_from:
                reached_from[named] = []
                waiting.append(named)
            if by_itself:
                reached_from[named].append(state)
            if len(reached_from) >= most:
                raise AssertionError(f"more than {most} states")
    stuck = _stuck(reached_from)
    return len(reached_from), "" if stuck is None else f"it never ends from {stuck}"


def _stuck(reached_from: dict[State, list[State]]) -> State | None:
    """A state from which no end can be reached, if there is one."""
    ends = [state for state in reached_from if state.phase == STABLE and state.new is None]
    able, waiting = set(ends), deque(ends)
    while waiting:
        for earlier in reached_from[waiting.popleft()]:
            if earlier not in able:
                able.add(earlier)
                waiting.append(earlier)
    return next((state for state in reached_from if state not in able), None)


def guard_names() -> list[str]:
    """The guards by name."""
    return [each.name for each in fields(Guards)]


# -- what readers see -------------------------------------------------------------------------------------------------


def _read(state: State, phase: int) -> Copy | None:
    """The live record as a reader in that phase finds it."""
    if phase in (STABLE, DUAL_OLD):
        live = [copy for copy in state.old if copy is not None and copy.live]
        return live[-1] if live else None
    return state.new if state.new is not None and state.new.live else None


def _wrong(state: State) -> str:
    for phase in (state.phase, state.before):
        found = _read(state, phase)
        if (0 if found is None else found.rev) != state.truth:
            return f"a reader in phase {phase} sees {found}, the truth is {state.truth}"
    if sum(copy is not None and copy.live and not copy.stray for copy in state.old) > 1 and state.phase <= DUAL_NEW:
        return "the id is live in two generations"
    return ""


# -- what can happen --------------------------------------------------------------------------------------------------


def _following(state: State, guards: Guards, kinds: frozenset[str]) -> Iterator[tuple[bool, State]]:
    """The states that can follow, and whether they do so by themselves: without anything new that someone asks."""
    free = next((position for position, request in enumerate(state.requests) if request is None), None)
    if free is not None:
        for planned in _plans(state):
            if planned.kind in kinds:
                yield False, _with_request(state, free, planned)
    for position, request in enumerate(state.requests):
        if request is not None:
            yield True, _with_request(_arrived(state, request, guards), position, None)
            yield True, _with_request(state, position, None)
    for following in _moves(state, guards):
        yield True, following
    for following in _fates(state):
        yield False, following
    for following in _phases(state, guards):
        yield following.phase >= state.phase or state.aborting or state.phase == PURGE, following
    stray = _stray(state)
    if stray is not None:
        yield False, stray


def _stray(state: State) -> State | None:
    """Another program writes to the old space when nobody reads it any more; at most once."""
    if state.phase != PURGE or state.old[LATER] is None or state.old[LATER].stray:
        return None
    stray = Copy(_fresh(state), marked=False, stray=True)
    return state._replace(old=(state.old[EARLIER], stray))


def _with_request(state: State, position: int, request: Request | None) -> State:
    requests = list(state.requests)
    requests[position] = request
    return state._replace(requests=tuple(requests))


def _plans(state: State) -> Iterator[Request]:
    """What a writer can plan by the phase in force."""
    found = _read(state, state.phase)
    in_move = state.phase != STABLE
    if found is None:
        yield Request("create", state.phase, in_move, _fresh(state))
        return
    yield Request("change", state.phase, in_move, _fresh(state), found.rev, found.generation)
    if state.phase not in (DUAL_OLD, DUAL_NEW):
        yield Request("add", state.phase, in_move, _fresh(state), found.rev, found.generation)
    yield Request("remove", state.phase, in_move, 0, found.rev, found.generation)


def _fresh(state: State) -> int:
    used = [copy.rev for copy in (*state.old, state.new) if copy is not None]
    used += [request.rev for request in state.requests if request is not None]
    used += [request.seen for request in state.requests if request is not None]
    used += [] if state.move is None else [state.move.copy.rev]
    return max([*used, state.truth], default=0) + 1


def _arrived(state: State, request: Request, guards: Guards) -> State:
    """The state after a write arrived: as before when its conditions do not hold."""
    first_is_new = request.phase in (DUAL_NEW, NEW_ONLY, PURGE) and not request.turned
    place = state.new if first_is_new else state.old[request.generation]
    if guards.mark and place is not None and place.marked and not request.known_mark:
        return state
    if request.kind == "create":
        if place is not None and place.live:
            return state
        if not first_is_new and guards.others and any(copy is not None and copy.live for copy in state.old):
            return state
    elif place is None or not place.live:
        return state
    elif request.kind == "add":
        request = request._replace(seen=place.rev)
    elif place.rev != request.seen:
        return state
    if request.seen != (state.truth if request.kind != "create" else 0) or (request.kind == "create" and state.truth):
        return state._replace(broken=f"a {request.kind} was carried out on what was not the record")
    return _carried_out(state, request, guards, first_is_new)


def _carried_out(state: State, request: Request, guards: Guards, first_is_new: bool) -> State:
    dual = request.phase in (DUAL_OLD, DUAL_NEW) and not request.turned
    copy = None if request.kind == "remove" else Copy(request.rev, generation=request.generation)
    old, new = list(state.old), state.new
    if not first_is_new or dual:
        old[request.generation] = None if copy is None else copy._replace(marked=dual)
        if request.kind == "create" and guards.others:
            old[EARLIER] = None
    if first_is_new or dual:
        new = copy
    return state._replace(old=tuple(old), new=new, truth=request.rev if copy is not None else 0)


def _moves(state: State, guards: Guards) -> Iterator[State]:
    if state.move is not None:
        yield _moved(state, state.move, guards)._replace(move=None)
        yield state._replace(move=None)
        return
    for kind, copy in _work(state, guards):
        yield state._replace(move=Move(kind, copy))


def _work(state: State, guards: Guards) -> Iterator[tuple[str, Copy]]:
    """What the mover can plan by the phase in force."""
    old = [copy for copy in state.old if copy is not None]
    if state.phase == DUAL_OLD and not state.aborting:
        yield from (("copy", copy) for copy in old)
        if state.new is not None and state.old[state.new.generation] is None and guards.sweep:
            yield "sweep", state.new
    if state.phase == PURGE:
        yield from (("purge", copy) for copy in old)
    if state.phase == STABLE and state.new is not None:
        yield "clean", state.new


def _moved(state: State, move: Move, guards: Guards) -> State:
    """The state after a transaction of the mover arrived."""
    if guards.token and not move.valid:
        return state
    seen, place = move.copy, state.old[move.copy.generation]
    if move.kind == "copy":
        if place is None or (guards.condition and place.rev != seen.rev):
            return state
        old = list(state.old)
        old[seen.generation] = place._replace(marked=True)
        return state._replace(old=tuple(old), new=seen._replace(marked=False))
    if move.kind == "purge":
        if place is None or place.rev != seen.rev or (guards.purge_mark and not place.marked and place.live):
            return state
        if place.stray and place.live:
            return state._replace(broken="another program's write was removed")
        old = list(state.old)
        old[seen.generation] = None
        return state._replace(old=tuple(old))
    if state.new is None or (guards.sweep_revision and state.new.rev != seen.rev):
        return state
    if move.kind == "sweep" and place is not None:
        return state
    return state._replace(new=None)


def _fates(state: State) -> Iterator[State]:
    """The record expires; the table's TTL removes one copy of an expired one."""
    if state.truth:

        def aged(copy: Copy | None) -> Copy | None:
            return copy._replace(live=False) if copy is not None and copy.rev == state.truth else copy

        earlier, later = (aged(copy) for copy in state.old)
        move = state.move
        if move is not None and move.copy.rev == state.truth:
            move = move._replace(copy=move.copy._replace(live=False))
        yield state._replace(old=(earlier, later), new=aged(state.new), truth=0, move=move)
    for generation, copy in enumerate(state.old):
        if copy is not None and not copy.live:
            old = list(state.old)
            old[generation] = None
            yield state._replace(old=tuple(old))
    if state.new is not None and not state.new.live:
        yield state._replace(new=None)


def _phases(state: State, guards: Guards) -> Iterator[State]:
    """The control record goes on, or back."""
    settled = all(request is None or request.phase == state.phase for request in state.requests)
    copied = state.phase == DUAL_OLD and not state.verified and not state.aborting and _contents_equal(state)
    if copied and (settled or not guards.verification_wait):
        yield state._replace(verified=True)
    if guards.phase_wait and not settled:
        return
    if state.phase == STABLE and state.new is None:
        yield _entered(state._replace(old=_unmarked(state.old)), DUAL_OLD)
    elif state.phase == DUAL_OLD and not state.aborting and (state.verified or not guards.verification):
        yield _entered(state, DUAL_NEW)
    elif state.phase == DUAL_NEW:
        yield _entered(state, NEW_ONLY)
    elif state.phase == NEW_ONLY:
        yield _entered(state, PURGE)
    elif state.phase == PURGE and all(copy is None or copy.stray for copy in state.old):
        # Another program's write is taken away by hand.
        yield _turned(state)
    if state.phase == DUAL_NEW:
        yield _entered(state, DUAL_OLD)._replace(aborting=True)
    if state.phase == DUAL_OLD:
        yield _entered(state, STABLE)


def _contents_equal(state: State) -> bool:
    old = [copy.rev for copy in state.old if copy is not None and copy.live]
    new = [state.new.rev] if state.new is not None and state.new.live else []
    return old == new


def _entered(state: State, phase: int) -> State:
    """Another phase: tokens are replaced first, so what the mover has under way belongs to none."""
    move = None if state.move is None else state.move._replace(valid=False)
    return state._replace(phase=phase, before=state.phase, move=move, verified=False, aborting=False)


def _unmarked(old: tuple[Copy | None, Copy | None]) -> tuple[Copy | None, Copy | None]:
    """Marks of earlier versions are known to everyone from the start of a later one."""
    earlier, later = (None if copy is None else copy._replace(marked=False) for copy in old)
    return earlier, later


def _turned(state: State) -> State:
    """The end of a move: the new space is the old one of the next."""
    entered = _entered(state, STABLE)
    copy = None if state.new is None else state.new._replace(generation=LATER)
    requests = tuple(
        None if each is None else each._replace(turned=True, generation=LATER) for each in entered.requests
    )
    return entered._replace(old=(None, copy), new=None, requests=requests, before=STABLE)


def _renamed(state: State) -> State:
    """The same state with revisions numbered by their order of appearance, and writers in one order."""
    requests = tuple(sorted(state.requests, key=lambda each: (each is None, each or ())))
    state = state._replace(requests=requests)
    names: dict[int, int] = {0: 0}

    def name(rev: int) -> int:
        return names.setdefault(rev, len(names))

    def copy(each: Copy | None) -> Any:
        return None if each is None else each._replace(rev=name(each.rev))

    truth = name(state.truth)
    earlier, later = (copy(each) for each in state.old)
    return state._replace(
        truth=truth,
        old=(earlier, later),
        new=copy(state.new),
        requests=tuple(
            None if each is None else each._replace(rev=name(each.rev), seen=name(each.seen)) for each in state.requests
        ),
        move=None if state.move is None else state.move._replace(copy=copy(state.move.copy)),
    )
