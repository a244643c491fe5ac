"""The application processes of a history whose things have guests: they come, change over to another thing, leave it,
and are read as a thing's list."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from shardweave.errors import NotFound, OutcomeUnknown, ParentMissing
from shardweave.schema.entity import Entity
from shardweave.store import Delete, Put, Update
from tests.simulator.clients import NOT_DONE
from tests.simulator.guests import GUESTS, HOSTS, LASTING, place_at
from tests.simulator.oracle import Value
from tests.simulator.writers import FAMILY_KINDS, EveryWriter

HOSTING_KINDS = (
    *(*FAMILY_KINDS, "add_part", "add_part", "delete", "change_at_rev", "change_at_old_rev"),
    *("seat_guest", "seat_guest", "seat_guest", "unseat_guest", "seat_two"),
    *("drop_guest", "list_guests", "list_guests", "list_known_guests", "see_guest"),
)


class HostingWriter(EveryWriter):
    """A writer that also has guests of its own, which it brings to anybody's thing."""

    @property
    def guest(self) -> type[Entity]:
        return self.world.schema.entities["guest"].model

    def _guest(self) -> str:
        return self.world.simulation.random.choice(self._own_guests())

    def _own_guests(self) -> list[str]:
        own = self.ids[0].partition("-")[0]
        return [each for each in GUESTS if each.startswith(f"guest-{own}-")]

    def _host(self) -> str:
        draw = self.world.simulation.random
        return draw.choice(LASTING) if draw.random() < 0.3 else draw.choice(HOSTS)

    def _possible(self, guest: str) -> frozenset[Value]:
        return self.world.guests.places.of(guest).possible

    def seat_guest(self) -> None:
        """A guest comes to a thing, from wherever it was."""
        guest, host, draw = self._guest(), self._host(), self.world.simulation.random
        before = self._possible(guest)
        if draw.random() < 0.3:
            put = Put({"guest_id": guest, "thing_id": host}, self.guest)
            done = self._place({guest: host}, lambda: self.store.write(put))
        else:
            work = self._update(guest, host, upsert=True)
            done = self._place({guest: host}, work)
        self.world.done["guests that changed over"] += bool(done and min((each or 0) for each in before))

    def unseat_guest(self) -> None:
        """A guest leaves its thing."""
        seated = [each for each in self._own_guests() if any(self._possible(each))]
        guest = self.world.simulation.random.choice(seated or self._own_guests())
        before = self._possible(guest)
        done = self._place({guest: None}, self._update(guest, None))
        self.world.done["guests that left"] += bool(done and min((each or 0) for each in before))

    def seat_two(self) -> None:
        """Two guests at once, one of which leaves."""
        first, second = self.world.simulation.random.sample(self._own_guests(), 2)
        host = self._host()
        updates = [
            Update(self.guest, first, {"thing_id": host}, upsert=True),
            Update(self.guest, second, {"thing_id": None}, upsert=True),
        ]
        self._place({first: host, second: None}, lambda: self.store.transact(updates))

    def drop_guest(self) -> None:
        guest = self._guest()
        before, places = self._possible(guest), self.world.guests.places
        delete = Delete(self.guest, guest, returning=True)
        with self._telling({guest: None}):
            written = self.store.write(delete)
            there: Any = written.before
            found = None if there is None else place_at(there.thing_id)
            possible = before | places.of(guest).between(self.began, self._now())
            assert found in possible, f"{guest}: delete gives {found}, possible was {set(possible)}"
            places.end(self._now(), {guest: None})

    def _update(self, guest: str, host: str | None, *, upsert: bool = False) -> Callable[[], Any]:
        return lambda: self.store.update(self.guest, guest, {"thing_id": host}, upsert=upsert)

    def _place(self, new: dict[str, str | None], work: Callable[[], Any]) -> bool:
        """Bring guests to things that may go meanwhile. Gives whether it was done."""
        world, places = self.world, self.world.guests.places
        hosts = [host for host in new.values() if host is not None]
        counts = [world.deletions.setdefault(host, [0, 0]) for host in hosts]
        begun, was_going, began = [each[0] for each in counts], any(each[1] for each in counts), self._now()
        placed: dict[str, Value] = {guest: place_at(host) for guest, host in new.items()}
        with self._telling(placed):
            work()
            places.end(self._now(), placed)
            going = was_going or begun != [each[0] for each in counts]
            if going or any(world.oracle.going(host, began) for host in hosts):
                for guest in new:
                    places.of(guest).now(self._now(), places.of(guest).possible | {place_at(None)})
                world.done["guests that came while things went"] += 1
            return True
        return False

    @contextlib.contextmanager
    def _telling(self, placed: dict[str, Value]) -> Iterator[None]:
        """Tell the oracle of a write of guests."""
        places = self.world.guests.places
        self.began = self._now()
        before = places.begin(self.began, placed)
        try:
            yield
        except OutcomeUnknown:
            places.unsure(placed)
        except (ParentMissing, NotFound, *NOT_DONE) as error:
            self.failed = True
            lost = {place_at(None)} if any(place_at(None) in self._possible(guest) for guest in placed) else set()
            places.fail(self._now(), {guest: possible | lost for guest, possible in before.items()})
            if isinstance(error, NotFound):
                for guest in placed:
                    assert None in before[guest] or len(placed) > 1, f"{guest} is said to be away, it was {before}"
            if isinstance(error, ParentMissing):
                asked = {HOSTS[place - 1] for place in placed.values() if place}
                assert not asked.issubset(LASTING), f"{asked} are said to be away"

    def list_guests(self) -> None:
        """A thing's guests, in pages that other writes come between: those that were there all the time are on them
        once, in the order of their ids, and none that never was."""
        began, draw, places = self._now(), self.world.simulation.random, self.world.guests.places
        having = [each for each in HOSTS if any(place_at(each) in places.of(guest).possible for guest in GUESTS)]
        host = draw.choice(having or HOSTS)
        found: list[str] = []
        after = None
        while True:
            try:
                page = self.store.find_by(self.guest, "thing_id", host, limit=draw.choice((1, 2, 50)), after=after)
            except NOT_DONE:
                self.failed = True
                return
            found += [each.guest_id for each in page.items]  # type: ignore[attr-defined]
            after = page.after
            if after is None:
                break
            self.world.simulation.sleep(int(draw.random() ** 3 * 3_000))
        assert found == sorted(found), f"{host}'s guests are {found}"
        for name in GUESTS:
            possible = places.of(name).between(began, self._now())
            shown, here = found.count(name), place_at(host)
            assert not shown or here in possible, f"{name}: shown with {host}, possible was {set(possible)}"
            assert possible != {here} or shown == 1, f"{name} was at {host} all the time, shown {shown} times"
            self.world.done["guests listed"] += shown

    def list_known_guests(self) -> None:
        """The guests in a thing's list of ids: those that are there, in the order of the list."""
        thing, began = self.world.simulation.random.choice(LASTING), self._now()
        try:
            seen: Any = self.store.get(self.world.model, thing)
            ((_, related),) = self.store.expand([seen], "listed")[0].items()
        except NOT_DONE:
            self.failed = True
            return
        shown: list[str] = [each.guest_id for each in related]  # type: ignore[union-attr]
        assert shown == [each for each in seen.guest_ids if each in shown], f"{thing} lists {shown}"
        for each in related:  # type: ignore[union-attr]
            self._check_place(each, began)
        for name in seen.guest_ids:
            possible = self.world.guests.places.of(name).between(began, self._now())
            assert name in shown or None in possible, f"{name} is not listed, it was at {set(possible)}"
        self.world.done["guests listed by id"] += len(shown)

    def see_guest(self) -> None:
        """A guest with its thing."""
        guest, began = self._guest(), self._now()
        try:
            found: Any = self.store.get(self.guest, guest)
            (related,) = [{"thing": None}] if found is None else self.store.expand([found], "thing")
        except NOT_DONE:
            self.failed = True
            return
        if found is None:
            assert None in self.world.guests.places.of(guest).between(began, self._now()), f"{guest} is not found"
            return
        self._check_place(found, began)
        thing: Any = related["thing"]
        is_steady = found.thing_id in LASTING
        assert thing is None if found.thing_id is None else thing is not None or not is_steady, f"{found} has {thing}"
        assert thing is None or thing.thing_id == found.thing_id, f"{found} has {thing}"

    def _check_place(self, guest: Any, began: int) -> None:
        possible = self.world.guests.places.of(guest.guest_id).between(began, self._now())
        found = place_at(guest.thing_id)
        assert found in possible, f"{guest.guest_id}: read {found}, possible was {set(possible)}"
