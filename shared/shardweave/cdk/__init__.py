"""Deployment: the resources of a stage, one construct a file, combined in `provision`, and the commands that deploy
them.

`ShardweaveStack` is a complete deployment, `ShardweaveService` a deployment within a stack of another app. They are
loaded when they are first used, since they import the CDK.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .configuration import Configuration
    from .service_construct import ShardweaveService
    from .stack import ShardweaveStack

__all__ = ["Configuration", "ShardweaveService", "ShardweaveStack"]

_MODULES = {
    "Configuration": "configuration",
    "ShardweaveService": "service_construct",
    "ShardweaveStack": "stack",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
