"""What a stage was deployed with: kept in the stack's outputs, so that a later deployment need not say it again.

Format of the output `Choices`: a JSON object of the choices that are not the defaults, by their names. Where the stage
runs, who may call, who is told of alarms and what is the most belongs to the stage; how a template is made (layer,
assets, waves) belongs to each run.

A choice that is given wins over one that is kept, also when it is given as the default. Pure.
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
    """The choices of the last deployment that are not given now. What this version does not know is left out."""
    kept = json.loads(outputs.get(OUTPUT, "{}"))
    return {name: str(value) for name, value in kept.items() if name in known and name not in given}
