"""Models derived from an entity's model: for stored items, bodies and keys.

pydantic warns where a property has the name of a method of its own (`copy`, `json`). It should warn once, for the class
that declares the property, and not for derived models.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, create_model

M = TypeVar("M", bound=BaseModel)

_SHADOWS = r"Field name \".*\" in \".*\" shadows an attribute in parent"


def derived_model(name: str, config: ConfigDict, fields: dict[str, Any], doc: str | None = None) -> type[BaseModel]:
    """A model with these fields, as `create_model` takes them. Raises PydanticUserError."""
    with _said_before(fields):
        made: type[BaseModel] = create_model(name, __config__=config, __doc__=doc, **fields)
        return made


def changed_model(
    base: type[M], fields: dict[str, Any], validators: dict[str, Any] | None = None, *, strict_names: bool = False
) -> type[M]:
    """A model by the name of another, which it inherits from, with other fields or validators. `strict_names`: it
    refuses names that it does not declare."""
    with _said_before(fields):
        made: type[M] = create_model(
            base.__name__,
            __base__=base,
            __module__=base.__module__,
            __doc__=base.__doc__,
            __validators__=validators,
            __cls_kwargs__={"extra": "forbid", "json_schema_extra": _as_declared(base)} if strict_names else None,
            **fields,
        )
        return made


def _as_declared(base: type[BaseModel]) -> Callable[[dict[str, Any]], None]:
    """What makes the schema of a model that refuses other names the same as the declared one's: two schemas for one
    name would be told apart by the path of its module."""
    declared: Any = base.model_config.get("json_schema_extra")

    def say(schema: dict[str, Any]) -> None:
        schema.pop("additionalProperties", None)
        if callable(declared):
            declared(schema)
        else:
            schema.update(declared or {})

    return say


@contextmanager
def _said_before(fields: Mapping[str, Any]) -> Iterator[None]:
    """A context without this warning. Warning filters are global for the process, so they are changed only if
    needed."""
    if not any(hasattr(BaseModel, name) for name in fields):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _SHADOWS, UserWarning)
        yield
