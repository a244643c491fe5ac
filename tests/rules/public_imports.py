"""What documents, examples and services that ship import of the library is what it names for that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .project_rules import Tree

PUBLIC = {"shardweave", "shardweave.cdk", "shardweave.routing", "shardweave.testing"}
PLACES = ("docs/", "examples/", "shared/services/", "README.md")
_IMPORT = re.compile(r"^[ \t]*(?:>>> |\.\.\. )?(?:from|import) (shardweave[\w.]*)", re.MULTILINE)


def inner_imports(tree: Tree) -> list[str]:
    """Who reads a document or a service sees only what may be imported."""
    breaches = []
    for path in tree.files:
        name = tree.name(path)
        if path.suffix in (".py", ".md") and name.startswith(PLACES):
            found = _IMPORT.findall(path.read_text(encoding="utf-8"))
            breaches += [f"{name}: imports {module}" for module in found if module not in PUBLIC]
    return breaches
