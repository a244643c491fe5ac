"""The exit codes of every command. An error is "wrong" if the same arguments would cause it again, else "failed"."""

from __future__ import annotations

from . import ConfigurationError, SchemaError, ShardweaveError

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130


EXIT_CODES = (
    "Exit codes: 0 done; 1 some input was refused, something could not be made or reached, or the table, a re-shard or "
    "a backfill needs someone to look; 2 the arguments or a configuration are wrong, and nothing was done; 130 stopped "
    "by Ctrl+C, 143 by SIGTERM."
)
"""The text about exit codes at the end of each command's help."""


class Unavailable(ConfigurationError):
    """Something that a command needs is not available now: another command uses it, or it could not be installed or
    started."""

    code = "unavailable"


def exit_code_of(error: ShardweaveError) -> int:
    """The exit code of an error: 2 if arguments or a configuration are wrong and nothing was done, 1 if something
    failed."""
    if isinstance(error, Unavailable):
        return FAILED
    return WRONG if isinstance(error, (ConfigurationError, SchemaError)) else FAILED
