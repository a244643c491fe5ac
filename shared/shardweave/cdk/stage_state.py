"""The facts about a stage's last deployment that can't be changed afterwards, kept in the template of its stack.

Format: `Metadata.ShardweaveManifest` of the template, an object with `keyFormat` and `manifest` (the manifest of the
schema, see `shardweave.schema.manifest`).

The committed manifest belongs to a service, and the stage that was deployed last wrote it. This record belongs to one
stage, and every deployment reads it, from any checkout. `stage_faults` finds changes that would hide the stage's
records: bumps that have begun before the stage had them, bumps that are removed, another key format. `unheard_of` finds
that the checkout is older than the deployment. Pure.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..database.project import command_name, guide
from ..errors import ConfigurationError, Fault
from ..schema.manifest import Manifest, decode_manifest, encode_manifest, lost_bumps, placement_faults
from .manifest import AHEAD_MS, hasty_bumps

METADATA = "ShardweaveManifest"
ROLL_BACK = f"deploy a checkout that has it; what goes back without it: `Rolling back` in {guide('operating.md')}"


@dataclass(frozen=True)
class StageRecord:
    """What determines where a stage's records are: the name of the key format, and the schema's manifest."""

    key_format: str
    manifest: Manifest


def encode_stage_record(record: StageRecord) -> dict[str, Any]:
    """The record as metadata of a template."""
    manifest = json.loads(encode_manifest(replace(record.manifest, waves=None)))
    return {METADATA: {"keyFormat": record.key_format, "manifest": manifest}}


def decode_stage_record(template: Mapping[str, Any]) -> StageRecord | None:
    """The record in a template's metadata; None without one. Raises ConfigurationError."""
    try:
        found = template.get("Metadata", {}).get(METADATA)
        if found is None:
            return None
        return StageRecord(str(found["keyFormat"]), decode_manifest(json.dumps(found["manifest"])))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(
            "what the stage was deployed with can't be read", where=METADATA, fix="deploy with a newer checkout"
        ) from None


def stage_faults(
    deployed: StageRecord, wanted: StageRecord, *, absorbed: Mapping[str, int], now_ms: int | None = None
) -> list[Fault]:
    """The reasons against deploying `wanted` to a stage. `absorbed`: by token, the time up to which a re-shard of the
    stage moved all bumps into one space, in the unit of the entity's bumps."""
    now = int(time.time() * 1000) if now_ms is None else now_ms
    found = [*_key_format_faults(deployed, wanted), *placement_faults(deployed.manifest, wanted.manifest)]
    for token, before in deployed.manifest.entities.items():
        after = wanted.manifest.entities.get(token)
        if after is None:
            continue
        found += [replace(fault, fix=ROLL_BACK) for fault in lost_bumps(token, before, after, now, AHEAD_MS)]
        until = absorbed.get(token, -1)
        known = replace(before, bumps=(*before.bumps, *(bump for bump in after.bumps if bump.timestamp <= until)))
        other = f"or re-shard {token} of this stage first, to the bump's space or a wider one, which then stands for it"
        found += hasty_bumps(token, known, after, now, other)
    return found


def _key_format_faults(deployed: StageRecord, wanted: StageRecord) -> Iterator[Fault]:
    if deployed.key_format != wanted.key_format:
        message = f"the stage's keys are written as {deployed.key_format}, and would not be found."
        yield Fault("context `keyFormat`", message, f"use -c keyFormat={deployed.key_format}, or another stage")


def unheard_of(
    indexes: Iterable[str], deployed: StageRecord | None, wanted: Manifest, committed: Manifest | None, stage: str
) -> list[Fault]:
    """Parts of a stage that neither the declaration nor the committed manifest knows. Nobody removed them here, so the
    checkout is older, or another branch. `indexes` are those of the table."""
    there = {"index": set(indexes), "entity": set(deployed.manifest.entities) if deployed else set()}
    known = {"index": set(wanted.indexes), "entity": set(wanted.entities)}
    if committed is not None:
        known = {"index": known["index"] | {*committed.indexes}, "entity": known["entity"] | {*committed.entities}}
    message = "the stage has it, and this checkout never had: it is older than what is deployed, or another branch."
    fix = f"{ROLL_BACK}; if it is to go, `{command_name('manifest')} --from {stage}` takes note of it first"
    return [Fault(f"{kind} {name}", message, fix) for kind in there for name in sorted(there[kind] - known[kind])]
