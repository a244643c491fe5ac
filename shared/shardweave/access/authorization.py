"""The access of a schema: from a caller, an entity and an operation to a grant, or a refusal.

Rules are of the whole schema: once an entity has one, an operation that no rule allows is refused, for every entity. A
bound property needs its claim, whatever the rules. Who is not known is asked to say who they are (401); who is known
and may not is told so (403), whatever is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ..errors import Forbidden, InputError, ShardweaveError, Unauthenticated
from ..schema.access_rules import OPERATIONS
from ..schema.caller import Caller
from ..schema.entity_type import EntityType
from ..store.operations import NONE_VISIBLE, Related, Visible
from ..table.values import Value
from .grant import Grant

ACCESS_ERRORS: tuple[type[ShardweaveError], ...] = (Unauthenticated, Forbidden)


class Authorization:
    """The access of these entities, by token."""

    def __init__(self, entities: Mapping[str, EntityType[Any]]) -> None:
        self._entities = entities
        self._visible = {token: _visible(entity) for token, entity in entities.items()}

    @cached_property
    def claims(self) -> tuple[str, ...]:
        """The claims that properties are bound to, in order: together they are the tenant."""
        return tuple(sorted({claim for entity in self._entities.values() for claim in entity.claims.values()}))

    @cached_property
    def has_rules(self) -> bool:
        return any(entity.access for entity in self._entities.values())

    @property
    def restricts(self) -> bool:
        """Whether a caller could be refused."""
        return self.has_rules or bool(self.claims)

    def visible(self, entity: EntityType[Any]) -> EntityType[Any]:
        """The entity as it is over HTTP: without private properties, relations that would show what one holds, and
        indexes that are not exposed."""
        return self._visible[entity.token]

    def grant(self, entity: EntityType[Any], operation: str, caller: Caller) -> Grant:
        """What a caller may do with an entity's records. Raises Unauthenticated, Forbidden."""
        owners = self._owners(entity, operation, caller)
        bound = {name: self._claimed(entity, name, claim, caller) for name, claim in entity.claims.items()}
        return Grant(entity, caller, bound, owners, self.related(caller))

    def check_known(self, entities: Iterable[EntityType[Any]], caller: Caller) -> None:
        """Refuse a caller who may do nothing with records of any of these. Raises Unauthenticated, Forbidden."""
        refused: Unauthenticated | Forbidden | None = None
        for entity in entities if self.restricts else ():
            for operation in OPERATIONS:
                try:
                    self.grant(entity, operation, caller)
                except (Unauthenticated, Forbidden) as error:
                    refused = error
                else:
                    return
        if refused is not None:
            raise refused

    def related(self, caller: Caller) -> Related | None:
        """Which records of other entities there are for a caller, by what `get` of them is allowed; None for all."""

        def visible(token: str) -> Visible:
            try:
                return self.grant(self._entities[token], "get", caller).visible
            except (Unauthenticated, Forbidden):
                return NONE_VISIBLE

        return visible if self.restricts else None

    def _owners(self, entity: EntityType[Any], operation: str, caller: Caller) -> tuple[str, ...] | None:
        if not self.has_rules:
            return None
        rules = [rule for rule in entity.access if rule.covers(operation, caller)]
        rules = [rule for rule in rules if rule.owner is None or caller.subject]
        if not rules:
            raise refusal(caller, f"{operation} of {entity.token} is not allowed to the caller", operation)
        if any(rule.owner is None for rule in rules):
            return None
        return tuple(dict.fromkeys(entity.stored_name(rule.owner) for rule in rules if rule.owner is not None))

    def _claimed(self, entity: EntityType[Any], name: str, claim: str, caller: Caller) -> Value:
        text, each = caller.claims.get(claim, ""), entity.properties[name]
        if not text:
            raise refusal(caller, f"the caller has no claim {claim!r} that is one text", claim)
        try:
            return each.parse(each.read_text(text))
        except InputError:
            raise refusal(caller, f"the caller's claim {claim!r} is not a value that {name} can have", claim) from None


def refusal(caller: Caller, message: str, where: str) -> Unauthenticated | Forbidden:
    """Why a caller may not."""
    if not caller.is_known:
        return Unauthenticated("the request does not say who asks", where="authorization", fix="send a token")
    if caller.unread:
        names = ", ".join(sorted(caller.unread))
        return Forbidden(
            f"{message}; the claims {names} are lists that could not be read",
            where=where,
            fix="send the token in the Authorization header, as it was issued",
        )
    return Forbidden(message, where=where, fix="ask for the right, or with another token")


def _visible(entity: EntityType[Any]) -> EntityType[Any]:
    shown = {name: each for name, each in entity.properties.items() if not each.private}
    views = {name: view for name, view in entity.views.items() if view.exposed and _has_claims(entity, name)}
    lookups = {name: each for name, each in entity.lookups.items() if all(e.name in shown for e in each.elements)}
    relations = {name: each for name, each in entity.relations.items() if not each.private}
    return replace(
        entity,
        properties=MappingProxyType(shown),
        views=MappingProxyType(views),
        lookups=MappingProxyType(lookups),
        relations=MappingProxyType(relations),
        nested=MappingProxyType({name: each for name, each in entity.nested.items() if not each.private}),
    )


def _has_claims(entity: EntityType[Any], index: str | None) -> bool:
    """Whether an index separates what belongs to different claims. A schema has no exposed one that does not; the table
    itself may."""
    return entity.claims.keys() <= {element.name for element in entity.views[index].hash_elements}
