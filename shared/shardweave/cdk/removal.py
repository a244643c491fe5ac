"""What happens to a resource when its stack is deleted.

Resources with data of a protected stage are kept, but not before they can have data: a creation that fails is rolled
back completely, so that it can be repeated under the same names.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy


def kept_when_made(protected: bool) -> RemovalPolicy:
    """The removal policy of a resource with data."""
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if protected else RemovalPolicy.DESTROY
