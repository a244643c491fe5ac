"""docs/modelling.md lists all that can be declared: what the code has and the page has not is noticed."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable

import pytest

import shardweave
from shardweave import KeyFormat, Schema, ShardBump, unique_property
from shardweave.keys import key_format
from shardweave.schema.declarations import BelongsTo, HasMany, Index
from shardweave.schema.entity import Declaration, Entity
from shardweave.schema.entity_options import KEYWORDS
from shardweave.schema.property import properties_of
from shardweave.schema.property_options import Role

from .guide_page import page_text

PAGE = page_text("modelling.md")


def section(title: str) -> str:
    """What stands below a heading, up to the next one of its level."""
    marks = re.search(rf"^(#+) {re.escape(title)}$", PAGE, re.MULTILINE)
    assert marks is not None, title
    rest = PAGE[marks.end() :]
    end = re.search(rf"^#{{1,{len(marks[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def first_cells(text: str) -> list[str]:
    """The code that begins each row of a section's tables, up to a parenthesis."""
    rows = re.findall(r"^\| (`.*?`(?:, `.*?`)*) \|", text, re.MULTILINE)
    return [name.partition("(")[0] for row in rows for name in re.findall(r"`(.*?)`", row)]


def kinds_of_declarations(base: type[Declaration] = Declaration) -> Iterable[type[Declaration]]:
    for each in base.__subclasses__():
        yield from kinds_of_declarations(each)
        if not each.__name__.startswith("_"):
            yield each


def test_every_class_keyword_is_listed() -> None:
    assert first_cells(section("Class keywords")) == list(KEYWORDS)


def test_every_property_function_is_listed() -> None:
    functions = [name for name in shardweave.__all__ if name.endswith("_property")]
    listed = first_cells(section("Property functions").partition("**Types.**")[0])
    assert sorted(listed) == sorted(functions)


def test_every_role_has_a_function() -> None:
    """The other way round: a role that no listed function gives is noticed."""
    functions = [getattr(shardweave, name) for name in shardweave.__all__ if name.endswith("_property")]
    made = {name.__name__: name("claim") if name.__name__ == "claim_property" else name() for name in functions}
    body = {"__module__": __name__, "__annotations__": dict.fromkeys(made, int), **made}
    entity = type(Entity)("Everything", (Entity,), body)
    assert {each.role for each in properties_of(entity).values()} == {*Role, None}


def test_the_types_of_the_package_are_listed() -> None:
    types = section("Property functions").partition("**Types.**")[2].partition("**Derived")[0]
    own = [name for module in ("values.codecs", "schema.property_options") for name in defined_in(module)]
    assert own
    for name in own:
        assert re.search(rf"^\| `.*\b{name}\b", types, re.MULTILINE), name


def defined_in(module: str) -> Iterable[str]:
    """The public names of things, not functions, that a module of the package defines."""
    found = vars(__import__(f"shardweave.{module}", fromlist=["x"]))
    for name in shardweave.__all__:
        each = getattr(shardweave, name)
        if found.get(name) is each and not inspect.isfunction(each):
            yield name


def test_every_kind_of_declaration_is_listed() -> None:
    functions = {BelongsTo: "belongs_to", HasMany: "has_many"}
    kinds = {functions.get(each, each.__name__) for each in kinds_of_declarations()}
    assert kinds == {*first_cells(section("Keys")), *first_cells(section("What else a class declares"))} - {"desc"}


@pytest.mark.parametrize("key", [shardweave.HashKey, shardweave.RangeKey, shardweave.desc])
def test_every_option_of_a_key_is_named(key: type) -> None:
    for name, each in inspect.signature(key).parameters.items():
        if each.kind is each.KEYWORD_ONLY:
            assert f"`{name}=" in section("Keys"), name


@pytest.mark.parametrize("title", ["Indexes", "The schema"])
def test_every_argument_of_an_index_and_of_a_schema_is_listed(title: str) -> None:
    text = section(title)
    if title == "Indexes":
        assert first_cells(text) == [each.name for each in dataclasses.fields(Index)]
        return
    options = [name for name, each in inspect.signature(Schema).parameters.items() if each.kind is each.KEYWORD_ONLY]
    assert first_cells(text.partition("| key format")[0]) == options


def test_every_key_format_is_listed_with_its_delimiters() -> None:
    text = section("The schema").partition("| key format")[2].replace("\\|", "|")
    formats = {name: found for name, found in vars(key_format).items() if isinstance(found, KeyFormat)}
    assert {name.lower() for name in formats} == {each.name for each in key_format.KEY_FORMATS.values()}
    for name, found in formats.items():
        assert f"| `{name}` | {' '.join(f'`{each}`' for each in found.delimiters)} |" in text


def test_a_bump_has_the_parts_and_the_shards_that_are_listed() -> None:
    text = section("Shards")
    assert f"`ShardBump({', '.join(each.name for each in dataclasses.fields(ShardBump))})`" in text
    rows = re.findall(r"^\| `(ShardBump\(.*?\))` \| (\d+) \| (.*?) \|$", text, re.MULTILINE)
    assert len(rows) > 4
    for bump, shards, suffixes in rows:
        space = eval(bump, {"ShardBump": ShardBump}).space
        assert space.shards == int(shards)
        named = re.findall("`([0-9a-v]+)`", suffixes)
        every = list(space.suffixes())
        assert not named if space.shards == 1 else (named[0], named[-1]) == (every[0], every[-1])


FOUR = {"shard_bumps": [ShardBump(0, char_bits=2, chars=1)]}


class ById(Entity, token="offer", **FOUR):
    """Found by its id."""

    offer_id: str = unique_property(default="o1")


class BySeller(Entity, token="offer", partition="seller", **FOUR):
    """Found by its seller and its id."""

    seller: str = "ann"
    offer_id: str = unique_property(default="o1")


class Line(Entity, token="line", partition="order_id", sort=("category", "product_id"), **FOUR):
    """Found by three properties."""

    order_id: str = "7"
    category: str = "toys"
    product_id: str = "p1"


class Total(Entity, token="total", singleton=True):
    """The only one."""


def test_the_keys_of_each_identity_are_as_listed() -> None:
    text = section("What identifies a record").replace("\\|", "|")
    rows = re.findall(r"^\| .*? \| .*? \| `([a-z]+![^`]*)` \| `([^`]*)` \|$", text, re.MULTILINE)
    made = [Schema([model])[model].make_key(model()) for model in (ById, BySeller, Line, Total)]
    assert rows == [tuple(key.values()) for key in made]
