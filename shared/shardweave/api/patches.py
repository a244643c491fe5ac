"""Merge patches (RFC 7396): as changes of records, and as the start values of upserts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from ..access.grant import Grant
from ..schema.entity import Entity
from ..schema.identities import with_identity
from ..store.operations import Changes
from ..wire.record_json import record_document
from ..wire.record_models import RecordModels
from .bodies import merge_patch


def changes_of(models: RecordModels, grant: Grant, patch: Mapping[str, Any]) -> Changes:
    """The changes of a patch; they depend on the stored record if the patch changes parts of objects. Raises
    ValidationFailed, Forbidden."""
    if models.entity.placing_members:
        from ..store.writing.placing_members import check_patch  # what writes is loaded with the first write

        check_patch(models.entity, patch)
    nested = [name for name, value in patch.items() if isinstance(value, Mapping)]

    def merged(record: Entity) -> dict[str, Any]:
        stored = record_document(record)
        return changed({**patch, **{name: merge_patch(stored.get(name), patch[name]) for name in nested}})

    def changed(document: Mapping[str, Any]) -> dict[str, Any]:
        return grant.changed(models.patched(document))

    return merged if nested else changed(patch)


def start_of(models: RecordModels, creating: Grant, patch: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """The start values of a record created by a patch: its values, with objects without their null members, and with
    what the key says of members of models. Raises ValidationFailed, Forbidden, NotFound."""
    if models.entity.placing_members:
        known = to_jsonable_python(models.entity.identify(key))
        patch = {name: value for name, value in with_identity(models.entity, known, patch).items() if name in patch}
    objects = {name: merge_patch(None, value) for name, value in patch.items() if isinstance(value, Mapping)}
    whole = {name: value for name, value in {**patch, **objects}.items() if value is not None}
    values = {name: value for name, value in models.patched(whole).items() if value is not None}
    return creating.started(models.entity.identify(key), values)
