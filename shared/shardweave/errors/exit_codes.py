"""The exit codes of every command: wrong is what the same arguments would meet again, failed is all else."""

from __future__ import annotations

from . import ConfigurationError, SchemaError, ShardweaveError

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130


EXIT_CODES = (
    "Exit codes: 0 done; 1 some input was refused, something could not be made or reached, or the table, a re-shard or "
    "a backfill needs someone to look; 2 the arguments or a configuration are wrong, and nothing was done; 130 stopped "
    "by Ctrl+C, 143 by SIGTERM."
)
"""What the help of each command says at its end."""


class Unavailable(ConfigurationError):
    """What a command needs can't be had now: another one uses it, or it could not be installed or started."""

    code = "unavailable"


def exit_code_of(error: ShardweaveError) -> int:
    """2 where arguments or a configuration are wrong and nothing was done, 1 where something failed."""
    if isinstance(error, Unavailable):
        return FAILED
    return WRONG if isinstance(error, (ConfigurationError, SchemaError)) else FAILED
