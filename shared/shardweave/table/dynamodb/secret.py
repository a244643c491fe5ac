"""A secret of Secrets Manager. Its client shares the table's session, and with it most of what making one costs."""

from __future__ import annotations

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from ...errors import ConfigurationError


def read_secret(session: Session, secret_id: str) -> str:
    """The text of a secret. Raises ConfigurationError when it can't be had; the error does not show it."""
    config = Config(connect_timeout=2.0, read_timeout=5.0, retries={"mode": "standard", "total_max_attempts": 3})
    try:
        client = session.create_client("secretsmanager", config=config)
        try:
            return str(client.get_secret_value(SecretId=secret_id)["SecretString"])
        finally:
            client.close()
    except ClientError as error:
        reason = str(error.response.get("Error", {}).get("Code", "no reason"))
    except (BotoCoreError, KeyError) as error:
        reason = type(error).__name__
    raise ConfigurationError(
        f"the secret can't be read ({reason})", where=secret_id, fix="let it exist, and let the function's role read it"
    )
