"""Rules: what is not allowed is refused, once anything is said."""

from __future__ import annotations

import json
from contextlib import closing
from types import ModuleType
from typing import Any

import pytest

from shardweave.access import Allow, claim_property, private_property
from shardweave.access.authorization import Authorization
from shardweave.api.app import Api
from shardweave.api.lambda_event import verified_token
from shardweave.api.operators import Operators
from shardweave.errors import SchemaError
from shardweave.keys.key_format import key_format
from shardweave.keys.sharding import ShardBump
from shardweave.local.serve import operators_here, parser
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.schema.caller import Caller
from shardweave.schema.declarations import Index, Sequence, Unique
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.service.build import Parts, Settings, build, operations_of
from shardweave.service.loader import service_schema
from shardweave.store import Store
from shardweave.table import Guard
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchGet, Operation
from tests.unit.access_world import RULES, Person, person
from tests.unit.api_world import CURSOR_KEYS, Clock, CountedTable, api_of, json_of, problem_of
from tests.unit.read_model_world import SCHEMA as EVENTS


@pytest.fixture
def api() -> Api:
    return api_of(RULES)


@pytest.fixture
def admin(api: Api) -> Person:
    return person(api, "root", "admin")


def listed(caller: Person, target: str) -> list[Any]:
    return [each["userId"] for each in json_of(caller.get(target))["items"]]


def test_groups_may_do_what_their_rule_lists_and_no_more(api: Api, admin: Person) -> None:
    report = admin.made("reports", userId="ann", subject="s")
    reader = person(api, "eve", "reader")
    path = f"/v1/reports/{report['reportId']}"
    assert json_of(reader.get(path)) == report
    assert listed(reader, "/v1/reports?userId=ann") == ["ann"]
    assert json_of(reader.post("/v1/reports/batch-get", {"keys": [report["reportId"]]}))["items"] == [report]
    for method, document in (("DELETE", None), ("PATCH", {"draft": True}), ("PUT", {"subject": "s"})):
        problem_of(reader.ask(method, path, document), 404, "not_found")
    assert admin.ask("DELETE", path).status == 204


class Progress(Entity, token="progress", collection="progress", read_only=True):
    """How far some work is."""

    work_id: str = unique_property()
    done: int


def test_a_read_only_entity_is_read_over_http_and_written_by_the_service_alone() -> None:
    schema = Schema([Progress])
    table = EmbeddedTable(schema.layout)
    Store(schema, table).create(Progress(work_id="w", done=1))
    anybody, path = Person(api_of(schema, table=table)), "/v1/progress/w"
    assert json_of(anybody.get(path)) == {"workId": "w", "done": 1}
    assert json_of(anybody.post("/v1/progress/batch-get", {"keys": ["w"]}))["items"] == [{"workId": "w", "done": 1}]
    assert json_of(anybody.post("/v1/progress/count", {}))["count"] == 1
    for method, target in (
        ("POST", "/v1/progress"),
        ("PUT", path),
        ("PATCH", path),
        ("DELETE", path),
        ("POST", "/v1/progress/batch-write"),
    ):
        assert anybody.ask(method, target, {"done": 2}).status in (404, 405)
    assert json_of(anybody.get(path))["done"] == 1
    paths = json.loads(anybody.api.openapi)["paths"]
    assert {name: set(paths[name]) for name in paths if "progress" in name} == {
        "/v1/progress": {"get"},
        "/v1/progress/{key}": {"get"},
        **{f"/v1/progress/{name}": {"post"} for name in ("query", "count", "explain", "batch-get")},
    }


