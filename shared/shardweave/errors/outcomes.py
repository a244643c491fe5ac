"""Whether a write that ended with an exception may have been carried out.

Every exception can carry this, also one that is not the library's own: one that a guard raised, or an interrupt.
"""

from __future__ import annotations


def maybe_written(error: BaseException) -> bool:
    """Whether the write that ended with an error may have been carried out."""
    return bool(getattr(error, "maybe_written", False))


def note_maybe_written(error: BaseException) -> None:
    """Mark an error: the write that ended with it may have been carried out."""
    if not maybe_written(error):
        vars(error)["maybe_written"] = True
        error.add_note("A write was sent before this and may have been carried out.")
