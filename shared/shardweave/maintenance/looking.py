"""The items that a check can see, by key; it requests those that are not read yet.

A judgement is a pure function of an item and of the items that it asks for. What has not been read yet ends the check
that asked, and is noted; so a whole page is judged in a few rounds, each of which reads all that is asked for together.
A last one, of a suspect, sees a single moment: everything is read in one transaction (see `examination`).

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..keys.sharding import ShardMap
from ..reshard.control import control_key, decode_control
from ..reshard.phases import Phase, ReshardState, ReshardStep, map_in_force
from ..schema.entity_type import EntityType
from ..store.attempts import PrimaryKey
from ..table.values import Item


class NotRead(Exception):
    """Something that a check needs has not been read yet."""


@dataclass(frozen=True)
class Spaces:
    """Where an entity's records are: `current` decides; on `mirror` each is written too; in `leaving` some may be left
    that nobody reads. `control` is None before the first re-shard."""

    current: ShardMap
    mirror: ShardMap | None = None
    leaving: ShardMap | None = None
    control: ReshardState | None = None

    @property
    def is_moving(self) -> bool:
        return self.control is not None and self.control.moving


class ControlledSpaces:
    """The spaces that control records say, decoded once as long as a record stays the same."""

    def __init__(self) -> None:
        self._decoded: dict[str, tuple[Item, Spaces]] = {}

    def of(self, entity: EntityType[Any], stored: Item) -> Spaces:
        """Those of an entity's control record. Raises ReshardUnreadable."""
        decoded = self._decoded.get(entity.token)
        if decoded is None or decoded[0] != stored:
            decoded = self._decoded[entity.token] = stored, spaces_of(entity, decode_control(entity, stored))
        return decoded[1]


@dataclass
class Look:
    """The items for one check, and `wanted`: the keys that it requested and that are not read yet. `known` has None for
    an item that does not exist."""

    hash_name: str
    range_name: str
    now_ms: int
    known: Mapping[PrimaryKey, Item | None]
    controlled: ControlledSpaces = field(default_factory=ControlledSpaces)
    wanted: dict[PrimaryKey, Item] = field(default_factory=dict)

    @property
    def seconds(self) -> int:
        return self.now_ms // 1000

    def items(self, *keys: Item) -> tuple[Item | None, ...]:
        """The items of some keys. Raises NotRead."""
        names = [(key[self.hash_name], key[self.range_name]) for key in keys]
        missing = {name: key for name, key in zip(names, keys, strict=True) if name not in self.known}
        if missing:
            self.wanted.update(missing)
            raise NotRead
        return tuple(self.known[name] for name in names)

    def item(self, key: Item) -> Item | None:
        """One item. Raises NotRead."""
        (found,) = self.items(key)
        return found

    def live(self, entity: EntityType[Any], *keys: Item) -> list[Item]:
        """Those of some records that are there and have not expired. Raises NotRead."""
        found = [each for each in self.items(*keys) if each is not None]
        return [each for each in found if not entity.is_expired(each, self.seconds)]

    def spaces(self, entity: EntityType[Any]) -> Spaces:
        """Where the entity's records are. Raises NotRead, ReshardUnreadable."""
        stored = self.item(control_key(entity))
        if stored is None:
            return Spaces(entity.shard_map)
        return self.controlled.of(entity, stored)


def spaces_of(entity: EntityType[Any], control: ReshardState) -> Spaces:
    """Where an entity's records are by its control value. Raises ReshardUnreadable."""
    current = map_in_force(entity.shard_map, control)
    leaving = None
    if control.phase is Phase.STABLE and control.step is ReshardStep.CLEAN:
        leaving = control.new
    elif control.phase in (Phase.NEW_ONLY, Phase.PURGE):
        leaving = control.old
    return Spaces(current, control.mirror, leaving, control)


STEPS = {
    Phase.STABLE: {ReshardStep.REST, ReshardStep.CLEAN, ReshardStep.VERIFY},
    Phase.DUAL_OLD: {
        ReshardStep.COPY,
        ReshardStep.SWEEP,
        ReshardStep.SETTLE,
        ReshardStep.VERIFY,
        ReshardStep.INDEXES,
    },
    Phase.DUAL_NEW: {ReshardStep.SOAK, ReshardStep.VERIFY, ReshardStep.MEND},
    Phase.NEW_ONLY: {ReshardStep.SETTLE},
    Phase.PURGE: {ReshardStep.EMPTY, ReshardStep.QUIET},
}
"""The steps that each phase has."""


def is_possible(control: ReshardState) -> bool:
    """Whether a control value is in a state that there can be."""
    if control.step not in STEPS[control.phase] or control.version < 1:
        return False
    if control.aborting and control.phase not in (Phase.STABLE, Phase.DUAL_OLD):
        return False
    return control.moving == (control.new is not None)
