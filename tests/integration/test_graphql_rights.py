"""GraphQL and the other routes let callers see and do the same.

Random requests are made of both, by several callers, and answered alike. Each door has a service of its own, and both
services are written to alike, so that writes can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from pydantic import Field

from shardweave import Allow, Entity, GraphQL, claim_property, unique_property
from shardweave.api.app import Api
from shardweave.schema.schema import Schema
from tests.unit.access_world import RULES, TENANTS, Person, person
from tests.unit.api_world import TYPE_PREFIX, api_of, code_of
from tests.unit.test_access_upserts import Draft, Note

ROUNDS = 400
TASK = "taskId tenantId created teamName num slug label title parentId relatedIds"
TEAM = "tenantId name motto"
REPORT = "reportId userId subject draft"
Outcome = tuple[str, Any]
"""The code of what went wrong, or nothing, and what was answered."""


@dataclass
class Twins:
    """Two services of one kind, of which one is asked over the routes and the other in GraphQL. `ids` are those of
    records, by the names that tests give them, in each."""

    schema: Schema
    apis: tuple[Api, Api] = field(init=False)
    ids: tuple[dict[str, str], dict[str, str]] = ({}, {})
    met: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        first, second = (api_of(self.schema, graphql=GraphQL(max_cost=10**6)) for _ in range(2))
        self.apis = first, second
        self.ids = {}, {}

    def asks(self, caller: Callable[[Api], Person], route: Callable[[Mapping[str, str]], Any], text: str) -> None:
        """One request of both. `route` gives method, target and body from ids; `text` is the document."""
        method, target, document = route(self.ids[0])
        over_http = of_routes(caller(self.apis[0]), method, target, document)
        self.met.add(over_http[0])
        in_graphql = of_graphql(caller(self.apis[1]), text % _quoted(self.ids[1]))
        assert named(in_graphql, self.ids[1]) == named(over_http, self.ids[0]), (method, target, document, text)


def _quoted(ids: Mapping[str, str]) -> dict[str, str]:
    return {name: json.dumps(each) for name, each in ids.items()}


def of_routes(who: Person, method: str, target: str, document: Any) -> Outcome:
    answer = who.ask(method, target, document)
    if answer.status >= 400:
        code = code_of(answer)
        return ("", None) if (method, code) == ("GET", "not_found") else (code, None)
    if answer.status == 204:
        return "", True
    content = json.loads(answer.body)
    return "", [flat(each) for each in content["items"]] if "items" in content else flat(content)


def flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with its relations beside its properties, without what has no value."""
    found = {**record, **{name: shown(each) for name, each in record.get("expanded", {}).items()}}
    return {name: each for name, each in found.items() if each is not None and name != "expanded"}


def shown(related: Any) -> Any:
    return [flat(each) for each in related] if isinstance(related, list) else related and flat(related)


def of_graphql(who: Person, text: str) -> Outcome:
    answer = who.post("/graphql", {"query": text})
    if answer.status != 200:
        return code_of(answer), None
    content = json.loads(answer.body)
    for error in content.get("errors", ()):
        assert error["extensions"].get("type", TYPE_PREFIX + error["extensions"]["code"]).startswith(TYPE_PREFIX)
        return error["extensions"]["code"], None
    (found,) = content["data"].values()
    return "", plain(found["items"] if isinstance(found, dict) and "items" in found else found)


def plain(found: Any) -> Any:
    if isinstance(found, list):
        return [plain(each) for each in found]
    return {name: plain(each) for name, each in found.items() if each is not None} if isinstance(found, dict) else found


def named(outcome: Outcome, ids: Mapping[str, str]) -> Any:
    """An outcome with the names that tests give records in place of the ids that they have."""
    text = json.dumps(outcome)
    for name, each in ids.items():
        text = text.replace(json.dumps(each), json.dumps(name))
    return json.loads(text)


# -- tenants ----------------------------------------------------------------------------------------------------------

