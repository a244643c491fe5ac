"""Keys as fields of pydantic models."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from shardweave.errors import ConfigurationError
from shardweave.keys.shard_key import AnyKey, OfOrigin, ShardChild, ShardGrandchild, ShardKey, json_context

from .shard_key_cases import KEYS, any_key, keys_of

CONTEXT = {"something": "else", **json_context(KEYS)}
USER = ShardKey("u", "1", "wf5yU_5f63gqauSOLpP5O")


class Letter(BaseModel):
    """Holds a key of each kind."""

    sender: ShardKey
    line: ShardChild | None = None
    notes: list[ShardGrandchild] = []
    owner: Annotated[ShardKey, OfOrigin("u")] | None = None


letters = st.builds(
    Letter,
    sender=keys_of(ShardKey),
    line=st.none() | keys_of(ShardChild),
    notes=st.lists(keys_of(ShardGrandchild), max_size=2),
    owner=st.none() | keys_of(ShardKey, origin=st.just("u")),
)


@given(letters)
def test_json_holds_the_external_text_and_gives_back_the_key(letter: Letter) -> None:
    written = letter.model_dump_json(context=CONTEXT)
    document = json.loads(written)
    assert document["sender"] == KEYS.encode(letter.sender)
    assert document["line"] == (None if letter.line is None else KEYS.encode(letter.line))
    assert Letter.model_validate_json(written, context=CONTEXT) == letter
    assert Letter.model_validate(document, context=CONTEXT) == letter
    assert letter.model_dump(mode="json", context=CONTEXT) == document


@given(any_key)
def test_in_python_a_key_is_itself_and_needs_no_secret(key: AnyKey) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(type(key))
    assert adapter.validate_python(key) is key
    assert adapter.dump_python(key) is key


def test_without_the_secrets_the_error_says_what_is_missing() -> None:
    letter = Letter(sender=USER)
    document = letter.model_dump_json(context=CONTEXT)
    for context in (None, {}, {"external_keys": None}, "context"):
        with pytest.raises(ConfigurationError, match=r"json_context\(external_keys\)"):
            Letter.model_validate_json(document, context=context)
        with pytest.raises(PydanticSerializationError, match=r"json_context\(external_keys\)"):
            letter.model_dump_json(context=context)


def faults(document: Any) -> dict[tuple[int | str, ...], str]:
    with pytest.raises(ValidationError) as refused:
        Letter.model_validate_json(json.dumps(document), context=CONTEXT)
    return {fault["loc"]: fault["msg"] for fault in refused.value.errors() if fault["type"] == "invalid_shard_key"}


def test_every_text_that_is_refused_is_a_fault_of_its_field() -> None:
    text = KEYS.encode(USER)
    other = KEYS.encode(ShardKey("e", "1", "x"))
    altered = text[:-1] + ("A" if text[-1] != "A" else "B")
    assert faults({"sender": altered, "line": text, "notes": [altered], "owner": other}) == {
        ("sender",): "the key was altered, or was not made here",
        ("line",): "the key is a ShardKey, a ShardChild is due",
        ("notes", 0): "the key was altered, or was not made here",
        ("owner",): "the key belongs to another entity",
    }


@pytest.mark.parametrize("value", [5, None, True, ["u", "1", "x"], {"origin": "u"}, "", "x" * 100_000, "AAAA\n"])
def test_what_is_no_text_of_a_key_is_a_fault(value: Any) -> None:
    for validate in (
        lambda: Letter.model_validate({"sender": value}, context=CONTEXT),
        lambda: Letter.model_validate_json(json.dumps({"sender": value}), context=CONTEXT),
    ):
        with pytest.raises(ValidationError) as refused:
            validate()
        assert [fault["loc"] for fault in refused.value.errors()] == [("sender",)]


def test_a_key_object_of_another_kind_is_a_fault() -> None:
    with pytest.raises(ValidationError, match="a ShardKey, or its text, is due"):
        Letter(sender=ShardChild("u", "1", "a", "b"))  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_in_a_json_schema_a_key_is_a_url_safe_string(mode: Any) -> None:
    schema = Letter.model_json_schema(mode=mode)["properties"]["sender"]
    assert schema["type"] == "string"
    assert schema["pattern"] == "^[A-Za-z0-9_-]+$"
