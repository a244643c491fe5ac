"""What every test gets: hypothesis profiles.

`ci` (the default) tries the same examples in every run, so a failure can be repeated; `thorough` tries fifty times as
many, at random: `HYPOTHESIS_PROFILE=thorough ./run test unit`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
