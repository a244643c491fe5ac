"""The account and the region of a stage, if the choices fix them; others are refused before anything is done. Resources
named by ARN (a topic, a certificate, a key, a table) must be in the stage's region."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import ConfigurationError

_ACCOUNT = re.compile(r"\d{12}")
_REGION = re.compile(r"[a-z]{2,3}(-[a-z]+)+-\d{1,2}")
_OF_REGION = ("alarmTopic", "certificate", "encryptionKey", "table")


@dataclass(frozen=True)
class Target:
    """The account and region in which a stage may be deployed; empty for any."""

    account: str = ""
    region: str = ""

    def region_unless(self, variables: Mapping[str, str]) -> str | None:
        """The fixed region, if the AWS tools' variables name none."""
        said = any(name in variables for name in ("AWS_REGION", "AWS_DEFAULT_REGION"))
        return None if said else self.region or None

    def check(self, account: str, region: str | None) -> None:
        """Refuse an account or region other than the fixed ones. Raises ConfigurationError."""
        for choice, pinned, given in (("account", self.account, account), ("region", self.region, region)):
            if pinned and pinned != given:
                raise ConfigurationError(
                    f"the {choice} is {given or 'not said'}, and the stage belongs to {pinned}.",
                    where=f"context `{choice}`",
                    fix=f"use --profile and --region of the stage's, or -c {choice}={given or '...'} if it is to move",
                )


def target_of(given: Mapping[str, str]) -> Target:
    """The choices `account` and `region`. Raises ConfigurationError."""
    if given["account"] and not _ACCOUNT.fullmatch(given["account"]):
        raise ConfigurationError(
            f"{given['account'][:40]!r} is not the number of an account.",
            where="context `account`",
            fix="use its 12 digits, such as 123456789012, or leave it out",
        )
    if given["region"] and not _REGION.fullmatch(given["region"]):
        raise ConfigurationError(
            f"{given['region'][:40]!r} is not the name of a region.",
            where="context `region`",
            fix="use one like eu-west-1, or leave it out",
        )
    if given["region"]:
        check_regions(given, given["region"])
    return Target(given["account"], given["region"])


def check_regions(given: Mapping[str, str], region: str | None) -> None:
    """Refuse ARNs of another region than the stage's. Raises ConfigurationError."""
    for choice in _OF_REGION:
        arn = given.get(choice, "")
        other = arn.split(":")[3] if arn.count(":") >= 5 else ""
        if other and other != region:
            raise ConfigurationError(
                f"it is in {other[:40]}, and the stage in {region}.",
                where=f"context `{choice}`",
                fix=f"use one of {region}, or deploy to {other[:40]}",
            )
