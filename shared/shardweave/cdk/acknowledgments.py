"""Exceptions from AWS's published rules (cdk-nag), each for one finding of one construct, with the reason."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, finding: str, reason: str) -> None:
    """Accept a finding such as `AwsSolutions-IAM5[Resource::*]` of a construct and of those below it."""
    rules = finding.partition("-")[0]
    Validations.of(construct).acknowledge(Acknowledgment(id=f"{rules}::{finding}", reason=reason))
