"""`./run manifest`: what has been deployed of each service, as it is committed, against what is declared now.

Without an option it says what stands against the next deployment; the exit code is 1 when something does.
"""

from __future__ import annotations

import argparse
import sys

from infra.manifest import (
    faults,
    index_changes,
    read_manifest,
    wave_faults,
    with_waves,
    write_manifest,
)
from infra.sources import ROOT
from shardweave.errors import ShardweaveError
from shardweave.key_format import ORDERED
from shardweave.manifest import manifest_of
from shardweave.service_modules import service_names, service_schema


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./run manifest",
        description="Compare what is declared with what has been deployed (infra/manifests/, which is committed).",
    )
    parser.add_argument("service", nargs="*", help="the modules in shared/services/ (default: all)")
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--write", action="store_true", help="what is declared has been deployed: write it down")
    change.add_argument("--waves", action="store_true", help="agree to several index changes, rolled out one by one")
    options = parser.parse_args(arguments)
    try:
        return max(
            show(service, write=options.write, waves=options.waves) for service in options.service or service_names()
        )
    except ShardweaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def show(service: str, *, write: bool, waves: bool) -> int:
    """What a service's manifest says, after the change that was asked for."""
    wanted = manifest_of(service_schema(service, ORDERED))
    if write:
        print(f"{service}: written to {write_manifest(service, wanted).relative_to(ROOT)}; commit it")
        return 0
    deployed = read_manifest(service)
    if deployed is None:
        print(f"{service}: never deployed")
        return 0
    if waves:
        deployed = with_waves(deployed, wanted)
        print(f"{service}: written to {write_manifest(service, deployed).relative_to(ROOT)}; commit it")
    found = [*faults(deployed, wanted), *wave_faults(deployed, wanted)]
    changes = index_changes(deployed.indexes, wanted.indexes)
    print(f"{service}: +{len(changes.create)} -{len(changes.delete)} indexes, {len(found)} fault(s)")
    for fault in found:
        print(f"  - {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
