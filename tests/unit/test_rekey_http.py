"""Bringing records in over HTTP: for operators alone, where the service knows an old form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardweave.api.lambda_event import event_of
from shardweave.api.operators import Operators
from shardweave.api.routes.rekey import COMMANDS, ROOT
from shardweave.service.build import Service, Settings, build
from shardweave.table import Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import TableLayout
from shardweave.table.operations import PutItem
from tests.unit.api_world import CURSOR_KEYS

OPERATOR = {"iam": {"userArn": "arn:aws:iam::1:user/op"}}
ANOTHER = {"iam": {"userArn": "arn:aws:iam::1:user/other"}}
OLD_USERS = {"entities": {"user": {"attributes": {"hashKey": "U#${userId}", "rangeKey": "USER"}}}}
OLD_USER = {"userId": "u1", "firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b", "created": 1_700_000_000_000}
PATH = f"{ROOT}/user"


class Deployed:
    """A table that does not check the state inside its writes, as DynamoDB."""

    guards_inside_writes = False

    def __init__(self, inner: Table) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def service(*, rekey: Any = OLD_USERS, deployed: bool = False, operators: str = "arn:aws:iam::1:user/op") -> Service:
    def opened(layout: TableLayout) -> Table:
        table = EmbeddedTable(layout)
        return Deployed(table) if deployed else table  # type: ignore[return-value]

    settings = Settings(CURSOR_KEYS, operators=Operators.of_text(operators))
    return build(settings, open_table=opened, rekey=rekey)


def ask(of: Service, method: str, path: str, authorizer: Any = OPERATOR) -> tuple[int, Any]:
    event = event_of(method, path, "", {"content-type": "application/json"}, b"" if method == "GET" else b"{}")
    if authorizer is not None:
        event["requestContext"]["authorizer"] = authorizer
    answer = of.api.resolve(event, None)
    return answer["statusCode"], json.loads(answer["body"])


def test_an_operator_brings_records_in() -> None:
    of = service()
    old = {**OLD_USER, "hashKey": "U#u1", "rangeKey": "USER"}
    old |= {"firstNameCanonical": "ann", "lastNameCanonical": "lee"}
    of.parts.table.run(PutItem(old))
    assert ask(of, "POST", PATH)[0] == 202
    status, ran = ask(of, "POST", f"{PATH}/run")
    assert (status, ran["state"], ran["done"]) == (200, "follow", True)
    assert (ran["passes"]["bring"]["written"], ran["passes"]["bring"]["named"]) == (1, [])
    assert ask(of, "POST", f"{PATH}/switch")[1]["state"] == "dual"
    assert ask(of, "GET", "/v1/users/u1")[1]["firstName"] == "Ann"
    status, refused = ask(of, "POST", f"{PATH}/finish")
    assert (status, refused["type"]) == (409, "urn:shardweave:error:conflict")
    ask(of, "POST", f"{PATH}/run")
    assert ask(of, "POST", f"{PATH}/finish")[1]["state"] == "finish"
    assert ask(of, "POST", f"{PATH}/run")[1]["state"] == ""
    ended = {"entity": "user", "state": "", "done": False, "waitingMs": 0, "run": "", "savedMs": 0, "passes": {}}
    assert ask(of, "GET", PATH)[1] == ended


@pytest.mark.parametrize("path", [PATH, f"{PATH}/run", *(f"{PATH}/{verb}" for verb in COMMANDS)])
def test_to_others_the_paths_do_not_exist(path: str) -> None:
    of = service()
    assert ask(of, "POST", path, ANOTHER)[0] == 404
    assert ask(of, "POST", path, None)[0] == 401
    assert ask(of, "GET", PATH, ANOTHER)[0] == 404
    assert ask(of, "GET", PATH)[1]["state"] == "", "nothing was begun"


def test_without_an_old_form_or_operators_there_are_no_such_paths() -> None:
    for of in (service(rekey=None), service(operators="")):
        assert ask(of, "GET", PATH)[0] == 404
    assert ask(service(), "GET", f"{ROOT}/email")[0] == 404, "whose old form is not known"


def test_where_the_api_may_not_read_the_whole_table_it_does_not_run() -> None:
    of = service(deployed=True)
    assert ask(of, "POST", f"{PATH}/run")[0] == 404
    assert ask(of, "GET", PATH)[0] == 200


def test_the_document_has_them() -> None:
    document = json.loads(service().api.openapi)
    verbs = ("", "/run", *(f"/{verb}" for verb in COMMANDS))
    assert all("post" in document["paths"][f"{PATH}{verb}"] for verb in verbs)
    assert document["paths"][PATH]["get"]["operationId"] == "getRekeyUser"
