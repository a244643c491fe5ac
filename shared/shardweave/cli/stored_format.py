"""Commands that write generated keys anew refuse a key format in which a table's records are not written."""

from __future__ import annotations

import argparse
from contextlib import suppress

from ..errors import AccessDenied, ConfigurationError, SchemaError
from ..keys.key_format import KEY_FORMATS, key_format
from ..maintenance.format_sample import stored_formats
from ..schema.schema import Schema
from ..service.build import Service
from ..service.loader import service_schema
from .schemas import key_format_of, service_of


def check_stored_format(options: argparse.Namespace, service: Service, rate: float = 0) -> None:
    """Raises ConfigurationError if the records of a table on DynamoDB are written in another key format than the one
    that is given. A data folder has a table for each format."""
    if options.table is not None:
        check_format_of(service, service_of(options), key_format_of(options), options.table, rate)


def check_format_of(service: Service, name: str, chosen: str, table: str, rate: float = 0) -> None:
    """The same, of a table whose name is only told."""
    with suppress(AccessDenied):  # Then the command itself says so.
        found = stored_formats(service.parts.store.parts, _others(name, chosen), rate=rate)
        if found:
            stored = " or ".join(map(repr, found))
            fixes = " or ".join(f"--key-format {each}" for each in found)
            message = f"the records of {table} are written in the key format {stored}, not in {chosen!r}"
            raise ConfigurationError(message, where="--key-format", fix=f"give {fixes}; nothing was written")


def _others(name: str, chosen: str) -> dict[str, Schema]:
    """The schema of a service in the other formats that it can have."""
    others = {}
    for each in KEY_FORMATS:
        if each != chosen:
            with suppress(SchemaError, ConfigurationError):
                others[each] = service_schema(name, key_format(each))
    return others
