"""Bodies: parsing an event's body as a JSON object, and merge patches.

A body is one JSON object in UTF-8. Bodies that parsers could interpret differently are refused: duplicate names, NaN
and Infinity, text after the object. Bodies that nest deeper, or have more names or values, than any record or query are
refused before they are validated. A number that is not exactly a double becomes a Decimal, so that it is not rounded.
`merge_patch` is RFC 7396.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.message import Message
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import BodyTooLarge, LimitExceeded, MalformedRequest, UnsupportedMediaType
from ..values.json_types import json_number
from .operation import Body

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent


_UTF_8 = ("utf-8", "utf8", "us-ascii")
_UNCHANGED = ("", "identity")

MAX_DEPTH = 64
"""Levels of objects and lists in a body; a record has 32, a filter fewer."""
MAX_NAMES = 20_000
"""The total number of members of all objects in a body: each may be a fault, which costs more than parsing it."""
MAX_VALUES = 50_000
"""The total number of members of objects and elements of lists."""


def read_document(event: BaseProxyEvent, body: Body, max_bytes: int) -> dict[str, Any]:
    """The JSON object in an event's body. Raises UnsupportedMediaType, BodyTooLarge, MalformedRequest."""
    _check_media_type(event, body)
    text = _text(event)
    if len(text.encode("utf-8", "surrogatepass")) > max_bytes:
        raise too_large(max_bytes)
    document = _parsed(text)
    _check_extent(document)
    if not isinstance(document, dict):
        raise _malformed("must be a JSON object", "send a JSON object")
    return document


def too_large(max_bytes: int) -> BodyTooLarge:
    """The error of a body over the limit, for a server that stops reading there."""
    return BodyTooLarge(f"A body has at most {max_bytes} bytes.", where="body", fix="send less at once")


def merge_patch(target: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """The target with the patch applied: null removes, an object is merged, all else replaces."""
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping):
            merged[name] = merge_patch(merged.get(name), value)
        else:
            merged[name] = value
    return merged


def _check_media_type(event: BaseProxyEvent, body: Body) -> None:
    described = Message()
    described["content-type"] = event.headers.get("content-type", "")
    if described["content-type"].partition(";")[0].strip().lower() not in body.media_types:
        raise UnsupportedMediaType(
            "The body's media type is not one that this operation takes.",
            where="content-type",
            fix=f"send {' or '.join(body.media_types)}",
        )
    if str(described.get_param("charset", "utf-8")).strip().lower() not in _UTF_8:
        raise UnsupportedMediaType("The body is said not to be UTF-8.", where="content-type", fix="send UTF-8")
    if event.headers.get("content-encoding", "identity").strip().lower() not in _UNCHANGED:
        message = "The body is said to be encoded, as a compressed one is."
        raise UnsupportedMediaType(message, where="content-encoding", fix="send it as it is")


def _text(event: BaseProxyEvent) -> str:
    try:
        return event.decoded_body or ""
    except UnicodeDecodeError:
        raise _malformed("it is not UTF-8", "send UTF-8") from None
    except ValueError:
        raise _malformed("it is not base64", "send it as it is") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(
            text, parse_float=json_number, object_pairs_hook=_without_repetition, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        place = f"{error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}"
        raise _malformed(f"it is not JSON: {place}", "send a JSON object") from None
    except RecursionError:
        raise _malformed(f"it is nested more than {MAX_DEPTH} levels deep", "send a flatter object") from None
    except (ValueError, ArithmeticError):
        raise _malformed("a number has too many digits", "send numbers of at most 38 digits") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _malformed("an object gives a name twice", "give every name once")
    return found


def _check_extent(document: Any) -> None:
    """Raises MalformedRequest for a body that nests too deep, LimitExceeded for one with too many members."""
    open_values, names, values = [(document, 1)], 0, 0
    while open_values:
        each, level = open_values.pop()
        if not isinstance(each, (dict, list)):
            continue
        if level > MAX_DEPTH:
            raise _malformed(f"it is nested more than {MAX_DEPTH} levels deep", "send a flatter object")
        values += len(each)
        names += len(each) if isinstance(each, dict) else 0
        if names > MAX_NAMES or values > MAX_VALUES:
            message = f"a body has at most {MAX_NAMES} names and {MAX_VALUES} values"
            raise LimitExceeded(message, where="body", fix="send less at once")
        inner = each.values() if isinstance(each, dict) else each
        open_values += [(one, level + 1) for one in inner if isinstance(one, (dict, list))]


def _no_constant(name: str) -> NoReturn:
    raise _malformed(f"{name} is not JSON", "leave the property out")


def _malformed(message: str, fix: str) -> MalformedRequest:
    return MalformedRequest(message, where="body", fix=fix)