def test_who_is_in_no_group_has_their_own_alone(api: Api, admin: Person) -> None:
    theirs = admin.made("reports", userId="bob", subject="s")
    ann = person(api, "ann")
    mine = ann.made("reports", subject="s")
    assert mine["userId"] == "ann"
    problem_of(ann.post("/v1/reports", {"userId": "bob", "subject": "s"}), 403, "forbidden")
    problem_of(ann.ask("PATCH", f"/v1/reports/{mine['reportId']}", {"userId": "bob"}), 403, "forbidden")
    for method, document in (("GET", None), ("PATCH", {"draft": True}), ("DELETE", None)):
        assert ann.ask(method, f"/v1/reports/{theirs['reportId']}", document).status == 404
    assert listed(ann, "/v1/reports?userId=bob") == []
    assert listed(ann, "/v1/reports?userId=ann") == ["ann"]
    problem_of(ann.post("/v1/reports/count", {"conditions": {"userId": "ann"}}), 403, "forbidden")
    put = {"reportId": theirs["reportId"], "subject": "taken"}
    outcome = json_of(ann.post("/v1/reports/batch-write", {"puts": [put], "deletes": [mine["reportId"]]}))
    assert (outcome["puts"][0]["problem"]["status"], outcome["deletes"]) == (404, [{"status": "written"}])
    assert json_of(admin.get(f"/v1/reports/{theirs['reportId']}")) == theirs


def test_an_item_of_a_batch_that_would_be_anothers_fails_alone(api: Api, admin: Person) -> None:
    ann = person(api, "ann")
    mine = ann.made("reports", subject="s")
    puts = [{"subject": "a"}, {"subject": "b", "userId": "bob"}, {**mine, "userId": "bob"}, {"subject": "c"}]
    outcome = json_of(ann.post("/v1/reports/batch-write", {"puts": puts, "deletes": ["nosuch"]}))
    assert [each["status"] for each in outcome["puts"]] == ["written", "failed", "failed", "written"]
    for each in outcome["puts"][1:3]:
        refused = each["problem"]
        assert (refused["status"], refused["type"], refused["where"]) == (
            403,
            "urn:shardweave:error:forbidden",
            "userId",
        )
    assert outcome["deletes"] == [{"status": "written"}]
    assert outcome["complete"] is False
    assert listed(admin, "/v1/reports?userId=bob") == []
    assert json_of(ann.get(f"/v1/reports/{mine['reportId']}")) == mine


def test_what_no_rule_lists_is_refused_whoever_asks(api: Api, admin: Person) -> None:
    for target in ("/v1/memos", "/v1/memos/m", "/v1/memos/m?expand=report"):
        problem_of(admin.get(target), 403, "forbidden")
        problem_of(Person(api).get(target), 401, "unauthenticated")


def test_an_index_narrows_what_the_rules_allow(api: Api, admin: Person) -> None:
    for user in ("ann", "bob"):
        admin.made("reports", userId=user, subject="s")
    reader = person(api, "ann", "reader")
    problem_of(reader.get("/v1/reports?index=bySubject&subject=s"), 403, "forbidden")
    problem_of(reader.get("/v1/reports?subject=s"), 400, "unsupported_query")
    assert sorted(listed(admin, "/v1/reports?subject=s")) == ["ann", "bob"]
    assert listed(reader, "/v1/reports?index=mySubjects&subject=s") == ["ann"]
    problem_of(person(api, "x", "librarian").post("/v1/reports/query", {"index": "bySubject"}), 403, "forbidden")


def test_an_index_that_is_not_exposed_is_not_there(api: Api, admin: Person) -> None:
    problem_of(admin.get("/v1/reports?index=unexposed"), 400, "unknown_name")
    problem_of(admin.post("/v1/reports/query", {"index": "unexposed"}), 400, "unknown_name")
    assert "unexposed" not in api.openapi.decode()


class Diary(
    Entity,
    token="diary",
    collection="diaries",
    access=[Allow("*", groups="admin"), Allow("*", owner="user_id")],
    shard_bumps=[ShardBump(0, char_bits=1, chars=1)],
):
    """Everybody's own, in an order that all share."""

    diary_id: str = unique_property()
    user_id: str
    shelf: str
    subject: str

    shelf_hash_key = HashKey("shelf")
    subject_range_key = RangeKey("subject")


DIARIES = Schema([Diary], [Index("byShelf", "shelf_hash_key", "subject_range_key")])


