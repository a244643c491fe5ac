"""The doctor's last report over HTTP, for operators alone."""

from __future__ import annotations

import json
from typing import Any

from shardweave.api.lambda_event import event_of
from shardweave.api.operators import Operators
from shardweave.maintenance.doctor import REPORT, Doctor, last_report
from shardweave.maintenance.progress import Progress
from shardweave.query.cursor import CursorKeys
from shardweave.service.build import Service, Settings, build
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem, Scan
from tests.unit.api_world import CURSOR_KEYS

OPERATOR = {"iam": {"userArn": "arn:aws:iam::1:user/op"}}
ANOTHER = {"iam": {"userArn": "arn:aws:iam::1:user/other"}}


def service(keys: CursorKeys = CURSOR_KEYS) -> Service:
    operators = Operators.of_text("arn:aws:iam::1:user/op")
    return build(Settings(keys, operators=operators), open_table=EmbeddedTable)


def ask(of: Service, authorizer: Any) -> tuple[int, Any]:
    event = event_of("GET", "/v1/_doctor", "", {}, b"")
    if authorizer is not None:
        event["requestContext"]["authorizer"] = authorizer
    answer = of.api.resolve(event, None)
    return answer["statusCode"], json.loads(answer["body"])


def test_operators_get_the_last_report_and_others_no_path() -> None:
    of = service()
    status, refused = ask(of, OPERATOR)
    assert (status, refused["title"]) == (404, "There is no report yet")
    assert refused["type"].endswith(":report_missing")
    store = of.parts.store
    store.create(
        {"userId": "u", "firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b"}, of.parts.schema["user"].model
    )
    (item,) = [each for each in of.parts.table.run(Scan()).items if each["hashKey"].startswith("user!")]
    of.parts.table.run(PutItem({**item, "firstNameRangeKey": "firstNameCanonical#zoe"}))
    Doctor(store.parts, lambda: 5).run()
    status, report = ask(of, OPERATOR)
    assert (status, report["at"], report["verdict"], report["found"]) == (200, 5, "repairable", {"stale_key": 1})
    assert report == last_report(store.parts), "it says all that was kept"
    (named,) = report["named"]
    assert (named["kind"], named["key"]) == ("stale_key", [item["hashKey"], "userId#u"])
    assert "zoe" not in json.dumps(report)
    assert ask(of, ANOTHER)[0] == 404
    assert ask(of, None)[0] == 401


def test_without_operators_there_is_no_such_path() -> None:
    of = build(Settings(CURSOR_KEYS), open_table=EmbeddedTable)
    assert ask(of, OPERATOR)[0] == 404


def test_a_report_of_another_version_is_answered_as_far_as_it_is_known() -> None:
    of = service()
    Doctor(of.parts.store.parts, lambda: 5).run()
    kept = Progress(of.parts.store.parts, REPORT)
    told = dict(kept.read() or {})
    del told["undecided"]
    kept.save({**told, "more": 1})
    status, report = ask(of, OPERATOR)
    assert (status, report["verdict"]) == (200, "clean")
    assert not report.keys() & {"undecided", "more"}
