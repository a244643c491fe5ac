"""The manifest beside a table: what is read is what was declared, so that a declaration differs only where it does."""

from __future__ import annotations

from itertools import permutations

import pytest

from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.manifest import decode_manifest, encode_manifest, manifest_of
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema


class Book(Entity, token="book"):
    """A book that is lent for a while."""

    book_id: str = unique_property()
    title: str
    author: str
    price: int = 0
    pages: int = 0
    ends: int | None = ttl_property()

    author_hash_key = HashKey("author")


def of(projection: object) -> Schema:
    return Schema([Book], [Index("byAuthor", "author_hash_key", "title", projection=projection)])  # type: ignore[arg-type]


@pytest.mark.parametrize("projection", ["ALL", "KEYS_ONLY", *permutations(["price", "pages", "ends"])])
def test_a_manifest_that_is_read_is_the_one_that_is_declared(projection: object) -> None:
    declared = manifest_of(of(projection))
    assert decode_manifest(encode_manifest(declared)) == declared


def test_the_order_in_which_a_projection_names_properties_says_nothing() -> None:
    assert manifest_of(of(["price", "pages"])) == manifest_of(of(["pages", "price"]))
