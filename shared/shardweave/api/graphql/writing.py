"""Mutations: each is the operation of the entity's collection that the other routes have, with its checks and its
idempotency key, one after the other. What one leads to is read before the next is carried out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from pydantic_core import to_jsonable_python

from ...errors import ShardweaveError
from ...wire.record_keys import ROOT, parameter_name
from ..http import Response
from ..idempotency import IDEMPOTENCY_KEY
from ..operation import Beside, Call
from ..preconditions import IF_MATCH
from ..routes.records import UPSERT
from .costs import check_cost, cost_of
from .documents import Root
from .entities import EntityRecords
from .nodes import Node
from .questions import path_of
from .reading import Answering, Reading, grant_texts

_OPERATIONS = {"create": "create", "update": "patch", "put": "put", "delete": "delete", "addTo": "addTo"}
"""What the operation of the collection is called, before the entity's name."""
UPSERTS = {"update": "patch", "addTo": "amounts"}
"""What may make a record where there is none, and the argument that has its content."""


@dataclass(frozen=True)
class Writing:
    """Carries out mutations, and reads with `reading` what they lead to."""

    reading: Reading

    def run(self, roots: tuple[Root, ...], answering: Answering) -> None:
        """Carry them out. Raises LimitExceeded before the first where what they lead to would cost too much."""
        cost = sum(1 + cost_of(root.selected.values(), 1) for root in roots)
        check_cost(cost, self.reading.max_cost)
        for root in roots:
            try:
                found = self._written(root, answering)
            except ShardweaveError as error:
                answering.fails(root.key, error)
                self._note(root, "refused", {}, answering)
                continue
            answering.found[root.key] = found
            if isinstance(found, Node) and root.has_relations:
                self.reading.relate([(root, found)], answering)

    def _written(self, root: Root, answering: Answering) -> Node | bool | None:
        records = self.reading.records[root.entity.token]
        self.reading.check_relations(root.selected.values(), answering.call)
        if root.has_relations:
            self.reading.access.grant(records.entity, "get", answering.call.caller)
        call = self._call(root, records, answering.call)
        collection = records.collection
        run = collection.additions.add if root.kind == "addTo" else getattr(collection, _OPERATIONS[root.kind])
        response: Response = run(self._with_key(call, records) if root.kind == "addTo" else call)
        self._note(root, root.kind, call.path, answering, response)
        if root.kind == "delete":
            return True
        document = json.loads(response.body)
        answering.takes(len(response.body))
        node = Node(document, _revision(response))
        if root.has_relations:
            node.record = records.found(self._path(records, document), answering.call)
        return node

    def _call(self, root: Root, records: EntityRecords, call: Call) -> Call:
        given = root.arguments
        path: Mapping[str, str] = {}
        if root.kind != "create":
            rule = "update" if root.kind in UPSERTS else root.kind
            path = path_of(root, grant_texts(self.reading.access.grant(records.entity, rule, call.caller).bound))
        headers: dict[str, str] = {}
        if given.get("rev") is not None:
            headers[IF_MATCH] = f'"{given["rev"]}"'
        if given.get("idempotencyKey") is not None:
            headers[IDEMPOTENCY_KEY] = given["idempotencyKey"]
        document = given.get(UPSERTS.get(root.kind, "input")) or {}
        name = f"{_OPERATIONS[root.kind]}{records.models.name}"
        query = {UPSERT: "true"} if given.get("upsert") else {}
        return replace(call, path=path, query=query, document=document, headers=headers, operation=name)

    @staticmethod
    def _with_key(call: Call, records: EntityRecords) -> Call:
        """A call of an addition as its route takes it: the key and the rest of the query in the body."""
        entity, key = records.entity, call.path.get("key")
        if entity.origin is None:
            identity = to_jsonable_python(entity.identify(records.models.keys.of_path(call.path)))
            key = next(iter(identity.values())) if len(identity) == 1 else identity
        document = {"key": key, "amounts": call.document, **({UPSERT: True} if call.query else {})}
        return replace(call, path={}, query={}, document=document)

    def _path(self, records: EntityRecords, document: Mapping[str, Any]) -> dict[str, str]:
        """The parameters of the path of a record that was answered."""
        if records.entity.origin is not None:
            return {"key": document["key"]}
        texts = {parameter_name(name): _text(_at(document, name)) for name in records.entity.identity}
        return {"key": next(iter(texts.values()))} if len(texts) == 1 else texts

    def _note(
        self, root: Root, effect: str, path: Mapping[str, str], answering: Answering, response: Response | None = None
    ) -> None:
        """Put a mutation on the audit trail."""
        begin = f"{ROOT}/{root.entity.collection}"
        parts = [quote(each, safe="") for each in path.values()]
        place = (response.headers.get("location", "") if response else "") or "/".join((begin, *parts))
        answering.call.beside.append(Beside(root.entity.collection, place, effect))


def _at(document: Mapping[str, Any], name: str) -> Any:
    found: Any = document
    for step in name.split("."):
        found = found[step]
    return found


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _revision(response: Response) -> str | None:
    tag = response.headers.get("etag")
    return None if tag is None else tag.strip('"')
