"""The rotator: turns a key ring, so that secrets do not live for ever.

The event names the secret, the turn, and how many retired keys stay (all, when it does not say). Of the rings in
KEPT_WHOLE all stay: what their keys signed is valid for ever, so an event that says otherwise is refused. A turn that
is asked for again right after it changes nothing. The answer and the log have the names of keys, never a secret.
"""

from __future__ import annotations

import os
import secrets
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from shardweave.errors import ConfigurationError
from shardweave.keys.shard_key.key_ring import decode_key_ring, encode_key_ring

SECRET_BYTES = 32

logger = Logger(service=os.environ.get("SERVICE"))
metrics = Metrics(namespace="Shardweave", service=os.environ.get("SERVICE"))
metrics.set_default_dimensions(stage=os.environ.get("STAGE", "dev"))


@logger.inject_lambda_context(log_event=False)
@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Turn one key ring."""
    from aws_lambda_powertools.utilities.parameters import get_secret, set_secret

    name: str = event["secret"]
    if event.get("keep") is not None and name in os.environ.get("KEPT_WHOLE", "").split(","):
        raise ConfigurationError("keys of this ring stay for ever", where="keep", fix="leave it out")
    ring = decode_key_ring(str(get_secret(name, force_fetch=True)), where="key ring")
    turned = ring.turned(event["turn"], secrets.token_bytes(SECRET_BYTES), keep=event.get("keep"))
    if turned != ring:
        set_secret(name, encode_key_ring(turned))
    answer = {"turn": turned.turn, "current": turned.current, "keys": list(turned.secrets)}
    logger.info("turned", extra=answer)
    metrics.add_metric("KeyRingsTurned", MetricUnit.Count, int(turned != ring))
    return answer
