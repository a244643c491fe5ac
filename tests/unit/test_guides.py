"""What the guides show is what happens: their examples are run in their order, and print what stands there."""

from __future__ import annotations

import pytest

from .guide_page import run_page

GUIDES = {
    "modelling.md": 14,
    "writing.md": 22,
    "querying.md": 19,
    "relations-and-lookups.md": 10,
    "read-models.md": 20,
    "changing-a-schema.md": 4,
    "types.md": 2,
    "bringing-a-table-in.md": 1,
    "comparing.md": 1,
    "graphql.md": 1,
}
"""The guides whose examples need nothing but the library, and how many there are at least."""


@pytest.mark.parametrize("name", GUIDES)
def test_the_examples_of_a_guide(name: str) -> None:
    count, _ = run_page(name)
    assert count >= GUIDES[name]
