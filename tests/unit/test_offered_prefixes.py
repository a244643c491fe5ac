"""A prefix is offered exactly where an index answers it: by the OpenAPI document, by GraphQL, by the Explorer and by
typed clients. A text in descending order, a version or a member of an Enum has none."""

from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave import (
    Entity,
    GraphQL,
    HashKey,
    Index,
    RangeKey,
    Schema,
    SemanticVersion,
    Timestamp,
    desc,
    timestamp_property,
    unique_property,
)
from shardweave.api.clients.description import EntityDescription, describe
from shardweave.api.graphql.names import Names, argument_name
from shardweave.api.lambda_event import event_of
from shardweave.api.operators import Operators
from shardweave.errors import UnsupportedQuery
from shardweave.keys.shard_key import ExternalKeys
from shardweave.query.spec import Equal, Prefix, QuerySpec
from shardweave.schema.entity_type import EntityType, IndexView
from shardweave.service.build import Service, Settings, build
from shardweave.service.files import service_names
from shardweave.service.loader import service_module
from shardweave.table.embedded import EmbeddedTable
from shardweave.values.codecs import EnumCodec, TimestampCodec
from tests.unit.api_world import CURSOR_KEYS

SECRET = bytes(32)
OPERATOR = {"iam": {"userArn": "arn:aws:iam::1:user/op"}}
CALLER = {"jwt": {"claims": {"iss": "https://i", "sub": "ann", "tenant": "5e0f0a1e-6f5d-4c1a-9a55-3f8c1d2e4b60"}}}


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


KINDS: dict[str, Any] = {
    "text": str,
    "day": dt.date,
    "moment": dt.datetime,
    "made": Timestamp,
    "uid": uuid.UUID,
    "number": int,
    "flag": bool,
    "size": Size,
    "version": SemanticVersion,
}
ONE_WAY = {"text", "version"}
"""They have no fixed width, and so no reverse order."""
SAMPLES: dict[str, Any] = {
    "str": "a",
    "date": dt.date(2025, 1, 2),
    "datetime": dt.datetime(2025, 1, 2, tzinfo=dt.UTC),
    "UUID": uuid.UUID(int=1),
    "int": 1,
    "bool": True,
    "SemanticVersion": "1.0.0",
    "Decimal": Decimal(1),
}


# -- what is answered


def sample(entity: EntityType[Any], name: str) -> Any:
    """A value that a property may have."""
    each = entity.condition_property(name)
    if isinstance(each.codec, EnumCodec):
        return each.codec.values[0]
    if isinstance(each.codec, TimestampCodec):
        return 1_735_689_600_000 if each.codec.unit == "ms" else 1_735_689_600
    assert each.codec is not None
    return SAMPLES[each.codec.name]


def is_answered(service: Service, entity: EntityType[Any], view: IndexView, place: int) -> bool:
    """Whether there is a plan for a prefix of that element of an index's range key, with values for all before it."""
    fixed = (*view.hash_elements, *view.range_elements[:place])
    conditions: dict[str, Any] = {each.name: Equal(sample(entity, each.name)) for each in fixed}
    conditions[view.range_elements[place].name] = Prefix("2")
    try:
        service.parts.queries.explain(QuerySpec(entity.token, conditions, view.index, consistent=view.index is None))
    except UnsupportedQuery:
        return False
    return True


# -- what is offered


@contextmanager
def served(module: ModuleType) -> Iterator[Service]:
    """A service with an Explorer and GraphQL."""
    made = ModuleType(module.__name__)
    vars(made).update({**vars(module), "graphql": GraphQL(introspection=True)})
    external = ExternalKeys("none", {"none": SECRET})
    operators = Operators.of_text("arn:aws:iam::1:user/op")
    of = Settings(CURSOR_KEYS, operators=operators, external_keys=lambda: external)
    service = build(of, open_table=EmbeddedTable, module=made)
    try:
        yield service
    finally:
        service.close()


def asked(service: Service, method: str, path: str, caller: Any, body: Any = None) -> Any:
    content = b"" if body is None else json.dumps(body).encode()
    event = event_of(method, path, "", {"content-type": "application/json"}, content)
    event["requestContext"]["authorizer"] = caller
    answer = service.api.resolve(event, None)
    assert answer["statusCode"] == 200, answer["body"]
    return json.loads(answer["body"])


TYPES = "{ __schema { queryType { fields { name args { name type { name } } } } types { name inputFields { name } } } }"


