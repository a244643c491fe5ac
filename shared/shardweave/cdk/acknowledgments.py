"""Exceptions from AWS's published rules (cdk-nag). Each is for one finding of one construct, and says why."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, finding: str, reason: str) -> None:
    """Let a finding such as `AwsSolutions-IAM5[Resource::*]` stand for a construct and what is below it."""
    rules = finding.partition("-")[0]
    Validations.of(construct).acknowledge(Acknowledgment(id=f"{rules}::{finding}", reason=reason))
