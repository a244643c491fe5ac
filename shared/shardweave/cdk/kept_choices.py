"""The choices of a stage, kept in the stack's outputs, so that a later deployment need not repeat them.

Format of the output `Choices`: a JSON object of the choices that are not the defaults, by their names. Kept are the
choices that belong to the stage: where it runs, who may call, who gets alarms, and limits. Choices about how a template
is made (layer, assets, waves) belong to one run.

A given choice takes precedence over a kept one, also if it is given as the default. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

OUTPUT = "Choices"
OF_A_RUN = frozenset({"service", "stage", "layer", "assets", "deployWith", "indexes", "hidden", "protection", "waves"})


def encode_choices(given: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """The text of the output."""
    kept = {name: value for name, value in given.items() if name not in OF_A_RUN and value != defaults[name]}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"))


def kept_choices(outputs: Mapping[str, str], given: Collection[str], known: Collection[str]) -> dict[str, str]:
    """The choices of the last deployment that are not given now. Choices that this version does not know are left
    out."""
    kept = json.loads(outputs.get(OUTPUT, "{}"))
    return {name: str(value) for name, value in kept.items() if name in known and name not in given}
