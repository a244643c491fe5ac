"""Lists of related records: ids of a list whose records have a partition, and the list back from what is listed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import Field

from shardweave import AsyncDatabase, Database, testing
from shardweave.access import Allow, claim_property, private_property
from shardweave.errors import InputError, LimitExceeded, SchemaError, UnknownName
from shardweave.schema.declarations import Lookup, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema


class Tag(Entity, token="tag", partition="tenant_id", sort="name"):
    """What conversations are marked with."""

    tenant_id: str
    name: str

    conversations = has_many("conversation", via="tags")
    primary = has_many("conversation", via="main_tag")


class Conversation(Entity, token="conversation", partition="tenant_id", sort="number"):
    """A talk with tags of its tenant."""

    tenant_id: str
    number: int
    tag_names: set[str] = Field(default_factory=set)
    main: str | None = None

    tags = has_many(Tag, by=("tenant_id", "tag_names"))
    main_tag = belongs_to(Tag, by=("tenant_id", "main"))
    tag_lookup = Lookup("tag_names", within="tenant_id", name="tag")
    main_lookup = Lookup("main", within="tenant_id")


SCHEMA = Schema([Tag, Conversation])


@pytest.fixture
def db() -> Database:
    db = Database(SCHEMA)
    for tenant in ("t1", "t2"):
        for name in ("new", "old", "odd"):
            db.create(Tag(tenant_id=tenant, name=name))
        for number in range(1, 6):
            names = {"new", "old"} if number % 2 else {"old", "gone"}
            db.create(Conversation(tenant_id=tenant, number=number, tag_names=names, main="odd"))
    return db


def test_a_list_of_ids_leads_to_records_with_a_partition(db: Database) -> None:
    (one, two) = (db.get(Conversation, {"tenant_id": "t1", "number": number}) for number in (1, 2))
    assert one is not None
    assert two is not None
    found = db.expand([one, two], "tags", "main_tag")
    assert [[(tag.tenant_id, tag.name) for tag in each["tags"]] for each in found] == [  # type: ignore[union-attr]
        [("t1", "new"), ("t1", "old")],
        [("t1", "old")],
    ]
    assert all(each["main_tag"].name == "odd" for each in found)  # type: ignore[union-attr]


def numbers(db: Database, tag: Tag, name: str, **page: Any) -> list[int]:
    return [each.number for each in db.related(tag, name, **page).items]


def test_the_list_back_has_exactly_the_records_that_lead_here_and_follows_them(db: Database) -> None:
    tag = db.get(Tag, {"tenant_id": "t1", "name": "new"})
    odd = db.get(Tag, {"tenant_id": "t2", "name": "odd"})
    assert tag is not None
    assert odd is not None
    assert numbers(db, tag, "conversations") == [1, 3, 5]
    assert numbers(db, odd, "primary") == [1, 2, 3, 4, 5]
    assert numbers(db, odd, "conversations") == []
    db.update(Conversation, {"tenant_id": "t1", "number": 3}, {"tag_names": {"odd"}})
    db.delete(Conversation, {"tenant_id": "t1", "number": 5})
    assert numbers(db, tag, "conversations") == [1]
    assert all(each.tenant_id == "t2" for each in db.related(odd, "primary").items)


def test_it_comes_in_pages_both_ways(db: Database) -> None:
    tag = db.get(Tag, {"tenant_id": "t1", "name": "old"})
    assert tag is not None
    first = db.related(tag, "conversations", limit=2)
    second = db.related(tag, "conversations", limit=2, next_token=first.next_token)
    back = db.related(tag, "conversations", limit=2, prev_token=second.prev_token)
    assert [[each.number for each in page.items] for page in (first, second, back)] == [[1, 2], [3, 4], [1, 2]]
    other = db.get(Tag, {"tenant_id": "t1", "name": "new"})
    assert other is not None
    with pytest.raises(InputError):
        db.related(other, "conversations", next_token=first.next_token)


def test_an_asynchronous_database_has_it_too() -> None:
    async def work() -> list[int]:
        async with AsyncDatabase(SCHEMA) as db:
            tag = await db.create(Tag(tenant_id="t", name="new"))
            await db.create(Conversation(tenant_id="t", number=1, tag_names={"new"}))
            return [each.number for each in (await db.related(tag, "conversations")).items]

    assert asyncio.run(work()) == [1]


@pytest.mark.parametrize(
    ("name", "fix"),
    [("nothing", "use one of conversations, primary"), ("tags", "read this relation with expand")],
)
def test_what_is_no_such_list_is_named(db: Database, name: str, fix: str) -> None:
    one = Conversation(tenant_id="t1", number=1) if name == "tags" else Tag(tenant_id="t1", name="new")
    with pytest.raises(UnknownName) as caught:
        db.related(one, name)
    assert fix in caught.value.fix
    with pytest.raises(InputError):
        db.related("a", "conversations")  # type: ignore[arg-type]
    with pytest.raises(LimitExceeded):
        db.related(Tag(tenant_id="t1", name="new"), "conversations", limit=0)
    with pytest.raises(UnknownName) as listed:
        db.expand([Tag(tenant_id="t1", name="new")], "conversations")
    assert listed.value.fix == "read this list in pages, with related"


def faults(declared: Any) -> list[str]:
    """The faults of a thing with one declaration."""

    class Label(Entity, token="label"):
        label_id: str = unique_property()
        tenant_id: str = claim_property("tenant")

    class Thing(Entity, token="thing"):
        thing_id: str = unique_property()
        tenant_id: str = claim_property("tenant")
        label_ids: list[str] = Field(default_factory=list)
        counts: list[int] = Field(default_factory=list)
        one: str | None = None

        labels = has_many(Label, by="label_ids")
        first = belongs_to(Label, by="one")
        code = Unique("one", within="tenant_id")
        label = Lookup("label_ids", within="tenant_id")
        many = declared

    try:
        Schema([Label, Thing, Tag, Conversation])
    except SchemaError as error:
        return [f"{fault.where}: {fault.message}" for fault in error.faults]
    return []


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        (has_many(Tag, by="label_ids"), "its target is identified by tenant_id, name, and `by` names 'label_ids'"),
        (has_many(Tag, by=("thing_id", "one")), "'thing_id', 'one' have 0 lists, and one is needed"),
        (has_many(Tag, by=("label_ids", "counts")), "'label_ids', 'counts' have 2 lists, and one is needed"),
        (has_many(Tag, by=("one", "counts")), "'counts' holds a number, and the target's 'name' text"),
        (has_many("label"), "must have one of by= and via="),
        (has_many("label", by="label_ids", via="x"), "must have one of by= and via="),
        (has_many("label", via="nothing"), "Label has no relation 'nothing' to this entity"),
        (has_many("nothing", via="tags"), "its target 'nothing' is not in the schema"),
    ],
)
def test_a_declaration_that_leads_nowhere_is_refused(declared: Any, fault: str) -> None:
    assert any(fault in each for each in faults(declared)), faults(declared)


def test_a_list_back_needs_a_lookup_and_the_fix_says_which() -> None:
    class Label(Entity, token="label"):
        label_id: str = unique_property()

        things = has_many("thing", via="labels")

    class Thing(Entity, token="thing"):
        thing_id: str = unique_property()
        label_ids: list[str] = Field(default_factory=list)

        labels = has_many(Label, by="label_ids")

    with pytest.raises(SchemaError) as caught:
        Schema([Label, Thing])
    (fault,) = caught.value.faults
    assert (fault.where, fault.message) == ("entity Label.things", "no lookup of Thing finds records by label_ids")
    assert fault.fix == "declare Lookup('label_ids') there"


class Team(Entity, token="team", partition="tenant_id", sort="team_id"):
    """A part of a tenant."""

    tenant_id: str = claim_property("tenant")
    team_id: str

    members = has_many("member", via="teams")


class Badge(Entity, token="badge", access=[Allow("*", groups=("staff",)), Allow("*", owner="holder")]):
    """What members have, one or another; its id alone names it."""

    badge_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    holder: str | None = None

    members = has_many("member", via="badges")


class Member(Entity, token="member", access=[Allow("*")]):
    """Somebody in teams."""

    member_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    team_ids: list[str] = Field(default_factory=list)
    badge_ids: list[str] = Field(default_factory=list)
    secret_id: str | None = private_property(default=None)

    teams = has_many(Team, by=("tenant_id", "team_ids"))
    badges = has_many(Badge, by="badge_ids")
    by_team = Lookup("team_ids", within="tenant_id", name="byTeam")
    by_badge = Lookup("badge_ids", within="tenant_id", name="byBadge")


class OpenTeam(Team, token="team", partition="tenant_id", sort="team_id", access=[Allow("*")]):
    """One that everybody of the tenant may see."""


CLUB = Schema([OpenTeam, Badge, Member])


def test_over_http_the_list_back_is_a_page_of_its_own_and_can_be_expanded() -> None:
    client = testing.Client(SCHEMA)
    client.post("/v1/tags", {"tenantId": "t 1", "name": "a/b"}).expect(201)
    for number in range(3):
        body = {"tenantId": "t 1", "number": number, "tagNames": ["a/b"]}
        client.post("/v1/conversations", body).expect(201)
    page = client.get("/v1/tags.conversations/t%201/a%2Fb?limit=2&expand=tags").expect(200).json
    assert [each["number"] for each in page["items"]] == [0, 1]
    assert page["items"][0]["expanded"]["tags"] == [{"tenantId": "t 1", "name": "a/b"}]
    rest = client.get(f"/v1/tags.conversations/t%201/a%2Fb?nextToken={page['nextToken']}").json
    assert [each["number"] for each in rest["items"]] == [2]
    assert client.get("/v1/tags.conversations/t%201/none").status == 404
    assert client.get("/v1/tags.conversations/t%201/a%2Fb?limit=0").status == 400
    assert client.get("/v1/tags.conversations/t%201/a%2Fb?expand=none").status == 400
    assert client.get("/v1/tags.nothing/t%201/a%2Fb").status == 404
    document = client.get("/openapi.json").json
    described = document["paths"]["/v1/tags.conversations/{tenantId}/{name}"]["get"]
    assert described["operationId"] == "listTagConversations"
    answer = described["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/ConversationList"}
    assert {each["name"] for each in described["parameters"]} >= {"tenantId", "name", "limit", "nextToken", "expand"}


def test_the_list_back_has_the_tenants_own_records_and_only_of_a_record_that_the_caller_may_see() -> None:
    client = testing.Client(CLUB)
    ann = client.as_caller("ann", tenant="acme")
    staff = client.as_caller("sue", tenant="acme", groups=["staff"])
    bob = client.as_caller("bob", tenant="bolt", groups=["staff"])
    for one in (ann, bob):
        one.post("/v1/teams", {"teamId": "red"}).expect(201)
    badge = staff.post("/v1/badges", {"holder": "ann"}).expect(201).json["badgeId"]
    other = staff.post("/v1/badges", {"holder": "kim"}).expect(201).json["badgeId"]
    member = ann.post("/v1/members", {"teamIds": ["red"], "badgeIds": [badge, other]}).expect(201).json["memberId"]
    bob.post("/v1/members", {"teamIds": ["red"], "badgeIds": [badge]}).expect(201)
    assert [each["memberId"] for each in ann.get("/v1/teams.members/acme/red").json["items"]] == [member]
    assert [each["memberId"] for each in ann.get(f"/v1/badges.members/{badge}").json["items"]] == [member]
    assert ann.get(f"/v1/badges.members/{other}").status == 404, "another's badge"
    assert bob.get(f"/v1/badges.members/{badge}").status == 404, "another tenant's"
    assert bob.get("/v1/teams.members/acme/red").status == 404


def test_a_relation_may_be_given_as_it_stands_in_the_class(db: Database) -> None:
    records = [db.get(Conversation, {"tenant_id": "t1", "number": number}) for number in (1, 2)]
    known = [each for each in records if each is not None]
    assert [[tag.name for tag in each] for each in db.expand(known, Conversation.tags)] == [["new", "old"], ["old"]]
    assert [None if tag is None else tag.name for tag in db.expand(known, Conversation.main_tag)] == ["odd", "odd"]
    assert db.expand([], Conversation.tags) == []
    tag = db.expand(known, Conversation.tags)[0][0]
    assert [each.number for each in db.related(tag, Tag.conversations, limit=1).items] == [1]
    for relation in (Tag.conversations, Member.teams):
        with pytest.raises(UnknownName):
            db.expand(known, relation)
    with pytest.raises(UnknownName):
        db.related(tag, Conversation.tags)
    with pytest.raises(InputError):
        db.expand("records", Conversation.tags)  # type: ignore[call-overload]


def test_the_document_says_what_each_relation_leads_to() -> None:
    schemas = testing.Client(SCHEMA).get("/openapi.json").json["components"]["schemas"]
    assert schemas["Conversation"]["properties"]["expanded"]["$ref"] == "#/components/schemas/ConversationExpanded"
    either = [{"$ref": f"#/components/schemas/{name}"} for name in ("Tag", "UnreadableRelated")]
    assert schemas["ConversationExpanded"]["properties"] == {
        "tags": {"type": "array", "items": {"anyOf": either}},
        "mainTag": {"anyOf": [*either, {"type": "null"}]},
    }
    assert "expanded" not in schemas["Tag"]["properties"]
    assert not any(name.startswith("x-") for schema in schemas.values() for name in schema)