def test_where_a_walk_goes_on_is_not_explained_to_who_may_not_see_the_record_there() -> None:
    schema, table = DIARIES, EmbeddedTable(DIARIES.layout)
    api = api_of(schema, table=table)
    admin = person(api, "root", "admin")
    for number in range(20):
        admin.made("diaries", diaryId=f"d{number}", userId="bob", shelf="one", subject=f"secret-{number:02}")
    admin.made("diaries", diaryId="last", userId="ann", shelf="one", subject="z")
    # Ann's page is cut behind a record of Bob: the place where it goes on is his.
    spec = QuerySpec("diary", {"shelf": Equal("one")}, limit=1, budget=1)
    for caller, groups, is_shown in ((person(api, "ann"), (), False), (admin, ("admin",), True)):
        name = caller.claims["sub"]
        known = Caller(f"https://i {name}", "", name, {}, frozenset(groups))
        grant = Authorization(schema.entities).grant(schema.entity("diary"), "query", known)
        with closing(QueryRunner(schema, table, CURSOR_KEYS, clock=Clock())) as queries:
            token = queries.run(grant.narrowed(spec)).cursor
        assert token is not None
        asked: dict[str, Any] = {"conditions": {"shelf": "one"}, "limit": 1, "nextToken": token}
        explained = caller.post("/v1/diaries/explain", asked)
        assert all(lane["resumes"] for lane in json_of(explained)["lanes"])
        assert ("secret-" in explained.body.decode()) == is_shown


class Scrap(Entity, token="scrap", access=[Allow("*", groups="admin"), Allow("*", owner="user_id")]):
    """Everybody's own, until it is given to somebody else."""

    scrap_id: str = unique_property()
    user_id: str
    topic: str
    text: str

    topic_hash_key = HashKey("topic")


@pytest.mark.parametrize("rule", ["of the entity", "of the index"])
def test_a_record_that_became_anothers_since_the_index_saw_it_is_not_shown(rule: str) -> None:
    owner = None if rule == "of the entity" else "user_id"
    schema = Schema([Scrap], [Index("byTopic", "topic_hash_key", "range_key", projection=("user_id",), owner=owner)])
    inner = EmbeddedTable(schema.layout)
    store = Store(schema, inner)
    for name in "xy":
        store.create(Scrap(scrap_id=name, user_id="ann", topic="cats", text="old"))

    class HandedOver(CountedTable):
        def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
            if isinstance(operation, BatchGet):
                store.update(Scrap, "x", {"user_id": "bob", "text": "Bob's secret"})
            return super().run(operation, guard=guard)

    ann = person(api_of(schema, table=HandedOver(inner)), "ann", *([] if owner is None else ["admin"]))
    page = json_of(ann.get("/v1/scraps?index=byTopic&topic=cats&hydrate=true"))
    assert [each["scrapId"] for each in page["items"]] == ["y"]


def test_a_cursor_of_python_or_the_command_line_goes_on_over_http_where_nobody_is_asked_who_they_are() -> None:
    schema = Schema([Progress], [])
    table = EmbeddedTable(schema.layout)
    for name in "abc":
        Store(schema, table).create(Progress(work_id=name, done=1))
    anybody = Person(api_of(schema, table=table))
    with closing(QueryRunner(schema, table, CURSOR_KEYS, clock=Clock())) as queries:
        page = queries.run(QuerySpec("progress", limit=1))
        over_http = json_of(anybody.get(f"/v1/progress?limit=1&nextToken={page.cursor}"))
        last = queries.run(QuerySpec("progress", limit=1, cursor=over_http["nextToken"]))
    assert [each["workId"] for each in over_http["items"]] == ["b"]
    assert [each.work_id for each in last.items] == ["c"]
    problem_of(person(anybody.api).get(f"/v1/progress?limit=1&nextToken={page.cursor}"), 400, "cursor_mismatch")


def test_refusals_and_schemes_are_described(api: Api) -> None:
    problem_of(Person(api).get("/openapi.json"), 401, "unauthenticated")
    document = json_of(person(api).get("/openapi.json"))
    answers = document["paths"]["/v1/reports"]["get"]["responses"]
    assert "`unauthenticated`" in answers["401"]["description"]
    assert "`forbidden`" in answers["403"]["description"]
    assert set(document["components"]["securitySchemes"]) == {"token", "signature"}
    assert document["security"] == [{"token": []}, {"signature": []}]


