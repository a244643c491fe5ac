"""Tracebacks without values, for the log: where an unexpected failure happened, and its class.

The message of an exception of another library may contain a record's values, so only the messages of this library,
which never do, are shown; for an unreadable record only the fault, since its key may be a value.
"""

from __future__ import annotations

import traceback

from ..errors import RecordUnreadable, ShardweaveError

MAX_FRAMES = 30


def trace(failure: BaseException) -> list[str]:
    """The failure and its causes, each followed by its frames, innermost last."""
    lines: list[str] = []
    seen: BaseException | None = failure
    while seen is not None and len(lines) < 3 * MAX_FRAMES:
        kind = f"{type(seen).__module__}.{type(seen).__qualname__}"
        said = seen.message if isinstance(seen, RecordUnreadable) else seen
        lines.append(f"{kind}: {said}" if isinstance(seen, ShardweaveError) else kind)
        frames = traceback.extract_tb(seen.__traceback__)[-MAX_FRAMES:]
        lines += [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return lines
