"""The signature of requests to an API behind an authorizer of AWS credentials (Signature Version 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...errors import ConfigurationError

if TYPE_CHECKING:
    from botocore.session import Session

SERVICE = "execute-api"


def gateway_signer(
    session: Session, region: str | None = None
) -> Callable[[str, str, bytes, Mapping[str, str]], dict[str, str]]:
    """A function that gives the headers that sign a request (method, URL, body, headers), with the credentials that
    the session finds. Raises ConfigurationError when it finds none, or no region."""
    found, where = session.get_credentials(), region or session.get_config_variable("region")
    if found is None:
        fix = "configure a profile, or give a token"
        raise ConfigurationError("there are no AWS credentials", where="credentials", fix=fix)
    if not where:
        raise ConfigurationError("there is no AWS region", where="--region", fix="give the region of the API")

    def sign(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest(method, url, data=body, headers=dict(headers))
        SigV4Auth(found.get_frozen_credentials(), SERVICE, where).add_auth(request)
        return dict(request.headers.items())

    return sign
