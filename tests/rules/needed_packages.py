"""What each part of the library may import of other packages: what every installation has, and what its extra brings.

Imports that are only made when a function is called count as well: they fail where the package is not installed.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .project_rules import Tree

LIBRARY = "shared/shardweave/"
ALWAYS = {"boto3", "botocore", "cryptography", "pydantic", "pydantic_core", "typing_extensions"}
API = {"aws_lambda_powertools"}
BESIDE = {
    "api/": API,
    "api/graphql/": {"graphql"},
    "cdk/": {"aws_cdk", "constructs", "jsii", "uv"},
    "cli/": {"rich", "uv"},
    "database/event_loop.py": {"greenlet"},
    "local/": API | {"httptools", "rich", "uvicorn"},
    "table/dynamodb/transport/endpoint.py": {"certifi"},
    "testing.py": {"pytest"},
}
"""By the beginning of a module's name. `cli` looks whether there is a `uv` before it takes it, and the transport does
without `certifi`."""


def packages_without_an_extra(tree: Tree) -> list[str]:
    """A part imports what it is installed with."""
    return [
        f"{name}: imports {package}, which is not installed with it"
        for name, module in tree.modules(LIBRARY.rstrip("/"))
        for package in sorted(_packages(module) - ALWAYS - _beside(name.removeprefix(LIBRARY)))
    ]


def _beside(name: str) -> set[str]:
    return set().union(*(packages for begin, packages in BESIDE.items() if name.startswith(begin)))


def _packages(module: ast.Module) -> set[str]:
    """The packages of others that a module imports, at any time."""
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module or "")
    return {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"shardweave"}
