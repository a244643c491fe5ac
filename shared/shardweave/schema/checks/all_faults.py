"""All checks of a schema together.

Each check is a generator of faults over the parts of a schema that is not built yet; no check stops at the first fault,
and none assumes that another check has passed.
"""

from __future__ import annotations

from ...errors import Fault
from ..parts import SchemaParts
from .access import access_faults
from .collections import collection_faults
from .entities import entity_faults
from .indexes import index_faults
from .names import collisions, name_faults
from .read_models import read_model_faults
from .relations import relation_faults
from .types import type_faults


def schema_faults(parts: SchemaParts) -> list[Fault]:
    """Every fault of a schema, in the order of its declarations."""
    faults = [Fault("key format", message, fix) for message, fix in parts.key_format.faults()]
    faults += name_faults(parts)
    for model in parts.models:
        faults += entity_faults(parts, model)
        faults += relation_faults(parts, model)
        faults += type_faults(model)
    faults += collisions(parts)
    faults += index_faults(parts)
    faults += collection_faults(parts)
    faults += read_model_faults(parts)
    faults += access_faults(parts)
    return list(dict.fromkeys(faults))
