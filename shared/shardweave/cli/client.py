"""`shardweave client`: generates a typed client of a service from its schema, as one TypeScript or Python file without
dependencies.

It has the types of records and bodies, a method for each list with exactly the conditions that its index can answer,
iterators over pages, and errors with their codes. It repeats unanswered requests; writes have an idempotency key, so
that they are carried out once. Generate it again after changes of the service.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..api.clients.description import ServiceDescription, describe
from ..api.operators import NO_OPERATORS
from ..api.routes.collections import CollectionRoute
from ..errors import ConfigurationError
from ..keys.key_format import key_format
from ..keys.shard_key import ExternalKeys
from ..query.cursor import CursorKeys
from ..service.build import Settings, build
from ..service.loader import service_module, service_operations
from ..table.embedded import EmbeddedTable
from .console import Streams
from .schemas import add_service_arguments, key_format_of, service_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The language, the file, and the service."""
    parser.add_argument("language", choices=("typescript", "python"), help="what the client is written in")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where it is written (default: standard output)")
    add_service_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Write the client. Raises ConfigurationError, SchemaError."""
    text = written(described(service_of(options), key_format_of(options)), options.language)
    if options.out is None:
        streams.stdout.write(text.encode())
        return 0
    try:
        options.out.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{options.out} can't be written: {error.strerror}"
        raise ConfigurationError(message, where="--out", fix="check the folder") from None
    return 0


def written(service: ServiceDescription, language: str) -> str:
    """The text of a client."""
    if language == "python":
        from ..api.clients.python import python_client

        return python_client(service)
    from ..api.clients.typescript import typescript_client

    return typescript_client(service)


def described(service: str, format_name: str) -> ServiceDescription:
    """The OpenAPI document of a service, without reading or writing a table."""
    module = service_module(service)
    secret = bytes(32)
    external = ExternalKeys("none", {"none": secret})
    settings = Settings(
        CursorKeys("none", {"none": secret}),
        service,
        key_format(format_name).name,
        operators=NO_OPERATORS,
        external_keys=lambda: external,
    )
    built = build(settings, open_table=EmbeddedTable, module=module)
    try:
        own = service_operations(module, built.parts)
        parts = built.parts
        routes = [
            CollectionRoute(each, parts.schema, parts.queries, external, parts.access)
            for each in parts.schema.collections
        ]
        shared = {each.name: each.shared for each in routes}
        return describe(json.loads(built.api.openapi), parts.schema, parts.access, external, own, shared)
    finally:
        built.close()
