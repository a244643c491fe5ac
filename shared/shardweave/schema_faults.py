"""Everything that can be wrong with a schema, found at once.

Each check is a generator of faults over the parts of a schema that is not made yet; none stops at
the first, and none assumes that another passed.
"""

from __future__ import annotations

from .access.faults import access_faults
from .declared_faults import declared_faults
from .entity_faults import entity_faults
from .errors import Fault
from .index_faults import index_faults
from .kind_faults import SchemaParts
from .name_faults import collisions, name_faults
from .projection_faults import projection_faults
from .type_faults import type_faults


def schema_faults(parts: SchemaParts) -> list[Fault]:
    """Every fault of a schema, in the order of its declarations."""
    faults = [Fault("key format", message, fix) for message, fix in parts.key_format.faults()]
    faults += name_faults(parts)
    for model in parts.models:
        faults += entity_faults(parts, model)
        faults += declared_faults(parts, model)
        faults += type_faults(model)
    faults += collisions(parts)
    faults += index_faults(parts)
    faults += projection_faults(parts)
    faults += access_faults(parts)
    return list(dict.fromkeys(faults))
