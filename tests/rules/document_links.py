"""Links between the documents lead somewhere: to a file of the repository, and to a heading that it has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .project_rules import Tree

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z]+:")


def broken_links(tree: Tree) -> list[str]:
    """A link of a document leads to a file that is there, and to a heading that the file has."""
    documents = {path.resolve(): path.read_text(encoding="utf-8") for path in tree.files if path.suffix == ".md"}
    anchors = {path: set(_anchors(text)) for path, text in documents.items()}
    breaches = []
    for path, text in documents.items():
        for target in _LINK.findall(_FENCE.sub("", text)):
            if _ELSEWHERE.match(target):
                continue
            file, _, anchor = target.partition("#")
            found = (path.parent / file).resolve() if file else path
            if not found.exists() or (anchor and anchor not in anchors.get(found, set())):
                breaches.append(f"{tree.name(path)}: there is no {target}")
    return breaches


def _anchors(text: str) -> Iterator[str]:
    """What GitHub calls the headings of a document: lower case, without punctuation, numbered where they repeat."""
    seen: Counter[str] = Counter()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        yield anchor if not seen[anchor] else f"{anchor}-{seen[anchor]}"
        seen[anchor] += 1