def test_every_fault_is_found_at_once() -> None:
    class Wrong(Entity, token="wrong", access=[Allow("gett", owner="nobody"), Allow(groups="x")]):
        wrong_id: str = unique_property()
        tenant_id: str | None = claim_property("tenant", default=None)
        other: str = claim_property("tenant")
        pay: int = private_property(default=0)
        num: int = 0

        pay_hash_key = HashKey("tenant_id")
        pay_range_key = RangeKey("pay")

        numbering = Sequence("num")
        pays = Unique("pay")

    class Hidden(Entity, token="hidden"):
        hidden_id: str = private_property()
        named: str = unique_property(default_factory=nanoid)
        tenant_id: str = claim_property("tenant")

    indexes = [
        Index("byPay", "pay_hash_key", "pay_range_key", owner="num"),
        Index("all", "hash_key", "named", entities=(Hidden,)),
    ]
    with pytest.raises(SchemaError) as caught:
        Schema([Wrong, Hidden], indexes)
    found = {(fault.where, fault.message) for fault in caught.value.faults}
    different = "callers of several tenants would give records the same identity"
    for fault in (
        ("entity Wrong, access[0]", "there is no operation 'gett'"),
        ("entity Wrong, access[0]", "there is no property 'nobody'"),
        ("entity Wrong, access[1]", "it allows nothing"),
        ("entity Wrong.tenant_id", "a property that is bound to a claim is required, and of a type for keys"),
        ("entity Wrong", "two properties are bound to one claim"),
        ("entity Wrong", different),
        ("entity Wrong.numbering", "the numbers of different tenants are not apart"),
        ("entity Wrong.pays", "the values of different tenants are not apart"),
        ("index byPay", "other of Wrong is bound to a claim, and not in the index's hash key"),
        ("index byPay", "pay of Wrong is private, and the index would sort or find by it"),
        ("index byPay", "'num' can't be an owner"),
        ("index all", "tenant_id of Hidden is bound to a claim, and not in the index's hash key"),
    ):
        assert fault in found
    assert ("entity Hidden", different) not in found


@pytest.mark.parametrize("name", ["sales admin", "a,b", "[admin]", "a\tb", '"a"', "it's"])
def test_a_group_whose_name_flattened_claims_do_not_tell_apart_is_a_fault(name: str) -> None:
    class Report(Entity, token="report", access=[Allow("*", groups=("reader", name))]):
        report_id: str = unique_property(default_factory=nanoid)

    with pytest.raises(SchemaError) as caught:
        Schema([Report], [Index("ids", "hash_key", "report_id", groups=(name,))])
    assert [fault.where for fault in caught.value.faults] == ["entity Report, access[0]", "index ids"]
    with pytest.raises(SystemExit):
        parser().parse_args(["--operators", f"group:x{name}"])


def test_who_is_in_one_group_is_not_in_another_that_its_name_holds(api: Api) -> None:
    for groups in (["sales admin"], ["sales,admin"], ["[admin]"], ["admin reader"]):
        caller = Person(api, {"iss": "https://i", "sub": "ann", "groups": groups})
        problem_of(caller.get("/v1/reports?index=bySubject&subject=x"), 403, "forbidden")