CALLERS: dict[str, Callable[[Api], Person]] = {
    "acme": lambda api: person(api, tenant="acme"),
    "bolt": lambda api: person(api, "bob", tenant="bolt"),
    "no tenant": person,
    "nobody": Person,
}


def tenants() -> Twins:
    twins = Twins(TENANTS)
    for api, ids in zip(twins.apis, twins.ids, strict=True):
        for tenant in ("acme", "bolt"):
            who = person(api, tenant=tenant)
            for team in ("red", "blue"):
                who.made("teams", name=team, motto=f"{team} of {tenant}")
            for number in range(4):
                name = f"{tenant}{number}"
                more = {"slug": f"s{number}", "parentId": ids.get("acme0"), "relatedIds": list(ids.values())}
                task = who.made("tasks", teamName="red", title=f"t{number}", note="hush", label="l", **more)
                ids[name] = task["taskId"]
    return twins


def test_tenants_are_kept_apart_alike() -> None:
    twins, chance = tenants(), Random(1)
    names = sorted(twins.ids[0])
    done: set[str] = set()
    for _ in range(ROUNDS):
        who, name = chance.choice(sorted(CALLERS)), chance.choice(names)
        number, tenant = chance.randrange(6), chance.choice(("acme", "bolt", ""))
        kind = chance.choice(sorted(OF_TENANTS))
        done.add(kind)
        route, text = OF_TENANTS[kind](name, number, tenant)
        twins.asks(CALLERS[who], route, text)
    assert done == set(OF_TENANTS)
    assert {"", "forbidden", "unauthenticated", "not_found", "already_exists"} <= twins.met


def _query(**given: Any) -> str:
    return urlencode({name.replace("__", "."): each for name, each in given.items() if each != ""})


def _arguments(**given: Any) -> str:
    return ", ".join(f"{name}: {each}" for name, each in given.items() if each != "")


Asked = tuple[Callable[[Mapping[str, str]], Any], str]


def _a_task(name: str, number: int, tenant: str) -> Asked:
    expanded = f"{TASK} team {{ {TEAM} }} parent {{ {TASK} }} related {{ {TASK} }}"
    target = "?expand=team,parent,related"
    return lambda ids: ("GET", f"/v1/tasks/{ids[name]}{target}", None), f"{{ task(id: %({name})s) {{ {expanded} }} }}"


def _a_team(name: str, number: int, tenant: str) -> Asked:
    return (
        lambda ids: ("GET", f"/v1/teams/{tenant or 'acme'}/red", None),
        f'{{ team(id: "{tenant or "acme"}", sort: "red") {{ {TEAM} }} }}',
    )


def _tasks_by_title(name: str, number: int, tenant: str) -> Asked:
    given = _query(index="byTitle", tenantId=tenant, title__from=f"t{number}", limit=2)
    tenant = json.dumps(tenant) if tenant else ""
    arguments = _arguments(tenantId=tenant, title=f'{{from: "t{number}"}}', limit=2)
    return lambda ids: ("GET", f"/v1/tasks?{given}", None), f"{{ tasksByTitle({arguments}) {{ items {{ {TASK} }} }} }}"


def _teams(name: str, number: int, tenant: str) -> Asked:
    given, tenant = _query(tenantId=tenant, reverse="true"), json.dumps(tenant) if tenant else ""
    arguments = _arguments(id=tenant, reverse="true")
    return lambda ids: ("GET", f"/v1/teams?{given}", None), f"{{ teamsById({arguments}) {{ items {{ {TEAM} }} }} }}"


def _tasks_filtered(name: str, number: int, tenant: str) -> Asked:
    conditions = {"teamName": "red", **({"tenantId": tenant} if tenant else {})}
    document = {"index": "byTeam", "conditions": conditions, "filter": {"property": "title", "ge": f"t{number}"}}
    arguments = _arguments(
        teamName='"red"', tenantId=json.dumps(tenant) if tenant else "", filter=f'{{title: {{ge: "t{number}"}}}}'
    )
    text = f"{{ tasksByTeam({arguments}) {{ items {{ {TASK} }} }} }}"
    return lambda ids: ("POST", "/v1/tasks/query", document), text


