"""The API. What is imported is no garbage, so the collector rests while `handler` is: a tenth of a cold start."""

import gc

from shardweave.service import dataclass_code

gc.disable()
dataclass_code.use()
