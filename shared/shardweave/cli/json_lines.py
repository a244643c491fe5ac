"""Lossless JSON input and output: numbers of any size stay exact, and duplicate names are refused.

A whole number is an int, any other a Decimal. Written JSON has only necessary escapes; sets are sorted lists, bytes
base64url with padding.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..errors import InputError, ShardweaveError
from .console import MAX_LINE_BYTES, too_long


@dataclass(frozen=True)
class Line:
    """One JSON object of a stream, and the number of its line."""

    number: int
    values: dict[str, Any]


def objects(stream: Iterable[bytes], refuse: Callable[[int, ShardweaveError], None]) -> Iterator[Line]:
    """The objects of a stream of JSON lines; empty lines are skipped. `refuse` is called for each invalid line. Nothing
    is read after a line that is too long."""
    for number, line in enumerate(stream, 1):
        if len(line) > MAX_LINE_BYTES:
            refuse(number, too_long("it"))
            return
        if not line.strip():
            continue
        try:
            values = parse_object(line)
        except InputError as error:
            refuse(number, error)
        else:
            yield Line(number, values)


def parse_object(text: bytes | str) -> dict[str, Any]:
    """A JSON object. Raises InputError."""
    value = parse_json(text)
    if not isinstance(value, dict):
        raise InputError("must be a JSON object", fix='give {"name": value, ...}')
    return value


def parse_json(text: bytes | str) -> Any:
    """A JSON value. Raises InputError with the place of the fault, without showing the text."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(
            decoded.rstrip(), parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_distinct
        )
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise InputError(f"it goes on after the JSON value, {_place(error)}", fix="give one value") from None
        raise InputError(f"it is not JSON: {error.msg.removesuffix(' at')} {_place(error)}", fix="correct it") from None
    except UnicodeDecodeError as error:
        raise InputError(f"it is not UTF-8 at byte {error.start + 1}", fix="write UTF-8") from None
    except RecursionError:
        raise InputError("it is nested too deeply", fix="make it flatter") from None
    except (ValueError, ArithmeticError):
        raise InputError("a number in it has too many digits", fix="write it as text") from None


def _place(error: json.JSONDecodeError) -> str:
    return f"at {f'line {error.lineno}, ' if error.lineno > 1 else ''}character {error.colno}"


def _refuse_constant(name: str) -> Any:
    raise InputError(f"{name} is not a JSON number", fix="leave it out")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("a name stands twice in one object", fix="give each name once")
    return found


def json_text(value: Any) -> str:
    """A native value as JSON on one line."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, Decimal)):
        return str(value)
    if isinstance(value, bytes):
        return json.dumps(base64.urlsafe_b64encode(value).decode())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json_text(name)}: {json_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, Set):
        value = sorted(value)
    return "[" + ", ".join(map(json_text, value)) + "]"


def document(values: Mapping[str, Any]) -> str:
    """A JSON object for people too: a line for each of its names."""
    return "{\n" + ",\n".join(f"  {json_text(name)}: {json_text(value)}" for name, value in values.items()) + "\n}"
