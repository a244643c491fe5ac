"""What a copy of a record changes: the rules of every other mapping of properties hold for it too.

A property is named by its stored or its Python name, once, and gets a value of its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from .entity_type import GIVEN_TWICE
from .errors import FieldFault, ValidationFailed
from .json_reading import field_faults

if TYPE_CHECKING:
    from .entity import Entity


def checked_update(model: type[Entity], given: Mapping[str, Any]) -> dict[str, Any]:
    """The new values by Python name. Raises ValidationFailed that lists every fault."""
    from .schema import properties_of

    properties = properties_of(model)
    python_names = {each.stored: name for name, each in properties.items()} | {name: name for name in properties}
    found: dict[str, Any] = {}
    faults: list[FieldFault] = []
    for name, value in given.items():
        python_name = python_names.get(name)
        if python_name is None:
            message = f"{model.__name__} has no such property: use one of {', '.join(properties)}"
            faults.append(FieldFault((name,), message, "extra_forbidden"))
        elif python_name in found:
            faults.append(FieldFault((name,), GIVEN_TWICE, "duplicate"))
        else:
            try:
                found[python_name] = properties[python_name].checked(value)
            except ValidationError as error:
                faults += field_faults(error, (name,))
    if faults:
        raise ValidationFailed(faults, where=model.__name__)
    return found
