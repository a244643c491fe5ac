"""What a merge patch (RFC 7396) may say of models in a record, in the schemas of the OpenAPI document.

The schema of a patch refers to the schemas of whole models, each with what it requires. A patch names some members, and
null removes one that may be missing; so each model gets a second schema for patches, and so do the models in it. A list
is replaced whole, with whole models.

Pure.
"""

from __future__ import annotations

from typing import Any

from ..wire.record_models import PATCH

_SCHEMAS = "#/components/schemas/"
_NULL = {"type": "null"}


def say_merges(schemas: dict[str, Any]) -> None:
    """Let the schemas that are marked refer to what a patch may say."""
    for patch in [each for each in schemas.values() if each.pop(PATCH, False)]:
        patch["properties"] = {name: _merge(each, schemas) for name, each in patch["properties"].items()}


def _merge(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """What a patch may say where a value has this schema."""
    name = schema.get("$ref", "").removeprefix(_SCHEMAS)
    if name and "properties" in schemas[name]:
        return {**schema, "$ref": _SCHEMAS + _merge_form(name, schemas)}
    if "anyOf" in schema:
        return {**schema, "anyOf": [_merge(each, schemas) for each in schema["anyOf"]]}
    if isinstance(schema.get("additionalProperties"), dict):
        return {**schema, "additionalProperties": _or_null(_merge(schema["additionalProperties"], schemas))}
    return schema


def _merge_form(name: str, schemas: dict[str, Any]) -> str:
    """The name of the schema of what a patch may say of a model, which is made at the first use."""
    whole, made = schemas[name], f"{name.removesuffix('-Input')}-Merge"
    if made not in schemas:
        required = whole.get("required", ())
        form = {key: each for key, each in whole.items() if key not in ("required", "properties")}
        schemas[made] = form  # a model may be inside itself
        form["title"] = f"{whole.get('title', name)}Merge"
        form["properties"] = {
            member: _merge(each, schemas) if member in required else _or_null(_merge(each, schemas))
            for member, each in ((key, _without_default(each)) for key, each in whole["properties"].items())
        }
    return made


def _without_default(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without its default: what a patch leaves out stays as it is."""
    return {key: each for key, each in schema.items() if key != "default"}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if _NULL in schema.get("anyOf", ()):
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], _NULL]}
    return {"anyOf": [schema, _NULL]}
