"""What an exception says of a write that it ended: whether the write may have been carried out.

Every exception can say so, also one that is not the library's own: what a guard raised, or an interrupt.
"""

from __future__ import annotations


def maybe_written(error: BaseException) -> bool:
    """Whether the write that ended with `error` may have been carried out."""
    return bool(getattr(error, "maybe_written", False))


def note_maybe_written(error: BaseException) -> None:
    """Let `error` say that the write which it ends may have been carried out."""
    if not maybe_written(error):
        vars(error)["maybe_written"] = True
        error.add_note("A write was sent before this and may have been carried out.")
