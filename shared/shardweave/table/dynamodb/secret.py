"""Reading a secret of Secrets Manager, over the direct transport if it supports the process's environment, or
botocore."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError, ShardweaveError, TableUnavailable
from .attempts import Attempts
from .transport.choice import Direct, Surroundings, direct_or_why_not, wanted
from .transport.direct import DirectTransport
from .transport.endpoint import HostEndpoint
from .transport.exchange import Call
from .transport.signing import SECRETS_MANAGER, Signer

if TYPE_CHECKING:
    from botocore.session import Session

CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 2.0, 5.0, 3
_METHOD, _SECRET = "get_secret_value", "SecretString"


def read_secret(secret_id: str, session: Callable[[], Session], around: Surroundings | None = None) -> str:
    """The text of a secret. `session` returns botocore's session if it is needed; `around` is the process's
    environment, by default the current one. Raises ConfigurationError if the secret can't be read; the error does not
    contain it."""
    around = around or Surroundings.of_process(os.environ)
    found: Direct | str = "botocore is asked for"
    if wanted("auto", around.variables) != "botocore":
        found = direct_or_why_not(around, "secret", None, None, service=SECRETS_MANAGER)
    text, reason = _read(found, secret_id) if isinstance(found, Direct) else _read_by_botocore(session(), secret_id)
    if text is None:
        fix = "let it exist, and let the function's role read it"
        raise ConfigurationError(f"the secret can't be read ({reason})", where=secret_id, fix=fix)
    return text


def _read(found: Direct, secret_id: str) -> tuple[str | None, str]:
    transport = DirectTransport(
        "",
        ("", ""),
        HostEndpoint(found.place, found.trusted),
        Signer(found.credentials, found.region, found.place.header, SECRETS_MANAGER),
        needs_checksum=False,
        connections=1,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        max_attempts=ATTEMPTS,
    )
    body = json.dumps({"SecretId": secret_id}).encode()
    try:
        return transport.call(Call(_METHOD, "GetSecretValue", body, _text, Attempts())), ""
    except ShardweaveError as error:
        return None, type(error).__name__
    finally:
        transport.close()


def _text(body: Mapping[str, Any]) -> str:
    text = body.get(_SECRET)
    if not isinstance(text, str):
        raise TableUnavailable("the secret has no text", where=_METHOD)
    return text


def _read_by_botocore(session: Session, secret_id: str) -> tuple[str | None, str]:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    config = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries=retries)
    try:
        client = session.create_client("secretsmanager", config=config)
        try:
            return str(client.get_secret_value(SecretId=secret_id)[_SECRET]), ""
        finally:
            client.close()
    except ClientError as error:
        return None, str(error.response.get("Error", {}).get("Code", "no reason"))
    except (BotoCoreError, KeyError) as error:
        return None, type(error).__name__
