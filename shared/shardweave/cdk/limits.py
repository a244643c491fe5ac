"""Sizes that AWS would refuse during a deployment, checked when the template is made.

A function's variables may have at most 4,096 bytes together, including names, and an output 1,024. A value that is
known only in the account (a name, an ARN) counts with its maximum length.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Token

from ..errors import ConfigurationError

MOST_ENVIRONMENT_BYTES = 4096
MOST_OUTPUT_BYTES = 1024
LONGEST_TOKEN_BYTES = 256


def check_environment(function: str, variables: Mapping[str, str]) -> None:
    """Refuse environment variables that are too long for a function. Raises ConfigurationError naming the longest."""
    sizes = {name: len(name) + _bytes(value) for name, value in variables.items()}
    size, longest = sum(sizes.values()), max(sizes, key=lambda name: sizes[name])
    if size > MOST_ENVIRONMENT_BYTES:
        raise ConfigurationError(
            f"the variables of the function {function} have {size:,} bytes together, {MOST_ENVIRONMENT_BYTES:,} are "
            f"possible; {longest} alone has {sizes[longest]:,}.",
            where="the function's environment",
            fix=f"shorten the choice behind {longest}: name a group, say, in place of its members",
        )


def check_output(name: str, value: str, choices: Mapping[str, str]) -> None:
    """Refuse an output that is too long for a stack. Raises ConfigurationError naming the longest of the choices in
    it."""
    size = _bytes(value)
    if size > MOST_OUTPUT_BYTES:
        longest = max(choices, key=lambda choice: _bytes(choices[choice]))
        raise ConfigurationError(
            f"the stack keeps its choices in an output of {size:,} bytes, {MOST_OUTPUT_BYTES:,} are possible; "
            f"{longest} alone has {_bytes(choices[longest]):,}.",
            where=f"the output {name}",
            fix=f"shorten -c {longest}: name a group, say, in place of its members",
        )


def _bytes(value: str) -> int:
    return LONGEST_TOKEN_BYTES if Token.is_unresolved(value) else len(value.encode())
