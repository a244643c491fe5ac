"""The arguments that choose a schema and an entity in it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError, InputError, UnknownName
from ..keys.key_format import KEY_FORMATS, key_format
from ..schema.entity_type import EntityType
from ..schema.schema import Schema
from ..service.files import default_service, named_service
from ..service.loader import service_schema
from .console import whole_text
from .json_lines import parse_object


def add_service_arguments(parser: argparse.ArgumentParser) -> None:
    """`--service` and `--key-format`."""
    parser.add_argument(
        "--service", metavar="NAME", help="a service, by its name or path (default: that of cdk.json, or the only one)"
    )
    parser.add_argument("--key-format", choices=list(KEY_FORMATS), help="how keys are written (default: ordered)")


def add_entity_arguments(parser: argparse.ArgumentParser) -> None:
    """`--service`, `--key-format`, `--entity-manager`, and `--entity`."""
    parser.add_argument("--entity", required=True, metavar="TOKEN", help="the entity's token, such as user")
    add_service_arguments(parser)
    parser.add_argument(
        "--entity-manager", type=Path, metavar="CONFIG.json", help="the entity is the one in this configuration"
    )


def schema_of(options: argparse.Namespace) -> Schema:
    """The schema that the arguments choose. Raises ConfigurationError, SchemaError."""
    config: Path | None = getattr(options, "entity_manager", None)
    if config is None:
        return service_schema(service_of(options), key_format(key_format_of(options)))
    for name in ("service", "key_format"):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ConfigurationError("the configuration decides that", where=option, fix="leave it out")
    try:
        with config.open("rb") as file:
            return Schema.from_entity_manager(parse_object(whole_text(file)))
    except OSError as error:
        message = f"{config} can't be read: {error.strerror}"
        raise ConfigurationError(message, where="--entity-manager", fix="check the name") from None
    except InputError as error:
        raise ConfigurationError(f"{config}: {error.message}", where="--entity-manager", fix=error.fix) from None


def entity_of(options: argparse.Namespace, schema: Schema) -> EntityType[Any]:
    """The entity that `--entity` names. Raises ConfigurationError."""
    try:
        return schema.entity(options.entity)
    except UnknownName as error:
        raise ConfigurationError(error.message, where="--entity", fix=error.fix) from None


def entities_of(options: argparse.Namespace, schema: Schema) -> list[EntityType[Any]]:
    """The entities that `--entity` names, which can be repeated; all entities if it is not given. Raises
    ConfigurationError."""
    if not options.entity:
        return list(schema.entities.values())
    tokens = dict.fromkeys(options.entity)
    return [entity_of(argparse.Namespace(entity=token), schema) for token in tokens]


def service_of(options: argparse.Namespace) -> str:
    """The name of the service. Raises ConfigurationError."""
    return named_service(options.service) if options.service else default_service()


def key_format_of(options: argparse.Namespace) -> str:
    """The name of the key format."""
    return options.key_format or "ordered"
