"""The Explorer for operators.

    GET  /explorer             the page
    GET  /explorer/{file}      its files
    GET  /v1/_explorer         what the page is told about the service, see `document`
    GET  /v1/_shards/{entity}  how busy and how full an entity's shards are, see `shards`

All else that the page shows and does, it asks of the API as any client does, with its reader's own rights. To a known
caller who is no operator these paths do not exist; who is not known is asked to say who they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...errors import RouteNotFound, Unauthenticated
from ...schema.entity_type import EntityType
from ...table.retry import RetryClock
from ...wire.parameter import Parameter
from ..http import Response
from ..operation import Answer, Call, Operation
from ..operators import Operators
from ..parts import Parts
from .files import PAGE, PATH, page_files

DOCUMENT = "/v1/_explorer"
SHARDS = "/v1/_shards"
TAG = "_explorer"
ERRORS = (Unauthenticated, RouteNotFound)


class ExplorerRoutes:
    """The operations of the Explorer of a service with these operations."""

    def __init__(self, title: str, parts: Parts, operators: Operators, operations: Sequence[Operation]) -> None:
        self._title = title
        self._parts = parts
        self._operators = operators
        self._operations = operations
        self._waiting = RetryClock()

    def operations(self) -> tuple[Operation, ...]:
        """All of them. None counts towards a tenant's rate."""
        shared: dict[str, Any] = {"tag": TAG, "errors": ERRORS, "counted": False}
        file = Parameter("file", "The file's name.", required=True)
        return (
            Operation(
                "GET", PATH, "getExplorer", "The Explorer's page", self._page, Answer(200, "The page."), **shared
            ),
            Operation(
                "GET",
                f"{PATH}/{{file}}",
                "getExplorerFile",
                "A file of the Explorer's page",
                self._file,
                Answer(200, "The file."),
                path_parameters=(file,),
                **shared,
            ),
            Operation(
                "GET",
                DOCUMENT,
                "getExplorerDocument",
                "What the Explorer shows",
                self._document,
                Answer(200, "The entities and lists.", _document_model),
                audited=True,
                **shared,
            ),
            *(self._shards(entity) for entity in self._parts.schema.entities.values()),
        )

    def _page(self, call: Call) -> Response:
        self._check(call)
        return page_files()[PAGE]

    def _file(self, call: Call) -> Response:
        self._check(call)
        found = page_files().get(call.path["file"])
        if found is None:
            raise RouteNotFound("the page has no such file", where="path", fix=f"open {PATH}")
        return found

    def _document(self, call: Call) -> Response:
        self._check(call)
        return Response.json(200, self._described)

    @cached_property
    def _described(self) -> bytes:
        from .document import described

        found = described(self._title, self._parts, self._operations)
        return found.model_dump_json(by_alias=True).encode()

    def _shards(self, entity: EntityType[Any]) -> Operation:
        def run(call: Call) -> Response:
            self._check(call)
            from .shards import shard_loads

            found = shard_loads(self._parts, entity, self._waiting)
            return Response.json(200, found.model_dump_json(by_alias=True).encode())

        return Operation(
            "GET",
            f"{SHARDS}/{entity.token}",
            f"getShards{entity.model.__name__}",
            f"How busy and how full the shards of {entity.token} are",
            run,
            Answer(200, "The shards.", _shards_model),
            tag=TAG,
            errors=ERRORS,
            audited=True,
            counted=False,
        )

    def _check(self, call: Call) -> None:
        self._operators.check(call.caller, "the Explorer is for operators")


def _document_model() -> Any:
    from .document import ExplorerDocument

    return ExplorerDocument


def _shards_model() -> Any:
    from .shards import ShardLoads

    return ShardLoads
