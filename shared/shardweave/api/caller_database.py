"""A database with the access rights of one caller: rules and claims hold in every method.

Records that the caller may not see don't exist; new records belong to the caller; operations that no rule allows are
refused. Properties bound to a claim may be left out of keys, of a lookup's `within`, and of conditions. The methods
correspond to the operations of rules: a read by key is `get`, one by a lookup `list`, one by conditions `query`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn, cast, overload

from ..access.authorization import Authorization
from ..access.grant import Grant, both_see
from ..database.arguments import (
    check_batch,
    check_lookup,
    check_operations,
    check_returning,
    check_revision,
    key_list,
    record_of,
)
from ..database.database import NOTHING, Database, E
from ..database.parts import found_page
from ..database.relations import related_list_of, related_page
from ..errors import InputError
from ..query.runner import QueryRunner
from ..query.spec import DEFAULT_LIMIT, Page, QuerySpec, joined
from ..schema.caller import Caller
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..store import Add, Apply, BatchWriteResult, Check, Create, Delete, Operation, Put, Reset, Store, Update
from ..store.lookups.lookup_spec import lookup_of
from ..store.operations import Changes, Key, Upsert
from ..store.relations.relation_loader import Related
from ..table.conditions import Condition


class CallerDatabase(Database):
    """The records of a store with the access rights of one caller. Closing it has no effect."""

    def __init__(self, store: Store, queries: QueryRunner, access: Authorization, caller: Caller) -> None:
        self._store, self._queries = store, queries
        self._owned, self._closed = False, False
        self._access, self._caller = access, caller

    @property
    def store(self) -> NoReturn:
        """Not available, since the store does not check access."""
        raise _past_rights("store")

    @property
    def queries(self) -> NoReturn:
        """Not available, since the query runner does not check access."""
        raise _past_rights("queries")

    # -- records

    @overload
    def create(self, record: E, /) -> E: ...

    @overload
    def create(self, entity: type[E] | str, values: Mapping[str, Any], /) -> E: ...

    def create(self, record: Any, values: Mapping[str, Any] | None = None, /) -> Any:
        """Create a record of the caller."""
        return self._written(Create(*record_of(self.schema, record, values)))

    @overload
    def put(self, record: E, /, *, rev: str | None = None) -> E: ...

    @overload
    def put(self, record: E, /, *, rev: str | None = None, returning: Literal["old"]) -> E | None: ...

    @overload
    def put(self, entity: type[E] | str, values: Mapping[str, Any], /, *, rev: str | None = None) -> E: ...

    @overload
    def put(
        self, entity: type[E] | str, values: Mapping[str, Any], /, *, rev: str | None = None, returning: Literal["old"]
    ) -> E | None: ...

    def put(
        self,
        record: Any,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        rev: str | None = None,
        returning: Literal["old"] | None = None,
    ) -> Any:
        """Create or replace a whole record of the caller."""
        check_revision(rev)
        check_returning(returning)
        given, model = record_of(self.schema, record, values)
        return self._written(Put(given, model, rev, returning=returning is not None), before=returning is not None)

    def get(self, entity: type[E] | str, key: Key, /) -> E | None:
        """The live record, or None if the caller may not see one."""
        grant = self._grant(entity, "get")
        return self._store.get(self._model(entity), grant.key(key), visibility=grant.visibility)

    @overload
    def delete(self, entity: type[Entity] | str, key: Key, /, *, rev: str | None = None) -> bool: ...

    @overload
    def delete(
        self, entity: type[E] | str, key: Key, /, *, rev: str | None = None, returning: Literal["old"]
    ) -> E | None: ...

    def delete(
        self,
        entity: type[E] | str,
        key: Key,
        /,
        *,
        rev: str | None = None,
        returning: Literal["old"] | None = None,
    ) -> bool | E | None:
        """Delete a record of the caller; False if there was none. With `returning` it returns the deleted record."""
        check_revision(rev)
        check_returning(returning)
        if returning is not None:
            return cast("E | None", self._written(Delete(self._model(entity), key, rev, returning=True), before=True))
        grant = self._grant(entity, "delete")
        kept: dict[str, Any] = {"visibility": grant.visibility, "related": grant.related}
        return self._store.delete(self._model(entity), grant.key(key), rev=rev, **kept)

    def batch_get(self, entity: type[E] | str, keys: Iterable[Key], /) -> list[E | None]:
        """The live records of the keys, None for records that the caller may not see."""
        grant = self._grant(entity, "batchGet")
        return self._store.batch_get(
            self._model(entity), [*map(grant.key, key_list(keys))], visibility=grant.visibility
        )

    def batch_write(
        self, puts: Sequence[Entity | Put] = (), deletes: Sequence[Delete] = (), updates: Sequence[Update] = ()
    ) -> BatchWriteResult:
        """Carry out puts, deletes and updates of the caller's records independently."""
        check_batch(puts, deletes, updates)
        put = [self.granted(each if isinstance(each, Put) else Put(each), "batchWrite") for each in puts]
        deleted = [self.granted(each, "batchWrite") for each in deletes]
        changed = [cast("Update", self.granted(each, "batchWrite")) for each in updates]
        return self._store.batch_write(cast("list[Put]", put), cast("list[Delete]", deleted), changed)

    def transact(self, operations: Sequence[Operation], /) -> tuple[Entity | None, ...]:
        """Carry out several operations on the caller's records atomically."""
        check_operations(operations)
        return self._store.transact([self.granted(each) for each in operations])

    # -- by a value

    def get_by(
        self, entity: type[E] | str, name: str, value: Any, /, *, within: Mapping[str, Any] = NOTHING
    ) -> E | None:
        """The live record with a unique value, or None if the caller may not see one."""
        items = self.find_by(entity, name, value, within=within, limit=1).items
        return items[0] if items else None

    def find_by(
        self,
        entity: type[E] | str,
        name: str,
        value: Any = None,
        /,
        *,
        within: Mapping[str, Any] = NOTHING,
        reverse: bool = False,
        filter: Condition | None = None,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
    ) -> Page[E]:
        """A page of the caller's records with a value, or by an ordered lookup."""
        grant = self._grant(entity, "list")
        check_lookup(name, within)
        grant.check_filter(filter)
        within = grant.scope(lookup_of(grant.entity, name), within)
        page: dict[str, Any] = {"limit": limit, "next_token": next_token, "prev_token": prev_token}
        page |= {"reverse": reverse, "filter": filter}
        seen: dict[str, Any] = {"visibility": grant.visibility, "scope": self._caller.scope}
        return found_page(self._store, self._queries, grant.entity, name, value, within, **page, **seen)

    def scan(self, entity: type[Entity] | str, /, **options: Any) -> NoReturn:
        """Not available, since a scan does not check access."""
        raise _past_rights("scan")

    # -- parts

    def _expanded(self, records: Sequence[Entity], names: Sequence[str]) -> list[dict[str, Related]]:
        """The related records that the caller may see."""
        return list(self._store.expanding(records, *names, visible=self._access.related(self._caller)))

    def _listed(self, record: Entity, name: str, page: Mapping[str, Any]) -> Page[Any]:
        """A page of a list of related records that the caller may see."""
        target = self.schema.entity(related_list_of(self.schema[type(record)], name).target)
        seen: dict[str, Any] = {"visibility": self._grant(target.model, "list").visibility, "scope": self._caller.scope}
        return related_page(self._store, self._queries, record, name, page, **seen)

    def granted(self, operation: Operation, rule: str = "") -> Operation:
        """An operation restricted to the caller's records. Raises Unauthenticated, Forbidden, and InputError for an
        event, which may write records of anybody."""
        if not self._access.restricts:
            return operation
        if isinstance(operation, Apply):
            raise _past_rights("transact")
        entity = self._entity_of(operation)
        grant = self._access.grant(entity, rule or _RULES[type(operation)], self._caller)
        asker: dict[str, Any] = {"visibility": grant.visibility, "related": grant.related}
        if isinstance(operation, (Put, Delete)) and operation.returning:
            asker["visibility"] = both_see(grant, self._access.grant(entity, "get", self._caller))
        if isinstance(operation, (Create, Put)):
            return replace(operation, **_made(entity, grant, operation), **asker)
        if isinstance(operation, (Update, Add)):
            key = grant.key(operation.key)
            kept = {"upsert": self._started(entity, key, operation.upsert), **asker}
            if isinstance(operation, Add):
                return replace(
                    operation, key=key, amounts=grant.changed(entity.by_stored_name(operation.amounts)), **kept
                )
            return replace(operation, key=key, changes=_changed(entity, grant, operation.changes), **kept)
        if isinstance(operation, (Delete, Reset)):
            return replace(operation, key=grant.key(operation.key), **asker)
        check = replace(operation, key=grant.key(operation.key))
        grant.check_decided(entity.identify(check.key))
        return check

    def _started(self, entity: EntityType[Any], key: Any, upsert: Upsert) -> Upsert:
        """The start values of an upsert by the caller, if it may create records. Raises Unauthenticated, Forbidden,
        NotFound."""
        if upsert is False:
            return False
        grant = self._access.grant(entity, "create", self._caller)
        return grant.started(entity.identify(key), entity.by_stored_name({} if upsert is True else upsert))

    def _asked(self, spec: QuerySpec, operation: str) -> tuple[QueryRunner, QuerySpec]:
        queries, parts = self._queries, []
        for part in spec.parts:
            grant = self._grant(part.entity, operation)
            queries = queries.hiding(grant.hidden_indexes(part), part.entity)
            parts.append(grant.narrowed(part))
        return queries, joined(parts)

    def _grant(self, entity: type[Entity] | str, operation: str) -> Grant:
        return self._access.grant(self.schema[entity], operation, self._caller)

    def _entity_of(self, operation: Operation) -> EntityType[Any]:
        if isinstance(operation, (Create, Put)) and isinstance(operation.record, Entity):
            return self.schema[type(operation.record)]
        assert not isinstance(operation, Apply), "an event is of no entity"
        return self.schema[cast("type[Entity]", operation.model)]

    def _written(self, operation: Operation, *, before: bool = False) -> Any:
        written = self._store.write(self.granted(operation))
        return written.before if before else written.record


_RULES: dict[type, str] = {
    Create: "create",
    Put: "put",
    Update: "update",
    Add: "update",
    Delete: "delete",
    Check: "get",
    Reset: "update",
}


def _made(entity: EntityType[Any], grant: Grant, operation: Create | Put) -> dict[str, Any]:
    """A record made by the caller; unchanged if it already belongs to the caller."""
    given = operation.record
    values = _given(entity, given) if isinstance(given, Entity) else entity.by_stored_name(given)
    made = grant.made(values)
    return {} if made == values else {"record": made, "model": entity.model}


def _given(entity: EntityType[Any], record: Entity) -> dict[str, Any]:
    names = record.model_fields_set
    return {each.stored: getattr(record, each.name) for each in entity.properties.values() if each.name in names}


def _changed(entity: EntityType[Any], grant: Grant, changes: Changes) -> Changes:
    if callable(changes):
        return lambda record: grant.changed(entity.by_stored_name(changes(record)))
    return grant.changed(entity.by_stored_name(changes))


def _past_rights(name: str) -> InputError:
    return InputError(
        "it would go past the caller's rights", where=f"database.{name}", fix="let the route take EveryRecord instead"
    )
