"""What pydantic can be told of an entity, and makes stored, taken and shown forms differ, is a fault of the schema."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import (
    AliasChoices,
    AliasGenerator,
    AliasPath,
    Base64Bytes,
    ConfigDict,
    Field,
    PlainSerializer,
    WrapSerializer,
    field_serializer,
    model_serializer,
)

from shardweave.errors import SchemaError
from shardweave.schema.checks.models import _OPTIONS
from shardweave.schema.entity import _SAFE_NAMES, Entity, HashKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from tests.unit.api_world import Client, api_of, json_of
from tests.unit.store_world import World


def declared(name: str, annotation: Any = int, **body: Any) -> type[Entity]:
    """An entity with one property besides what identifies it."""
    whole = {
        "__module__": __name__,
        "__annotations__": {"thing_id": str, name: annotation},
        "thing_id": unique_property(),
        **body,
    }
    return type(Entity)("Thing", (Entity,), whole, token="thing")


def made(annotation: Any = int, name: str = "held", **body: Any) -> type[Entity]:
    """As `declared`, whatever pydantic warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return declared(name, annotation, **body)


def faults_of(model: type[Entity]) -> dict[str, tuple[str, str]]:
    with pytest.raises(SchemaError) as raised:
        Schema([model])
    return {fault.where: (fault.message, fault.fix) for fault in raised.value.faults}


# -- aliases and serializers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field",
    [
        {"validation_alias": "given"},
        {"serialization_alias": "shown"},
        {"validation_alias": "other", "serialization_alias": "other"},
        {"validation_alias": AliasChoices("one", "two")},
        {"validation_alias": AliasPath("one", 0)},
        {"alias": "one", "validation_alias": "two"},
    ],
)
def test_a_property_has_one_name(field: dict[str, Any]) -> None:
    wanted = ("it is taken, stored and shown by different names", "give it one, with alias= alone")
    assert faults_of(made(held=Field(**field))) == {"entity Thing.held": wanted}


def test_so_has_what_a_generator_names() -> None:
    generator = AliasGenerator(serialization_alias=str.upper)
    found = faults_of(made(model_config=ConfigDict(alias_generator=generator)))
    assert found["entity Thing.held"][0] == "it is taken, stored and shown by different names"


def test_one_alias_is_the_name_everywhere() -> None:
    model = made(held=Field(alias="kept"))
    client = Client(api_of(Schema([model])))
    shown = {"thingId": "a", "kept": 5}
    assert json_of(client.send("POST", "/v1/things", shown)) == shown
    assert json_of(client.send("PUT", "/v1/things/a", shown)) == shown


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, PlainSerializer(str)],
        list[Annotated[int, PlainSerializer(str)]],
        Annotated[int, WrapSerializer(lambda value, write: write(value))] | None,
    ],
)
def test_a_serializer_is_a_fault(annotation: Any) -> None:
    ((message, fix),) = faults_of(made(annotation)).values()
    assert message == "its serializer shows another form than bodies are read by"
    assert "a computed field" in fix


def test_so_is_a_method_that_serializes() -> None:
    class Thing(Entity, token="thing"):
        thing_id: str = unique_property()
        held: int

        @field_serializer("held")
        def shown(self, value: int) -> str:
            return str(value)

        @model_serializer
        def whole(self) -> Mapping[str, Any]:
            return {}

    assert faults_of(Thing).keys() == {"entity Thing.shown", "entity Thing.whole"}


def test_so_are_an_encoded_value_and_one_that_is_hidden_at_times() -> None:
    assert faults_of(made(Base64Bytes)) == {
        "entity Thing.held": (
            "an encoded value is decoded again with each reading",
            "declare bytes, which are base64url in JSON, or text, and decode it where it is used",
        )
    }
    assert (
        "exclude_if hides" in faults_of(made(held=Field(exclude_if=lambda value: value == 5)))["entity Thing.held"][0]
    )


# -- options ----------------------------------------------------------------------------------------------------------

REFUSED: dict[str, Any] = {
    "extra": "ignore",
    "frozen": False,
    "strict": True,
    "use_enum_values": True,
    "coerce_numbers_to_str": True,
    "str_to_lower": True,
    "str_to_upper": True,
    "str_strip_whitespace": True,
    "ser_json_bytes": "utf8",
    "val_json_bytes": "hex",
    "ser_json_timedelta": "float",
    "ser_json_temporal": "seconds",
    "val_temporal_unit": "seconds",
    "json_encoders": {int: str},
    "validate_by_alias": False,
    "loc_by_alias": False,
    "regex_engine": "python-re",
    "url_preserve_empty_path": True,
}