def _narrow_titles(name: str, number: int, tenant: str) -> Asked:
    arguments = _arguments(teamName='"red"', filter="{label: {exists: true}}")
    document = {"index": "titles", "conditions": {"teamName": "red"}, "filter": {"property": "label", "exists": True}}
    return (
        lambda ids: ("POST", "/v1/tasks/query", document),
        f"{{ tasksByTitles({arguments}) {{ items {{ title }} }} }}",
    )


def _change(name: str, number: int, tenant: str) -> Asked:
    patch: dict[str, Any] = {"title": f"t{number}", "note": "more", **({"tenantId": tenant} if tenant else {})}
    given = ", ".join(f"{key}: {json.dumps(each)}" for key, each in patch.items())
    return (
        lambda ids: ("PATCH", f"/v1/tasks/{ids[name]}", patch),
        f"mutation {{ updateTask(id: %({name})s, patch: {{{given}}}) {{ {TASK} }} }}",
    )


def _make_team(name: str, number: int, tenant: str) -> Asked:
    document: dict[str, Any] = {"name": f"n{number}", **({"tenantId": tenant} if tenant else {})}
    given = ", ".join(f"{key}: {json.dumps(each)}" for key, each in document.items())
    return (
        lambda ids: ("POST", "/v1/teams", document),
        f"mutation {{ createTeam(input: {{{given}}}) {{ {TEAM} }} }}",
    )


def _put_team(name: str, number: int, tenant: str) -> Asked:
    tenant = tenant or "acme"
    return (
        lambda ids: ("PUT", f"/v1/teams/{tenant}/n{number}", {"motto": "new"}),
        f'mutation {{ putTeam(id: "{tenant}", sort: "n{number}", input: {{motto: "new"}}) {{ {TEAM} }} }}',
    )


def _remove_team(name: str, number: int, tenant: str) -> Asked:
    return (
        lambda ids: ("DELETE", f"/v1/teams/{tenant or 'bolt'}/n{number}", None),
        f'mutation {{ deleteTeam(id: "{tenant or "bolt"}", sort: "n{number}") }}',
    )


OF_TENANTS: dict[str, Callable[[str, int, str], Asked]] = {
    each.__name__: each
    for each in (
        *(_a_task, _a_team, _tasks_by_title, _teams, _tasks_filtered, _narrow_titles),
        *(_change, _make_team, _put_team, _remove_team),
    )
}


# -- rules ------------------------------------------------------------------------------------------------------------

GROUPS: dict[str, Callable[[Api], Person]] = {
    "admin": lambda api: person(api, "root", "admin"),
    "reader": lambda api: person(api, "rae", "reader"),
    "librarian": lambda api: person(api, "lib", "reader", "librarian"),
    "ann": person,
    "bob": lambda api: person(api, "bob"),
    "nobody": Person,
}


def test_rules_of_access_hold_alike() -> None:
    twins, chance = Twins(RULES), Random(2)
    done: set[str] = set()
    for _ in range(ROUNDS):
        who, kind = chance.choice(sorted(GROUPS)), chance.choice(sorted(OF_RULES))
        number, owner = chance.randrange(8), chance.choice(("ann", "bob", "root"))
        done.add(kind)
        route, text = OF_RULES[kind](number, owner)
        twins.asks(GROUPS[who], route, text)
    assert done == set(OF_RULES)
    assert {"", "forbidden", "unauthenticated", "not_found", "already_exists"} <= twins.met


