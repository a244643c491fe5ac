"""What is wrong with lookups, sequences and relations is found when the schema is built, each with its fix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardweave import claim_property
from shardweave.errors import SchemaError
from shardweave.schema.declarations import Index, Lookup, Sequence, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey, nanoid
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema


class Author(Entity, token="author"):
    """Somebody who writes books."""

    author_id: str = unique_property(default_factory=nanoid)
    pen_name: str | None = None
    country: str | None = None

    pen_name_lookup = Unique("pen_name", within="country")
    country_hash_key = HashKey("country")


class Chapter(Entity, token="chapter", partition="book_id", sort="number"):
    """Found by two properties."""

    book_id: str
    number: int


def faults_of(**declared: Any) -> list[str]:
    """The faults of a book with these declarations."""
    Book = type(  # noqa: N806
        "Book",
        (Entity,),
        {
            "__module__": __name__,
            "__doc__": "A book.",
            "__annotations__": {
                "book_id": str,
                "title": str,
                "pages": int,
                "price": float,
                "author_id": "str | None",
                "author_ids": "list[str] | None",
                "numbers": "list[int] | None",
                "expires": "int | None",
            },
            "book_id": unique_property(),
            "expires": ttl_property(),
            **declared,
        },
        token="book",
    )
    try:
        Schema(entities=[Book, Author, Chapter], indexes=[Index("country", "country_hash_key", "range_key")])
    except SchemaError as error:
        return [str(fault) for fault in error.faults]
    return []


RIGHT: dict[str, Callable[[], Any]] = {
    "unique": lambda: Unique("title"),
    "unique within": lambda: Unique("title", within=("author_id", "pages"), name="titled"),
    "lookup": lambda: Lookup("author_id"),
    "sequence": lambda: Sequence("pages", within="author_id"),
    "by id": lambda: belongs_to(Author, by="author_id"),
    "by token": lambda: belongs_to("author", by="author_id"),
    "by a lookup of two": lambda: belongs_to(Author, by=("author_id", "title"), on="pen_name"),
    "by an index": lambda: belongs_to(Author, by="author_id", on="country", index="country"),
    "by two properties": lambda: belongs_to(Chapter, by=("book_id", "pages")),
    "many": lambda: has_many(Author, by="author_ids"),
}


@pytest.mark.parametrize("declaration", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_right_has_no_fault(declaration: Callable[[], Any]) -> None:
    assert faults_of(related=declaration()) == []


WRONG: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "unknown property": (lambda: {"a": Unique("name")}, "a: there is no property 'name'"),
    "unknown scope": (lambda: {"a": Lookup("title", within="name")}, "a: there is no property 'name'"),
    "property twice": (lambda: {"a": Unique("title", within="title")}, "'title' stands 2 times"),
    "no text": (lambda: {"a": Unique("price")}, "'price' has no order-preserving text"),
    "one name twice": (lambda: {"a": Unique("title"), "b": Lookup("title")}, "'title' names 2 lookups"),
    "the identity's name": (lambda: {"a": Unique("book_id")}, "'bookId' names the identity"),
    "no name": (lambda: {"a": Unique("title", name="a.b")}, "'a.b' is not a valid name"),
    "not a number": (lambda: {"a": Sequence("title")}, "'title' can't be numbered"),
    "a role": (lambda: {"a": Sequence("expires")}, "'expires' can't be numbered"),
    "numbered twice": (lambda: {"a": Sequence("pages"), "b": Sequence("pages")}, "'pages' is numbered twice"),
    "no target": (lambda: {"a": belongs_to("nobody", by="author_id")}, "'nobody' is not in the schema"),
    "no by": (lambda: {"a": belongs_to(Author, by="writer")}, "there is no property 'writer'"),
    "too few": (lambda: {"a": belongs_to(Chapter, by="book_id")}, "found by book_id, number, and `by` names book_id"),
    "a number for text": (lambda: {"a": belongs_to(Author, by="pages")}, "'pages' holds a number, and the target's"),
    "text for a number": (lambda: {"a": belongs_to(Chapter, by=("book_id", "title"))}, "'title' holds text, and the"),
    "numbers for texts": (lambda: {"a": has_many(Author, by="numbers")}, "'numbers' holds a number, and the target's"),
    "its id as a lookup": (lambda: {"a": belongs_to(Author, by="title", on="author_id")}, "leave `on` out"),
    "no on": (lambda: {"a": belongs_to(Author, by="author_id", on="x")}, "the target has no property 'x'"),
    "no lookup": (lambda: {"a": belongs_to(Author, by="author_id", on="country")}, "no Unique finds the target"),
    "no index": (lambda: {"a": belongs_to(Author, by="author_id", on="country", index="x")}, "one of country"),
    "no list": (lambda: {"a": has_many(Author, by="author_id")}, "'author_id' is not a list"),
    "many by two": (
        lambda: {"a": has_many(Author, by=("author_ids", "title"))},
        "a: its target is identified by author_id, and `by` names",
    ),
    "unique by two": (lambda: {"a": Unique(["title", "pages"])}, "a: it takes the name of one property"),  # type: ignore[arg-type]
    "many of two": (lambda: {"a": has_many(Chapter, by="author_ids")}, "its target is identified by book_id, number"),
    "a property": (lambda: {"authorId": belongs_to(Author, by="title")}, "'authorId' is already a property"),
    "enforced by lookup": (
        lambda: {"a": belongs_to(Author, by=("author_id", "title"), on="pen_name", enforced=True)},
        "only a relation by identity can be enforced",
    ),
    "enforced or not, who knows": (
        lambda: {"a": belongs_to(Author, by="author_id", enforced="no")},  # type: ignore[arg-type]
        "must be a bool, got str",
    ),
    "enforced and expiring": (
        lambda: {"a": belongs_to(Author, by="author_id", enforced=True)},
        "records that expire can't be enforced children",
    ),
}


@pytest.mark.parametrize(("declared", "fault"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_named(declared: Callable[[], dict[str, Any]], fault: str) -> None:
    found = faults_of(**declared())
    assert any(fault in each for each in found), found
    assert all("entity Book" in each for each in found)


def test_a_singleton_is_found_without_a_lookup() -> None:
    class Settings(Entity, token="settings", singleton=True):
        """The one of its kind."""

        colour: str

        colour_lookup = Unique("colour")

    with pytest.raises(SchemaError, match="a singleton is found without a lookup"):
        Schema(entities=[Settings])


def test_what_a_cascade_of_a_tenants_records_needs_is_said_so_that_it_can_be_declared() -> None:
    class Folder(Entity, token="folder"):
        """Its tenant is not in its identity."""

        folder_id: str = unique_property(default_factory=nanoid)
        tenant_id: str = claim_property("tenant")

    class Page(Entity, token="page"):
        """Goes with its folder."""

        page_id: str = unique_property(default_factory=nanoid)
        tenant_id: str = claim_property("tenant")
        folder_id: str

        pages = Lookup("folder_id", within="tenant_id")
        folder = belongs_to(Folder, by="folder_id", enforced=True, on_delete="cascade")

    with pytest.raises(SchemaError) as refused:
        Schema(entities=[Folder, Page])
    (fault,) = refused.value.faults
    assert fault.fix == (
        "let tenant_id be in the partition of Folder and in `by`, before folder_id, "
        "and declare Lookup('folder_id', within=('tenant_id',))"
    )

    class Shelf(Entity, token="shelf", partition="tenant_id"):
        """Its tenant is in its identity."""

        tenant_id: str = claim_property("tenant")
        shelf_id: str = unique_property(default_factory=nanoid)

    class Book(Entity, token="book"):
        """Goes with its shelf."""

        book_id: str = unique_property(default_factory=nanoid)
        tenant_id: str = claim_property("tenant")
        shelf_id: str

        books = Lookup("shelf_id", within=("tenant_id",))
        shelf = belongs_to(Shelf, by=("tenant_id", "shelf_id"), enforced=True, on_delete="cascade")

    assert Schema(entities=[Shelf, Book]).models
