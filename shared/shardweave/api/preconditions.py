"""Conditional requests (RFC 9110, section 13): a record's revision is its entity tag.

    ETag: "r1"             on every answer that is one whole record and nothing else
    If-Match: "r1"         PATCH, PUT, DELETE change only this revision (or one of several, or with `*` any record)
    If-None-Match: *       PUT makes a record only where there is none
    If-None-Match: "r1"    GET answers 304 while this is the revision

A request whose condition does not hold gets 412, and nothing is changed; a PATCH or DELETE of a missing record gets
404. Tags are compared strongly for writes (a weak tag, `W/"r1"`, never matches) and weakly for GET. A malformed list of
tags, or a condition that the method does not support, gets 400, since it must not be ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import AlreadyExists, MalformedRequest, PreconditionFailed, RevisionConflict, ValueTaken
from ..store.operations import Rev
from ..wire.parameter import Parameter

IF_MATCH = "if-match"
IF_NONE_MATCH = "if-none-match"
MAX_TAGS = 20

_OPAQUE = r'"([\x21\x23-\x7e]*)"'
_TAG = re.compile(rf"[ \t]*(W/)?{_OPAQUE}[ \t]*")
_REVISION = re.compile(r"[\x21\x23-\x7e]+")


@dataclass(frozen=True)
class Tags:
    """The tags of a condition. `every`: it is `*`."""

    every: bool = False
    strong: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()

    def has(self, rev: str | None) -> bool:
        """Whether the revision is in the list, including weak tags."""
        return self.every or rev in self.strong or rev in self.weak


def entity_tag(rev: str | None) -> dict[str, str]:
    """The header with a revision; empty for a record that another program wrote without one."""
    return {"etag": f'"{rev}"'} if rev is not None and _REVISION.fullmatch(rev) else {}


def tags_of(headers: Mapping[str, str], name: str) -> Tags | None:
    """The tags in a header, None if it is missing. Raises MalformedRequest."""
    text = headers.get(name)
    if text is None:
        return None
    if text.strip() == "*":
        return Tags(every=True)
    found = [_TAG.fullmatch(part) for part in _parts(text)]
    if len(found) > MAX_TAGS or not all(found):
        fix = f'give `*`, or at most {MAX_TAGS} tags as they were answered: "tag", "tag"'
        raise MalformedRequest("must be a list of entity tags", where=name, fix=fix)
    tags = [(each[1], each[2]) for each in found if each is not None]
    return Tags(False, frozenset(tag for weak, tag in tags if not weak), frozenset(tag for weak, tag in tags if weak))


def _parts(text: str) -> list[str]:
    """The parts between the commas that are not inside a tag."""
    return re.findall(r'(?:[^,"]|"[^"]*"?)+|(?<=,)(?=,|$)|^$', text)


@dataclass(frozen=True)
class Required:
    """The requirements of a write: one of these revisions (None: no requirement), that the record exists, or that it
    does not."""

    rev: Rev = None
    exists: bool = False
    absent: bool = False

    @contextmanager
    def or_refuse(self) -> Iterator[None]:
        """A context that converts the error of a missing record to that of a condition that does not hold."""
        try:
            yield
        except RevisionConflict:
            if self.rev is None:
                raise
            raise unmet(IF_MATCH) from None
        except ValueTaken:
            raise
        except AlreadyExists:
            raise unmet(IF_NONE_MATCH) from None


def required(headers: Mapping[str, str]) -> Required:
    """The requirements in the conditions of a write. Raises MalformedRequest."""
    match, none = tags_of(headers, IF_MATCH), tags_of(headers, IF_NONE_MATCH)
    if none is not None and (not none.every or match is not None):
        raise MalformedRequest("must be `*`, alone", where=IF_NONE_MATCH, fix="give `*`, or If-Match")
    if match is None or match.every:
        return Required(exists=match is not None, absent=none is not None)
    rev = next(iter(match.strong)) if len(match.strong) == 1 else match.strong
    return Required(rev)


def unmet(name: str) -> PreconditionFailed:
    """The error that a condition does not hold."""
    return PreconditionFailed(
        "the record is not in the state that the condition asks for", where=name, fix="read it, and decide anew"
    )


CONDITIONS_OF_READING = (
    Parameter(
        "If-None-Match", 'Entity tags (`"tag"`) of what is at hand; 304 when one of them is still the record\'s.'
    ),
)
CHANGED_ONLY_IF = Parameter("If-Match", 'Entity tags (`"tag"`), one of which the record must have, or `*`.')
CONDITIONS_OF_CHANGING = (CHANGED_ONLY_IF,)
CONDITIONS_OF_PUTTING = (
    CHANGED_ONLY_IF,
    Parameter("If-None-Match", "`*` to make a record only where there is none."),
)