OF_RULES: dict[str, Callable[[int, str], Asked]] = {
    "get": lambda number, owner: (
        lambda ids: ("GET", f"/v1/reports/r{number}", None),
        f'{{ report(id: "r{number}") {{ {REPORT} }} }}',
    ),
    "all": lambda number, owner: (
        lambda ids: ("GET", "/v1/reports?limit=3", None),
        f"{{ reports(limit: 3) {{ items {{ {REPORT} }} }} }}",
    ),
    "by user": lambda number, owner: (
        lambda ids: ("GET", f"/v1/reports?index=byUser&userId={owner}", None),
        f'{{ reportsByUser(userId: "{owner}") {{ items {{ {REPORT} }} }} }}',
    ),
    "by subject": lambda number, owner: (
        lambda ids: ("GET", f"/v1/reports?index=bySubject&subject={quote('the sea')}", None),
        f'{{ reportsBySubject(subject: "the sea") {{ items {{ {REPORT} }} }} }}',
    ),
    "my subjects": lambda number, owner: (
        lambda ids: ("GET", f"/v1/reports?index=mySubjects&subject={quote('the sea')}", None),
        f'{{ reportsByMySubjects(subject: "the sea") {{ items {{ {REPORT} }} }} }}',
    ),
    "filtered": lambda number, owner: (
        lambda ids: ("POST", "/v1/reports/query", {"filter": {"property": "draft", "eq": True}}),
        f"{{ reports(filter: {{draft: {{eq: true}}}}) {{ items {{ {REPORT} }} }} }}",
    ),
    "memo": lambda number, owner: (
        lambda ids: ("GET", f"/v1/memos/m{number}?expand=report", None),
        f'{{ memo(id: "m{number}") {{ memoId report {{ {REPORT} }} }} }}',
    ),
    "create": lambda number, owner: (
        lambda ids: ("POST", "/v1/reports", {"reportId": f"r{number}", "userId": owner, "subject": "the sea"}),
        (
            f'mutation {{ createReport(input: {{reportId: "r{number}", userId: "{owner}", subject: "the sea"}}) '
            f"{{ {REPORT} }} }}"
        ),
    ),
    "create memo": lambda number, owner: (
        lambda ids: ("POST", "/v1/memos", {"memoId": f"m{number}"}),
        f'mutation {{ createMemo(input: {{memoId: "m{number}"}}) {{ memoId }} }}',
    ),
    "update": lambda number, owner: (
        lambda ids: ("PATCH", f"/v1/reports/r{number}", {"userId": owner, "draft": True}),
        f'mutation {{ updateReport(id: "r{number}", patch: {{userId: "{owner}", draft: true}}) {{ {REPORT} }} }}',
    ),
    "put": lambda number, owner: (
        lambda ids: ("PUT", f"/v1/reports/r{number}", {"userId": owner, "subject": "the sea"}),
        f'mutation {{ putReport(id: "r{number}", input: {{userId: "{owner}", subject: "the sea"}}) {{ {REPORT} }} }}',
    ),
    "delete": lambda number, owner: (
        lambda ids: ("DELETE", f"/v1/reports/r{number}", None),
        f'mutation {{ deleteReport(id: "r{number}") }}',
    ),
}


# -- additions and upserts --------------------------------------------------------------------------------------------


class Talk(Entity, token="talk", partition="tenant", sort="number", access=[Allow("create", "get", "update")]):
    """A talk of a tenant, for everybody who belongs to it."""

    tenant: str = claim_property("tenant")
    number: int
    seen: int = 0


class Stock(Entity, token="stock", access=[Allow("get", "update", groups="reader"), Allow("create", groups="admin")]):
    """What some may change, and others make."""

    stock_id: str = unique_property()
    seen: int = 0
    tags: set[str] = Field(default_factory=set)


