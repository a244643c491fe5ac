"""Bodies: from the bytes of a request to a JSON object, and merge patches.

A body is one JSON object in UTF-8. What two readers could understand differently is refused: a name given twice, NaN
and Infinity, text after the object. `merge_patch` is RFC 7396.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from ..errors import BodyTooLarge, MalformedRequest, UnsupportedMediaType
from .messages import Request
from .operation import Body


def read_document(request: Request, body: Body, max_bytes: int) -> dict[str, Any]:
    """The JSON object of a request. Raises BodyTooLarge, UnsupportedMediaType, MalformedRequest."""
    if len(request.body) > max_bytes:
        raise too_large(max_bytes)
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in body.media_types:
        raise UnsupportedMediaType(
            "The body's media type is not one that this operation takes.",
            where="content-type",
            fix=f"send {' or '.join(body.media_types)}",
        )
    document = _parsed(request.body)
    if not isinstance(document, dict):
        raise _malformed("it is no object", "send a JSON object")
    return document


def too_large(max_bytes: int) -> BodyTooLarge:
    """The error of a body over the limit, for those who must not read it to its end."""
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


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), object_pairs_hook=_without_repetition, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise _malformed("it is not UTF-8", "send UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise _malformed(f"it is not JSON: {place}", "send a JSON object") from None
    except RecursionError:
        raise _malformed("it is nested too deeply", "send a flatter object") from None
    except ValueError:
        raise _malformed("a number has too many digits", "send numbers of at most 38 digits") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _malformed("an object gives a name twice", "give every name once")
    return found


def _no_constant(name: str) -> NoReturn:
    raise _malformed(f"{name} is not JSON", "leave the property out")


def _malformed(message: str, fix: str) -> MalformedRequest:
    return MalformedRequest(message, where="body", fix=fix)