TAKEN: list[dict[str, Any]] = [
    {"populate_by_name": False},
    {"validate_by_name": False},
    {"serialize_by_alias": False},
    {"arbitrary_types_allowed": True},
    {"revalidate_instances": "always"},
    {"use_attribute_docstrings": True},
    {"validate_default": True},
    {"validate_assignment": True},
    {"allow_inf_nan": False},
    {"ser_json_inf_nan": "strings"},
    {"str_max_length": 40},
    {"from_attributes": True},
    {"hide_input_in_errors": True},
    {"title": "A thing"},
    {"protected_namespaces": ()},
    {"defer_build": True},
]


@pytest.mark.parametrize("option", REFUSED)
def test_an_option_that_changes_a_form_is_a_fault(option: str) -> None:
    config: Any = {"validate_by_name": True, option: REFUSED[option]}
    found = faults_of(made(model_config=config))
    assert found == {
        "entity Thing, model_config": (f"{option} changes what is stored, taken or shown", _OPTIONS[option][1])
    }


def test_every_option_that_is_refused_is_tried() -> None:
    assert REFUSED.keys() == _OPTIONS.keys()


@pytest.mark.parametrize("option", TAKEN, ids=lambda each: next(iter(each)))
def test_any_other_option_leaves_the_forms_as_they_are(option: dict[str, Any]) -> None:
    config: Any = option
    model = made(bytes, model_config=config)
    client = Client(api_of(Schema([model])))
    shown = {"thingId": "a", "held": "__4="}
    assert json_of(client.send("POST", "/v1/things", shown)) == shown
    assert json_of(client.send("PUT", "/v1/things/a", shown)) == shown
    assert client.send("POST", "/v1/things", {**shown, "thingId": "b", "more": 1}).status == 400


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("rev", "prepare", "declared", "declaration", "model_copy", "model_dump", "model_extra", "model_fields"),
        *("model_fields_set", "model_post_init", "model_computed_fields", "model_validate", "model_construct"),
    ],
)
def test_a_property_by_the_name_of_a_member_of_every_entity_is_refused(name: str) -> None:
    with pytest.raises(SchemaError, match=f"entity Thing.{name}: every entity has a member '{name}' of its own"):
        made(name=name)


def test_so_is_a_key_of_such_a_name() -> None:
    with pytest.raises(SchemaError, match=r"entity Thing\.prepare: every entity has a member"):
        made(prepare=HashKey("held"))


@pytest.mark.parametrize("name", sorted(_SAFE_NAMES | {"key", "model_year", "self", "values", "items", "make_key"}))
def test_any_other_name_is_kept(name: str, recwarn: pytest.WarningsRecorder) -> None:
    schema = Schema([made(name=name)])
    (model,) = schema.models
    stored = model.model_fields[name].alias or name
    world = World(schema=schema)
    world.store.create(model(thing_id="a", **{name: 5}))
    assert getattr(world.store.get(model, "a"), name) == 5
    assert getattr(world.store.update(model, "a", {name: 6}), name) == 6
    client = Client(api_of(schema))
    shown = {"thingId": "a", stored: 7}
    assert json_of(client.send("POST", "/v1/things", shown)) == shown
    assert json_of(client.send("PUT", "/v1/things/a", shown)) == shown
    assert json_of(client.send("PATCH", "/v1/things/a", {stored: 8})) == {"thingId": "a", stored: 8}
    # Newer Pythons warn of what another test has left to the collector.
    told = [each for each in recwarn.list if not issubclass(each.category, ResourceWarning)]
    assert not [str(each.message) for each in told], "only the class that declares it may be warned of, by pydantic"


@pytest.mark.parametrize("name", sorted(_SAFE_NAMES))
def test_only_the_declaration_of_a_name_that_pydantic_has_is_warned_of(name: str) -> None:
    with pytest.warns(UserWarning, match=f'Field name "{name}" in "Thing" shadows an attribute') as warned:
        declared(name)
    assert len(warned) == 1
