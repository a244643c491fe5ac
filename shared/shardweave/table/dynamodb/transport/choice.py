"""Choosing the transport: whether the direct transport can be used, or botocore is needed.

The direct transport supports only keys in the environment, a region of the public partition or a plain address, and a
file of certificates. If anything else in the environment could affect botocore, botocore is used. So this module lists
settings that are known to be harmless, and not those that matter: an unknown variable could, for example, select
another table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ....errors import ConfigurationError
from .endpoint import Place, place_of
from .signing import DYNAMODB, Credentials, Service

VARIABLE = "SHARDWEAVE_TRANSPORT"
"""The environment variable whose value `botocore` selects botocore for everything."""

TRANSPORTS = ("auto", "direct", "botocore")

UNDERSTOOD = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_SECURITY_TOKEN",
        "AWS_DEFAULT_REGION",
        "AWS_CA_BUNDLE",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_DYNAMODB",
        "AWS_ENDPOINT_URL_SECRETS_MANAGER",
    }
)
MEANS_NOTHING = frozenset(
    {
        "AWS_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_EC2_METADATA_DISABLED",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
        "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_LAMBDA_FUNCTION_VERSION",
        "AWS_LAMBDA_INITIALIZATION_TYPE",
        "AWS_LAMBDA_LOG_FORMAT",
        "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_LEVEL",
        "AWS_LAMBDA_LOG_STREAM_NAME",
        "AWS_LAMBDA_MAX_CONCURRENCY",
        "AWS_LAMBDA_METADATA_API",
        "AWS_LAMBDA_METADATA_TOKEN",
        "AWS_LAMBDA_RUNTIME_API",
        "AWS_XRAY_CONTEXT_MISSING",
        "AWS_XRAY_DAEMON_ADDRESS",
    }
)
"""Variables of a Lambda function that botocore does not use for DynamoDB if keys are in the environment."""

CHANGES_BOTOCORE = (
    "moto",
    "botocore.stub",
    "aws_xray_sdk",
    "opentelemetry.instrumentation.botocore",
    "ddtrace",
    "localstack_client",
)
"""Modules that intercept botocore's requests: if one is loaded, botocore must be used."""

_TABLE = re.compile(r"[A-Za-z0-9_.\-]{1,255}")
_PUBLIC_REGION = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z0-9_]+-[0-9]+")


@dataclass(frozen=True)
class Surroundings:
    """The environment of the process."""

    variables: Mapping[str, str]
    modules: Collection[str]
    home: Path
    exists: Callable[[Path], bool] = Path.exists

    @classmethod
    def of_process(cls, variables: Mapping[str, str]) -> Surroundings:
        return cls(variables, sys.modules, Path.home())


@dataclass(frozen=True)
class Direct:
    """The settings of the direct transport."""

    place: Place
    region: str
    credentials: Credentials
    trusted: str | None


def direct_or_why_not(
    around: Surroundings,
    table: str,
    region: str | None,
    endpoint_url: str | None,
    *,
    modules_matter: bool = True,
    service: Service = DYNAMODB,
) -> Direct | str:
    """The settings of the direct transport, or the reason why botocore is needed. `table` is the name of the table or
    secret."""
    variables = around.variables
    reason = _unknown_variable(variables) or _unknown_file(around)
    if not reason and modules_matter:
        reason = next((f"the module {name} is loaded" for name in CHANGES_BOTOCORE if name in around.modules), "")
    if not reason and not _TABLE.fullmatch(table):
        reason = "the table is not given by a plain name"
    region = region or variables.get("AWS_DEFAULT_REGION") or ""
    if not reason and not _PUBLIC_REGION.fullmatch(region):
        reason = "the region is not one of the public partition"
    place = place_of(
        endpoint_url or _configured(variables, service) or f"https://{service.name}.{region}.amazonaws.com"
    )
    if not reason and place is None:
        reason = "the endpoint is more than a plain host and port"
    access, secret = variables.get("AWS_ACCESS_KEY_ID"), variables.get("AWS_SECRET_ACCESS_KEY")
    if not reason and not (access and secret):
        reason = "no pair of keys is in the environment"
    if reason:
        return reason
    assert place is not None
    assert access
    assert secret
    token = variables.get("AWS_SECURITY_TOKEN") or variables.get("AWS_SESSION_TOKEN") or None
    try:
        credentials = Credentials(access, secret, token)
    except ConfigurationError:
        return "the keys hold what no key holds"
    return Direct(place, region, credentials, variables.get("AWS_CA_BUNDLE") or variables.get("REQUESTS_CA_BUNDLE"))


def _configured(variables: Mapping[str, str], service: Service) -> str | None:
    """The endpoint in the environment for a service, else the one for all services."""
    return variables.get(f"AWS_ENDPOINT_URL_{service.variable}", variables.get("AWS_ENDPOINT_URL"))


def wanted(transport: str, variables: Mapping[str, str]) -> str:
    """The requested transport. Raises ConfigurationError."""
    for where, value in (("transport", transport), (VARIABLE, variables.get(VARIABLE) or "auto")):
        if value not in TRANSPORTS or (where == VARIABLE and value == "direct"):
            known = "auto or botocore" if where == VARIABLE else "auto, direct or botocore"
            raise ConfigurationError("there is no such transport", where=where, fix=f"set it to {known}")
    return "botocore" if "botocore" in (transport, variables.get(VARIABLE)) else transport


def _unknown_variable(variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        upper = name.upper()
        if upper.startswith(("AWS_", "BOTO")) and name not in UNDERSTOOD | MEANS_NOTHING:
            return f"{name} is set"
        if upper.endswith("_PROXY") and upper != "NO_PROXY" and value:
            return f"{name} is set"
        if upper.startswith("AWS_ENDPOINT_URL") and not value:
            return f"{name} is empty"
        if name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE") and not Path(value).is_file():
            return f"{name} is not a file"
    if sys.platform in ("darwin", "win32"):
        from urllib.request import getproxies

        if getproxies():
            return "the system has proxies"
    return ""


def _unknown_file(around: Surroundings) -> str:
    for name in ("config", "credentials"):
        if around.exists(around.home / ".aws" / name):
            return f"there is a file ~/.aws/{name}"
    return ""