class TestOperators:
    def test_whose_groups_can_not_be_told_apart_is_none(self) -> None:
        operations = operations_of(ModuleType("plain"), _parts(EVENTS), Operators.of_text("group:feeds"))
        event = {"type": "Sent", "eventId": "a", "position": 1, "parcelId": "p", "owner": "ann"}
        caller = Person(Api(operations, title="Test"), {"iss": "https://i", "sub": "ann", "groups": ["my feeds"]})
        problem_of(caller.post("/v1/_events/parcels", event), 403, "forbidden")
        for token in ("", "e30.e30.x", verified_token({"sub": "ann", "groups": "[feeds]"})):
            answer = caller.post("/v1/_events/parcels", event, authorization=f"Bearer {token}")
            assert "groups are lists that could not be read" in problem_of(answer, 403, "forbidden")["detail"]

    def test_they_are_principals_and_groups(self) -> None:
        operators = Operators.of_text("arn:aws:iam::1:user/ann, https://i bob, group:movers")
        callers = [
            Caller("arn:aws:iam::1:user/ann"),
            Caller("https://i bob"),
            Caller("x", groups=frozenset({"movers"})),
        ]
        assert all(operators.include(each) for each in callers)
        for stranger in (Caller(), Caller("group:movers"), Caller("movers"), Caller("x", groups=frozenset({"mover"}))):
            assert not operators.include(stranger)

    def test_they_alone_send_events(self) -> None:
        parts = _parts(EVENTS)
        operations = operations_of(ModuleType("plain"), parts, Operators.of_text("group:feeds"))
        api = Api(operations, title="Test")
        event = {"type": "Sent", "eventId": "a", "position": 1, "parcelId": "p", "owner": "ann"}
        path = "/v1/_events/parcels"
        problem_of(person(api, "ann", "admin").post(path, event), 403, "forbidden")
        problem_of(Person(api).post(path, event), 401, "unauthenticated")
        assert person(api, "feed", "feeds").post(path, event).status == 200

    def test_here_they_are_a_group_where_access_is_declared_and_else_everybody(self) -> None:
        declared, open_here = (
            operators_here(service_schema(name, key_format("ordered"))) for name in ("issue_tracker", "user_service")
        )
        assert open_here.include(Caller())
        assert [declared.include(Caller("x", groups=frozenset(each))) for each in ([], ["operators"])] == [False, True]
        assert not declared.include(Caller())
        named = parser().parse_args(["--operators", "group:movers, local ann"]).operators
        assert named == Operators(frozenset({"local ann"}), frozenset({"movers"}))
        assert parser().parse_args(["--operators", "*"]).operators == Operators(frozenset("*"))
        for nobody in (" , ", "group:", "foo", "local", "group:movers,ann"):
            with pytest.raises(SystemExit):
                parser().parse_args(["--operators", nobody])

    def test_they_alone_move_records(self) -> None:
        service = build(
            Settings(cursor_keys=CURSOR_KEYS, service="issue_tracker", operators=Operators.of_text("group:operators")),
            open_table=EmbeddedTable,
        )
        start = {"charBits": 2, "chars": 2}
        for method, target, body in (
            ("GET", "/v1/_reshard/issue", None),
            ("POST", "/v1/_reshard/issue", start),
            ("POST", "/v1/_reshard/issue/estimate", start),
            ("POST", "/v1/_reshard/issue/rate", {"rate": 5}),
            ("POST", "/v1/_reshard/issue/abort", {}),
        ):
            problem_of(Person(service.api).ask(method, target, body), 401, "unauthenticated")
            tenant = person(service.api, "ann", tenant="a38fd4bd-4844-541a-abeb-4ffacec96dda")
            problem_of(tenant.ask(method, target, body), 404, "route_not_found")
        assert person(service.api, "op", "operators").get("/v1/_reshard/issue").status == 200
        service.close()


def _parts(schema: Schema) -> Parts:
    clock = Clock()
    table = EmbeddedTable(schema.layout, clock=lambda: clock() / 1000)
    queries = QueryRunner(schema, table, CURSOR_KEYS, clock=clock)
    return Parts(schema, table, Store(schema, table, clock=clock, first=queries.first), queries)


@pytest.mark.parametrize("default", ["ann", ""])
def test_an_owner_that_nobody_said_is_nobody(default: str) -> None:
    class Draft(Entity, token="draft", access=[Allow("*", owner="user_id")]):
        draft_id: str = unique_property()
        user_id: str = default

    with pytest.raises(SchemaError) as caught:
        Schema([Draft], [Index("mine", "hash_key", "user_id", owner="user_id")])
    assert [(fault.where, fault.fix) for fault in caught.value.faults] == [
        (where, "leave the default out, or let it be None") for where in ("entity Draft, access[0]", "index mine")
    ]

    class Free(Entity, token="free", access=[Allow("*", owner="user_id")]):
        free_id: str = unique_property()
        user_id: str | None = None

    assert Schema([Free])
