"""What is provisioned: one construct a file, put together in `provision`, and the commands that deploy it.

`ShardweaveStack` is a deployment by itself, `ShardweaveService` one within a stack of another app. They are loaded when
they are asked for, since the CDK is.
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
