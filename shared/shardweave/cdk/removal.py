"""What becomes of a resource when its stack goes.

What holds data of a protected stage is kept, but not before it can hold any: a creation that fails takes back what it
has made, so that it can be repeated under the same names.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy


def kept_when_made(protected: bool) -> RemovalPolicy:
    """The policy of what holds data."""
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if protected else RemovalPolicy.DESTROY
