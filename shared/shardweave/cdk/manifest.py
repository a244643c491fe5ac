"""The manifest of a service: the facts about its deployments that can't be changed afterwards. It is committed.

Format: `manifests/<service>.json` (in `infra/`, if a project has such a folder), see `shardweave.schema.manifest`.

A service without a manifest has never been deployed, and may change freely. For one with a manifest, `faults` finds
changes that can't be rolled out: changes that would place records elsewhere or leave stored items in an outdated form,
bumps that change or begin too soon, indexes that change in place, and more than one changed index at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ..database.project import command_name
from ..errors import ConfigurationError, Fault
from ..schema.manifest import (
    EntityManifest,
    Manifest,
    Waves,
    decode_manifest,
    early_bumps,
    encode_manifest,
    index_faults,
    lost_bumps,
    placement_faults,
)
from ..table.layout import IndexLayout
from .sources import ROOT

FOLDER = next((each for each in (ROOT / "infra" / "manifests",) if each.is_dir()), ROOT / "manifests")
AHEAD_MS = 24 * 60 * 60 * 1000
"""A bump must be deployed, or removed, at least this long before it begins."""
TAKE_NOTE = f"`{command_name('manifest')} --from STAGE` takes note of it"


def index_changes(before: Mapping[str, IndexLayout], after: Mapping[str, IndexLayout]) -> Waves:
    """The new indexes, and the removed ones."""
    return Waves(tuple(sorted(set(after) - set(before))), tuple(sorted(set(before) - set(after))))


# -- changes that can't be rolled out ----------------------------------------------------------------------------------


def faults(deployed: Manifest | None, wanted: Manifest, *, now_ms: int | None = None) -> list[Fault]:
    """The reasons against deploying `wanted` over `deployed`, except for the number of index changes."""
    if deployed is None:
        return []
    now = int(time.time() * 1000) if now_ms is None else now_ms
    return [
        *placement_faults(deployed, wanted),
        *index_faults(deployed.indexes, wanted.indexes),
        *(
            fault
            for token, before in deployed.entities.items()
            if token in wanted.entities
            for fault in (
                *lost_bumps(token, before, wanted.entities[token], now, AHEAD_MS),
                *hasty_bumps(token, before, wanted.entities[token], now, "if it is deployed, " + TAKE_NOTE),
            )
        ),
    ]


def wave_faults(deployed: Manifest | None, wanted: Manifest) -> list[Fault]:
    """The fault that more than one index would change, unless the manifest notes that this is intended."""
    if deployed is None:
        return []
    changes = index_changes(deployed.indexes, wanted.indexes)
    if len(changes) <= 1 or changes == deployed.waves:
        return []
    names = ", ".join([*(f"+{name}" for name in changes.create), *(f"-{name}" for name in changes.delete)])
    message = f"{len(changes)} would change ({names}), and one deployment can change one."
    deploy, manifest = command_name("deploy"), command_name("manifest")
    fix = f"deploy one at a time; or `{deploy}`, in waves, and `{manifest} --waves` notes that it is meant"
    return [Fault("indexes", message, fix)]


def hasty_bumps(
    token: str, before: EntityManifest, after: EntityManifest, now_ms: int, otherwise: str
) -> Iterator[Fault]:
    """New bumps that have begun, or begin before every process can know of them. `otherwise` is the alternative fix."""
    earliest_ms = now_ms + AHEAD_MS
    fix = f"begin it at {after.first_from(earliest_ms)} or later, 24 hours from now; {otherwise}"
    return early_bumps(token, before, after, now_ms, earliest_ms, fix)


# -- the files of manifests --------------------------------------------------------------------------------------------


def manifest_file(service: str, folder: Path = FOLDER) -> Path:
    """The path of a service's manifest."""
    return folder / f"{service}.json"


def read_manifest(service: str, folder: Path = FOLDER) -> Manifest | None:
    """The manifest of a service, or None if it was never deployed. Raises ConfigurationError."""
    file = manifest_file(service, folder)
    if not file.exists():
        return None
    try:
        return decode_manifest(file.read_text())
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(
            "it can't be read", where=f"{folder.name}/{file.name}", fix="take it from version control again"
        ) from None


def write_manifest(service: str, manifest: Manifest, folder: Path = FOLDER) -> Path:
    """Replace a service's manifest."""
    folder.mkdir(exist_ok=True)
    file = manifest_file(service, folder)
    file.write_text(encode_manifest(manifest))
    return file


def with_waves(deployed: Manifest, wanted: Manifest) -> Manifest:
    """The deployed manifest, with a note that the index changes are intended, in waves."""
    return replace(deployed, waves=index_changes(deployed.indexes, wanted.indexes))
