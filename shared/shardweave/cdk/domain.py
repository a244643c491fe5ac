"""A custom domain of the API: its name at the gateway, with a certificate of the same region.

The DNS record may be managed anywhere: the outputs contain the target for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import CfnOutput
from aws_cdk import aws_apigatewayv2 as http
from aws_cdk import aws_certificatemanager as certificates
from constructs import Construct

from ..errors import ConfigurationError

_NAME = re.compile(r"(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")
_CERTIFICATE = re.compile(r"arn:[\w-]+:acm:[a-z0-9-]+:\d{12}:certificate/[\w-]+")


@dataclass(frozen=True)
class DomainName:
    """A name and the ARN of the certificate for it."""

    name: str
    certificate: str


def domain_of(given: Mapping[str, str]) -> DomainName | None:
    """The choices `domain` and `certificate`, which go together. Raises ConfigurationError."""
    name, certificate = given["domain"], given["certificate"]
    if not name and not certificate:
        return None
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name[:80]!r} is not the name of a domain." if name else "a certificate says nothing without a domain.",
            where="context `domain`" if name else "context `certificate`",
            fix="use one in small letters, like -c domain=api.example.com, or leave both out",
        )
    if not _CERTIFICATE.fullmatch(certificate):
        raise ConfigurationError(
            f"{certificate[:120]!r} is not the ARN of a certificate." if certificate else "a domain has a certificate.",
            where="context `certificate`" if certificate else "context `domain`",
            fix="use one of AWS Certificate Manager: -c certificate=arn:aws:acm:eu-west-1:123456789012:certificate/...",
        )
    return DomainName(name, certificate)


class Domain(Construct):
    """The domain name, mapped to a stage of the API."""

    def __init__(
        self, scope: Construct, construct_id: str, *, domain: DomainName, api: http.IHttpApi, stage: http.IStage
    ) -> None:
        super().__init__(scope, construct_id)
        certificate = certificates.Certificate.from_certificate_arn(self, "Certificate", domain.certificate)
        self.name = http.DomainName(
            self,
            "Name",
            domain_name=domain.name,
            certificate=certificate,
            security_policy=http.SecurityPolicy.TLS_1_2,
        )
        http.ApiMapping(self, "Mapping", api=api, domain_name=self.name, stage=stage)
        target = CfnOutput(
            self,
            "Target",
            value=self.name.regional_domain_name,
            description=f"Where the DNS record of {domain.name} leads (CNAME, or an alias)",
        )
        target.override_logical_id("DomainTarget")
