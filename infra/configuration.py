"""What the CDK context chooses: service, stage, key format. Every choice is checked here, before anything is built.

    cdk synth -c service=user_service -c stage=prod -c keyFormat=article

A stage is protected (its table can't be deleted, and is kept when the stack goes) unless its name is one of those that
are thrown away. Nothing here looks an account up, so the stack synthesizes without one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from shardweave.errors import ConfigurationError
from shardweave.key_format import key_format
from shardweave.schema import Schema
from shardweave.service import service_module

THROWN_AWAY = ("dev", "local", "test")
_STAGE = re.compile("[a-z][a-z0-9-]{0,29}")


class Context(Protocol):
    """Where choices come from: a CDK node."""

    def try_get_context(self, key: str) -> object: ...


@dataclass(frozen=True)
class Configuration:
    """One deployment: which service, for which stage, with which keys."""

    service: str
    stage: str
    schema: Schema

    @classmethod
    def from_context(cls, context: Context) -> Configuration:
        """Raises ConfigurationError for a choice that does not exist, SchemaError for a service that can't be built."""
        chosen = key_format(_text(context, "keyFormat", "ordered"))
        service = _text(context, "service", "user_service")
        return cls(service=service, stage=_stage(context), schema=service_module(service).schema(chosen))

    @property
    def protected(self) -> bool:
        return self.stage not in THROWN_AWAY

    @property
    def stack_name(self) -> str:
        return f"shardweave-{self.service.replace('_', '-')}-{self.stage}"


def _stage(context: Context) -> str:
    stage = _text(context, "stage", "dev")
    if not _STAGE.fullmatch(stage):
        raise ConfigurationError(
            f"{stage!r} can't name a stage.",
            where="context `stage`",
            fix="use at most 30 lower-case letters, digits and dashes, beginning with a letter, such as prod",
        )
    return stage


def _text(context: Context, key: str, default: str) -> str:
    given = context.try_get_context(key)
    if given is None:
        return default
    if not isinstance(given, str) or not given:
        raise ConfigurationError("the value must be a text.", where=f"context `{key}`", fix=f"use -c {key}={default}")
    return given
