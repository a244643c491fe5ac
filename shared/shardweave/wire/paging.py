"""The parameters of pages, in lists over HTTP and on the command line.

reverse       true for the reverse of the order
limit         records a page, 1 to 500, 100 if not given
nextToken     the token of the page before; only these parameters, but for `reverse`, may change
prevToken     the token back of a page, in place of `nextToken`: the page that stands before it
timeLimitMs   the page is cut after these milliseconds
onShardError  `fail`, or `partial` to go on without lanes that fail
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ..errors import (
    InputError,
    LimitExceeded,
)
from ..query.spec import DEFAULT_LIMIT, LIMIT_FIX, MAX_LIMIT, MAX_TIME_LIMIT_MS
from .parameter import Parameter

CONTINUATION = "nextToken"
PREVIOUS = "prevToken"

_NUMBER = re.compile("-?[0-9]{1,30}")


PAGING = (
    Parameter("reverse", "True for the reverse of the order.", bool, default=False),
    Parameter("limit", "Records a page.", Annotated[int, Field(ge=1, le=MAX_LIMIT)], DEFAULT_LIMIT),
    Parameter(CONTINUATION, "The token of the page before, whose other parameters must be the same."),
    Parameter(PREVIOUS, "The `prevToken` of a page, in place of `nextToken`: for the page that stands before it."),
    Parameter(
        "timeLimitMs",
        "The page is cut after these milliseconds.",
        Annotated[int, Field(ge=1, le=MAX_TIME_LIMIT_MS)],
    ),
    Parameter(
        "onShardError",
        "Whether to go on without lanes that fail: `failed` lists them, and the token takes them up again.",
        Literal["fail", "partial"],
        "fail",
    ),
)


def paging(given: Mapping[str, str]) -> dict[str, Any]:
    """The parts of a QuerySpec that `PAGING` gives. Raises InputError, LimitExceeded."""
    mode = given.get("onShardError", "fail")
    if mode not in ("fail", "partial"):
        raise InputError("must be fail or partial", where="onShardError", fix="give one of them")
    return {
        "reverse": flag(given, "reverse"),
        "limit": _limit(given),
        "cursor": token_of(given),
        "time_limit_ms": _number(given, "timeLimitMs", "write a number of milliseconds"),
        "on_shard_error": mode,
    }


def token_of(given: Mapping[str, Any], names: tuple[str, str] = (CONTINUATION, PREVIOUS)) -> Any:
    """The token of the requested page, which contains its direction. Raises InputError if there are two."""
    tokens = [given[name] for name in names if given.get(name) is not None]
    if len(tokens) > 1:
        raise InputError(f"{' and '.join(names)} exclude one another", where=names[1], fix="give one of them")
    return tokens[0] if tokens else None


def name_of_token(given: Mapping[str, Any]) -> str:
    """The name of the parameter that contained the token."""
    return CONTINUATION if given.get(PREVIOUS) is None else PREVIOUS


def flag(given: Mapping[str, str], name: str) -> bool:
    """A parameter that is `true` or `false`, and false when it is not given. Raises InputError."""
    text = given.get(name, "false")
    if text not in ("true", "false"):
        raise InputError("must be true or false", where=name, fix="write true or false")
    return text == "true"


def _limit(given: Mapping[str, str]) -> int:
    found = _number(given, "limit", LIMIT_FIX)
    if found is None:
        return DEFAULT_LIMIT
    if not 1 <= found <= MAX_LIMIT:
        raise LimitExceeded(f"a page has 1 to {MAX_LIMIT} records", where="limit", fix=LIMIT_FIX)
    return found


def _number(given: Mapping[str, str], name: str, fix: str) -> int | None:
    text = given.get(name)
    if text is not None and not _NUMBER.fullmatch(text):
        raise InputError("it is not a whole number", where=name, fix=fix)
    return None if text is None else int(text)


EXPAND = "expand"
