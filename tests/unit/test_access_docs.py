"""What docs/access.md says is so: its schemas are valid, and answer as it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from shardweave.access import OPERATIONS
from shardweave.access.authorization import ACCESS_ERRORS
from shardweave.access.tokens import decode_token
from shardweave.api.problems import STATUSES
from shardweave.database.data_folder import DataFolder
from tests.unit.access_world import Person, person
from tests.unit.api_world import api_of, json_of, problem_of
from tests.unit.cli_world import NOW
from tests.unit.cli_world import shardweave as run_command
from tests.unit.guide_page import run_page

GUIDE = (Path(__file__).parents[2] / "docs" / "access.md").read_text(encoding="utf-8")
FLAT = " ".join(GUIDE.split())


_, NAMES = run_page("access.md")


def test_tenants_are_apart() -> None:
    api = api_of(NAMES["TENANTS"])
    acme, bolt = person(api, tenant="acme"), person(api, tenant="bolt")
    for each in (acme, bolt):
        each.made("teams", name="red")
    task = bolt.made("tasks", teamName="red", slug="s", pay=5)
    assert (task["tenantId"], task["num"], "pay" in task) == ("bolt", 1, False)
    assert acme.made("tasks", teamName="red", slug="s")["num"] == 1
    path = f"/v1/tasks/{task['taskId']}"
    problem_of(acme.get(path), 404, "not_found")
    problem_of(acme.ask("PUT", path, {"teamName": "red"}), 404, "not_found")
    problem_of(acme.post("/v1/tasks", {"taskId": "t", "teamName": "red"}), 400, "value_refused")
    problem_of(acme.get("/v1/tasks?tenantId=bolt"), 403, "forbidden")
    problem_of(person(api).get("/v1/tasks"), 403, "forbidden")
    problem_of(Person(api).get("/v1/tasks"), 401, "unauthenticated")
    assert [each["tenantId"] for each in json_of(acme.get("/v1/tasks"))["items"]] == ["acme"]


def test_rules_hold() -> None:
    api = api_of(NAMES["RULES"])
    admin, ann, reader = person(api, "root", "admin"), person(api, "ann"), person(api, "eve", "reader")
    mine = ann.made("reports", subject="s")
    theirs = admin.made("reports", userId="bob", subject="s")
    assert mine["userId"] == "ann"
    problem_of(ann.get(f"/v1/reports/{theirs['reportId']}"), 404, "not_found")
    assert reader.get(f"/v1/reports/{theirs['reportId']}").status == 200
    problem_of(reader.post("/v1/reports/query", {"conditions": {"userId": "bob"}}), 403, "forbidden")
    problem_of(reader.get("/v1/reports?index=bySubject&subject=s"), 403, "forbidden")
    found = json_of(ann.get("/v1/reports?index=mySubjects&subject=s"))["items"]
    assert found == [mine]


def test_both_guides_say_alike_whose_a_cursor_is_and_so_it_is() -> None:
    http = " ".join((Path(__file__).parents[2] / "docs" / "http-queries.md").read_text(encoding="utf-8").split())
    assert "Cursors and idempotency keys are bound to the tenant and the principal." in FLAT
    assert "refused if another [principal or tenant](access.md) sends it, even with the same query" in http
    assert "each page follows the rights that the caller has at that time" in http
    tenants = api_of(NAMES["TENANTS"])
    ann, other = person(tenants, tenant="acme"), person(tenants, tenant="bolt")
    for each in (ann, other):
        each.made("teams", name="red")
        for number in range(3):
            each.made("tasks", teamName="red", slug=f"s{number}")
    target = "/v1/tasks?limit=1"
    token = json_of(ann.get(target))["nextToken"]
    for stranger in (other, person(tenants, "bob", tenant="acme")):
        problem = problem_of(stranger.get(f"{target}&nextToken={token}"), 400, "cursor_mismatch")
        assert problem["detail"] == "the cursor belongs to another query, or to another caller"
    assert len(json_of(ann.get(f"{target}&nextToken={token}"))["items"]) == 1
    rules = api_of(NAMES["RULES"])
    eve = person(rules, "eve", "reader", "admin")
    for _ in range(3):
        eve.made("reports", userId="bob", subject="s")
    target = "/v1/reports?index=bySubject&subject=s&limit=1"
    token = json_of(eve.get(target))["nextToken"]
    problem_of(person(rules, "eve", "reader").get(f"{target}&nextToken={token}"), 403, "forbidden")


def test_every_operation_is_named() -> None:
    listed = re.search(r"The operations are (.*?)\. An operation", FLAT)
    assert listed is not None
    assert tuple(re.findall(r"`(\w+)`", listed[1])) == OPERATIONS


def test_the_command_makes_the_token(tmp_path: Path) -> None:
    command = re.search(r"^\./run shardweave (token .*)$", GUIDE, re.MULTILINE)
    assert command is not None
    made = run_command(*shlex.split(command[1]), "--data", str(tmp_path)).output.strip()
    claims = decode_token(made, DataFolder(tmp_path).token_secret(), now=NOW // 1000)
    assert (claims["sub"], claims["tenant"], claims["groups"]) == ("ann", "acme", ["admin"])


def test_the_statuses_are_as_listed() -> None:
    rows = set(re.findall(r"^\| (\d+) \| `(\w+)` \|", GUIDE, re.MULTILINE))
    assert rows == {*((str(STATUSES[kind][0]), kind.code) for kind in ACCESS_ERRORS), ("404", "not_found")}