ADDED = Schema([Talk, Note, Draft, Stock])
KEYS: Mapping[str, tuple[str, ...]] = {
    "talk": ("tenant", "number"),
    "note": ("userId", "number"),
    "draft": ("editorId", "draftId"),
    "stock": ("stockId",),
}
ADDERS: dict[str, Callable[[Api], Person]] = {
    "ann": lambda api: person(api, "ann", tenant="ann"),
    "bob": lambda api: person(api, "bob", "reader", tenant="bob"),
    "root": lambda api: person(api, "root", "reader", "admin", tenant="root"),
    "nobody": Person,
}


def _named(token: str, owner: str, number: int) -> tuple[dict[str, Any], str, str]:
    """A record's key in a body, in a path, and as arguments."""
    names = KEYS[token]
    if len(names) == 1:
        return {names[0]: f"s{number}"}, f"s{number}", f'id: "s{number}"'
    key = {names[0]: owner, names[1]: f"d{number}" if token == "draft" else number}
    *_, last = key.values()
    return key, f"{owner}/{last}", f'id: "{owner}", sort: "{last}"'


def _added(token: str, owner: str, number: int, amount: int, upsert: bool) -> Asked:
    key, _, arguments = _named(token, owner, number)
    document = {"key": key if len(key) > 1 else key["stockId"], "amounts": {"seen": amount}, "upsert": upsert}
    more = ", upsert: true" if upsert else ""
    return (
        lambda ids: ("POST", f"/v1/{token}s/add", document),
        f"mutation {{ addTo{token.capitalize()}({arguments}, amounts: {{seen: {amount}}}{more}) {{ {_of(token)} }} }}",
    )


def _changed(token: str, owner: str, number: int, amount: int, upsert: bool) -> Asked:
    _, path, arguments = _named(token, owner, number)
    more = ", upsert: true" if upsert else ""
    return (
        lambda ids: ("PATCH", f"/v1/{token}s/{path}{'?upsert=true' if upsert else ''}", {"seen": amount}),
        f"mutation {{ update{token.capitalize()}({arguments}, patch: {{seen: {amount}}}{more}) {{ {_of(token)} }} }}",
    )


def _of(token: str) -> str:
    return " ".join((*KEYS[token], "seen", *(("tags",) if token == "stock" else ())))


def test_additions_and_upserts_are_carried_out_and_refused_alike() -> None:
    twins, chance = Twins(ADDED), Random(3)
    met: dict[tuple[str, str], set[str]] = {}
    for _ in range(2 * ROUNDS):
        token, who = chance.choice(sorted(KEYS)), chance.choice(sorted(ADDERS))
        owner, number = chance.choice(("ann", "bob")), chance.randrange(4)
        amount, upsert = chance.choice((1, -2, 2**70)), chance.random() < 0.5
        ask = chance.choice((_added, _changed))
        twins.met = met.setdefault((token, ask.__name__), set())
        twins.asks(ADDERS[who], *ask(token, owner, number, amount, upsert))
    for (token, _), codes in met.items():
        assert {"", "not_found", "unauthenticated"} <= codes, token
    assert all("forbidden" in codes for (token, _), codes in met.items() if token == "stock"), "who may not create"


@pytest.mark.parametrize(("who", "told"), [("ann", True), ("nobody", False)])
def test_who_does_not_say_who_they_are_is_not_told_the_schema(who: str, told: bool) -> None:
    caller = GROUPS[who](api_of(RULES, graphql=GraphQL(introspection=True)))
    outcome = of_graphql(caller, "{ __schema { queryType { name } } }")
    assert outcome == (("", {"queryType": {"name": "Query"}}) if told else ("unauthenticated", None))


def test_an_index_that_is_not_exposed_has_no_field() -> None:
    caller = GROUPS["admin"](api_of(RULES, graphql=GraphQL(introspection=True)))
    content = json.loads(caller.post("/graphql", {"query": '{ __type(name: "Query") { fields { name } } }'}).body)
    names = {each["name"] for each in content["data"]["__type"]["fields"]}
    assert names == {
        *("report", "reports", "reportsByUser", "reportsBySubject", "reportsByMySubjects"),
        *("memo", "memos"),
    }