class Offers:
    """What a service offers, in each place."""

    def __init__(self, service: Service) -> None:
        parts = service.parts
        self.openapi = json.loads(service.api.openapi)
        document = asked(service, "GET", "/v1/_explorer", OPERATOR)
        self.explorer = {
            (each["token"], index["name"]): {element["name"]: element["begins"] for element in index["ordered"]}
            for each in document["entities"]
            for index in each["indexes"]
        }
        external = ExternalKeys("none", {"none": SECRET})
        described = describe(self.openapi, parts.schema, parts.access, external, (), {})
        self.clients: dict[str, EntityDescription] = {each.collection: each for each in described.entities}
        found = asked(service, "POST", "/graphql", CALLER, {"query": TYPES})["data"]["__schema"]
        self.inputs = {each["name"]: {one["name"] for one in each["inputFields"] or ()} for each in found["types"]}
        self.fields = {
            each["name"]: {one["name"]: one["type"]["name"] for one in each["args"]}
            for each in found["queryType"]["fields"]
        }

    def in_parameters(self, entity: EntityType[Any], name: str) -> set[str]:
        """The indexes that the description of the list's parameter names; empty where there is no such parameter."""
        listed = self.openapi["paths"][f"/v1/{entity.collection}"]["get"]["parameters"]
        found = [each["description"] for each in listed if each["name"] == f"{name}.prefix"]
        return set(found[0].rstrip(".").split("narrows ")[1].split(", ")) if found else set()

    def in_bodies(self, entity: EntityType[Any], name: str) -> bool:
        schemas = self.openapi["components"]["schemas"]
        (reference,) = (
            each["$ref"]
            for each in schemas[f"{entity.model.__name__}Conditions"]["properties"][name]["anyOf"]
            if "$ref" in each
        )
        return "prefix" in schemas[reference.rpartition("/")[2]]["properties"]

    def in_clients(self, entity: EntityType[Any], index: str | None, name: str) -> bool:
        (listed,) = (each for each in self.clients[entity.collection].lists if each.index == index)
        narrowed = (shape.narrowed for shape in listed.shapes if shape.narrowed is not None)
        return next(each.is_text for each in narrowed if each.name == name)

    def in_graphql(self, entity: EntityType[Any], index: str | None, name: str) -> bool | None:
        """None where there is no field for it."""
        names = Names()
        if index is not None:
            field = names.by_index(entity, index)
        elif entity.keys.design.partition:
            return None if len(entity.keys.design.sort) > 1 else "prefix" in self.fields[names.by_id(entity)]
        else:
            field = names.every(entity)
        return "prefix" in self.inputs[self.fields[field][argument_name(name)]]


def check(module: ModuleType) -> int:
    """Compare all places with what is answered, and return how many prefixes are offered."""
    offered = 0
    with served(module) as service:
        offers = Offers(service)
        for token, entity in service.parts.schema.entities.items():
            visible = service.parts.access.visible(entity)
            answered: dict[str, set[str]] = {}
            for view in visible.views.values():
                for place, element in enumerate(view.range_elements):
                    name = element.name
                    if name not in visible.properties and name not in visible.nested:
                        continue
                    begins = is_answered(service, entity, view, place)
                    answered.setdefault(name, set()).update({view.title} if begins else ())
                    where = f"{name} in {view.title} of {token}"
                    assert offers.explorer[token, view.index][name] == begins, where
                    assert offers.in_clients(entity, view.index, name) == begins, where
                    assert offers.in_graphql(entity, view.index, name) in (begins, None), where
            for name, titles in answered.items():
                assert offers.in_parameters(entity, name) == titles, name
                assert offers.in_bodies(entity, name) == bool(titles), name
                offered += bool(titles)
    return offered


@pytest.mark.parametrize("name", service_names())
def test_the_services_that_ship_offer_what_is_answered(name: str) -> None:
    assert check(service_module(name)) > 0


@st.composite
def range_keys(draw: st.DrawFn) -> list[tuple[str, bool]]:
    """The elements of a range key, each with whether its order is descending."""
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3, unique=True))
    return [(name, name not in ONE_WAY and draw(st.booleans())) for name in names]


def service_of(keys: list[list[tuple[str, bool]]]) -> ModuleType:
    """A service with an index for each range key."""
    members: dict[str, Any] = {"__module__": __name__, "__annotations__": {"thing_id": str, **KINDS}}
    members |= {"thing_id": unique_property(), "made": timestamp_property(), "all_hash_key": HashKey(shards=1)}
    for number, key in enumerate(keys):
        elements = [desc(name) if descends else name for name, descends in key]
        members[f"r{number}_range_key"] = RangeKey(*elements)
    of_entities: Any = type(Entity)
    thing = of_entities("Thing", (Entity,), members)
    indexes = [Index(f"key{number}", "all_hash_key", f"r{number}_range_key") for number in range(len(keys))]
    made = ModuleType("made")
    made.schema = lambda key_format: Schema([thing], indexes, key_format=key_format)  # type: ignore[attr-defined]
    return made


@settings(max_examples=6, deadline=None)
@given(st.lists(range_keys(), min_size=4, max_size=8))
def test_any_schema_offers_what_is_answered(keys: list[list[tuple[str, bool]]]) -> None:
    check(service_of(keys))


def test_a_text_in_one_order_is_offered_for_that_one_alone() -> None:
    by_day = service_of([[("day", True)], [("number", False), ("day", False)], [("size", False), ("uid", True)]])
    with served(by_day) as service:
        offers, entity = Offers(service), service.parts.schema.entity("thing")
        assert offers.in_parameters(entity, "day") == {"key1"}
        assert offers.in_parameters(entity, "uid") == offers.in_parameters(entity, "size") == set()
        assert offers.fields["thingsByKey0"]["day"] == "DateRangeCondition"
        assert offers.fields["thingsByKey1"]["day"] == "DateCondition"
        assert offers.fields["thingsByKey2"]["size"] == "StringRangeCondition"
        assert offers.inputs["DateRangeCondition"] == {"eq", "from", "to"}
        assert offers.inputs["DateCondition"] == {"eq", "prefix", "from", "to"}
