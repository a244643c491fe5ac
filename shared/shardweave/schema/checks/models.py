"""Checks of an entity's pydantic settings: names, aliases, serializers, options of the model.

A property has the same name in the table, in input and in output, and each of its values has one form there. Any
pydantic setting that would change this is a fault. Generators of faults, as in `all_faults`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, PlainSerializer, PydanticUserError, TypeAdapter, WrapSerializer
from pydantic.types import EncodedBytes, EncodedStr

from ...errors import Fault
from ...values.json_types import metadata_of

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from ..entity import Entity

_OPTIONS: dict[str, tuple[tuple[Any, ...], str]] = {
    "extra": (("forbid",), "leave it out: a name that is none is refused everywhere"),
    "frozen": ((True,), "leave it out: a changed record is made by model_copy(update=...)"),
    "strict": ((None, False), "leave it out: what is stored is text where JSON has text; bodies are read strictly"),
    "use_enum_values": ((None, False), "leave it out, and take .value where the value is wanted"),
    "coerce_numbers_to_str": ((None, False), "leave it out, and give texts"),
    "str_to_lower": ((None, False), "annotate the property: Annotated[str, StringConstraints(to_lower=True)]"),
    "str_to_upper": ((None, False), "annotate the property: Annotated[str, StringConstraints(to_upper=True)]"),
    "str_strip_whitespace": (
        (None, False),
        "annotate the property: Annotated[str, StringConstraints(strip_whitespace=True)]",
    ),
    "ser_json_bytes": (("base64",), "leave it out: bytes are base64url in JSON"),
    "val_json_bytes": (("base64",), "leave it out: bytes are base64url in JSON"),
    "ser_json_timedelta": ((None, "iso8601"), "leave it out: time spans are ISO 8601 text"),
    "ser_json_temporal": ((None, "iso8601"), "leave it out: times are ISO 8601 text, and a Timestamp is a number"),
    "val_temporal_unit": ((None, "infer"), "leave it out, and annotate with Timestamp or TimestampSeconds"),
    "json_encoders": ((None, {}), "leave it out; a computed field can show another form of a value"),
    "validate_by_alias": ((None, True), "leave it out: records are read by their stored names"),
    "loc_by_alias": ((None, True), "leave it out: errors name the stored names"),
    "regex_engine": ((None, "rust-regex"), "annotate the property with an AfterValidator that matches"),
    "url_preserve_empty_path": ((None, False), "leave it out"),
}
"""Options of the model that would change the stored form, input or output: the harmless values, and the fix."""


def model_faults(model: type[Entity]) -> Iterator[Fault]:
    """Every fault of a model's aliases, serializers, computed fields and options."""
    where = f"entity {model.__name__}"
    for name, field in model.model_fields.items():
        for message, fix in field_faults(field):
            yield Fault(f"{where}.{name}", message, fix)
    for option, fix in option_faults(model.model_config):
        yield Fault(f"{where}, model_config", f"{option} changes what is stored, taken or shown", fix)
    yield from _serializer_faults(where, model)
    yield from _computed_faults(where, model)


def option_faults(config: ConfigDict, *, but: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """The options of a model that change what is stored, taken or shown, `but` for some, with what to do."""
    for option, (allowed, fix) in _OPTIONS.items():
        if option not in but and config.get(option, allowed[0]) not in allowed:
            yield option, fix


def field_faults(field: FieldInfo) -> Iterator[tuple[str, str]]:
    """What makes the names or the forms of a field's values differ."""
    aliases = (field.alias, field.validation_alias, field.serialization_alias)
    if any(each != aliases[0] for each in aliases):
        yield "it is taken, stored and shown by different names", "give it one, with alias= alone"
    if field.exclude_if is not None:
        yield (
            "exclude_if hides some of its values, which a body could not keep",
            "use exclude=True, or private_property",
        )
    noted = (*field.metadata, *metadata_of(field.annotation, object))
    if any(isinstance(each, (PlainSerializer, WrapSerializer)) for each in noted):
        yield "its serializer shows another form than bodies are read by", _SHOWN_OTHERWISE
    if any(isinstance(each, (EncodedBytes, EncodedStr)) for each in noted):
        fix = "declare bytes, which are base64url in JSON, or text, and decode it where it is used"
        yield "an encoded value is decoded again with each reading", fix


_SHOWN_OTHERWISE = "leave it out; a computed field can show another form of a value"


def _serializer_faults(where: str, model: type[Entity]) -> Iterator[Fault]:
    decorators = model.__pydantic_decorators__
    for name, each in decorators.field_serializers.items():
        properties = [one for one in each.info.fields if one == "*" or one in model.model_fields]
        if properties:
            message = f"it shows another form of {', '.join(properties)} than bodies are read by"
            yield Fault(f"{where}.{name}", message, _SHOWN_OTHERWISE)
    for name in decorators.model_serializers:
        yield Fault(f"{where}.{name}", "it shows another form of the record than bodies are read by", _SHOWN_OTHERWISE)


def _computed_faults(where: str, model: type[Entity]) -> Iterator[Fault]:
    """Faults of computed fields, which are shown beside the properties."""
    shown = {info.alias or name: name for name, info in model.model_fields.items()}
    for name, info in model.model_computed_fields.items():
        alias = info.alias or name
        if alias in shown:
            message = f"it is shown as {alias!r}, as the property {shown[alias]} is"
            yield Fault(f"{where}.{name}", message, "rename one")
        try:
            TypeAdapter(info.return_type).json_schema(mode="serialization")
        except PydanticUserError:
            fix = "return a text, a number, a bool, a time, or a list or dict of those"
            yield Fault(f"{where}.{name}", "what it returns has no JSON form", fix)
