"""The configuration of one deployment, from the choices in the CDK's context. Every choice is checked here, before
anything is built.

`Choices` checks each choice by itself; this module looks up what choices name. A stage is protected (its table can't be
deleted, and resources with data are kept when the stack is deleted) unless its name is one of those for temporary
stages. No account is looked up, so the stack can be synthesized without one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from ..api.rate_limit import Rates
from ..database.project import command_name
from ..errors import ConfigurationError, Fault, SchemaError
from ..keys.key_format import key_format
from ..reshard.timings import decode_waits, encode_waits
from ..schema.checks.access import access_advice
from ..schema.manifest import decode_index, encode_index, manifest_of
from ..schema.schema import Schema
from ..service.files import default_service, named_service
from ..service.loader import service_schema
from ..table.layout import IndexLayout, KeyType, TableLayout
from .authorization import Issuer, issuer_of, operators_of, out_of_reach
from .choices import CHOICES, THROWN_AWAY, Choices, Context, texts_of
from .domain import DomainName, domain_of
from .encryption import encryption_key_of
from .existing_table import ExistingTable, existing_table_of
from .kept_choices import encode_choices
from .layer_packages import PlatformName
from .manifest import faults, read_manifest, wave_faults
from .stage_state import StageRecord
from .table_units import TableUnits
from .target import Target, target_of
from .waves import MOST_INDEXES, Wave, decode_waves

LOG_DAYS, THROWN_AWAY_LOG_DAYS = 90, 7


@dataclass(frozen=True)
class Configuration:
    """The configuration of one deployment. `issuer` None: callers sign with AWS credentials."""

    service: str
    stage: str
    key_format: str
    schema: Schema
    issuer: Issuer | None
    layer: PlatformName
    assets_optional: bool
    own_credentials: bool
    canary: bool
    snap_start: bool
    transport: str
    alarm_topic: str
    empty_answers: int
    requests_per_second: int
    burst: int
    rates: Rates
    lanes: int
    query_read_units: int
    related_records: int
    table_units: TableUnits
    layout: TableLayout
    hidden: tuple[str, ...]
    protection: bool
    waves: tuple[Wave, ...]
    reshard_waits: str
    reshard_policy: str
    operators: str
    memory_mb: int
    warm: int
    concurrency: int | None
    log_days: int
    domain: DomainName | None
    encryption_key: str
    tags: Mapping[str, str]
    target: Target
    table: ExistingTable | None
    choices: str
    """The choices that the stage keeps, see `kept_choices`."""

    @classmethod
    def from_context(cls, context: Context) -> Configuration:
        """The configuration in a context. Raises ConfigurationError for an unknown choice, SchemaError for a service
        that can't be built."""
        given = texts_of(context)
        choices = Choices.of_texts(given)
        chosen = key_format(choices.key_format)
        service = chosen_service(choices.service)
        schema = service_schema(service, chosen)
        broken = faults(read_manifest(service), manifest_of(schema))
        if broken:
            raise SchemaError(broken)
        loopback = choices.stage in THROWN_AWAY
        issuer = issuer_of(choices.issuer, choices.audience, iam=choices.iam, loopback=loopback)
        layout = _layout(schema.layout, choices.indexes)
        return cls(
            service=service,
            stage=choices.stage,
            key_format=chosen.name,
            schema=schema,
            issuer=issuer,
            layer=choices.layer,
            assets_optional=choices.assets == "optional",
            own_credentials=choices.deploy_with == "credentials",
            canary=choices.canary,
            snap_start=choices.snap_start,
            transport=choices.transport,
            alarm_topic=choices.alarm_topic,
            empty_answers=choices.empty_answers,
            requests_per_second=choices.requests_per_second,
            burst=choices.burst,
            rates=Rates(choices.tenant_requests, choices.tenant_read_units),
            lanes=choices.lanes,
            query_read_units=choices.query_read_units,
            related_records=choices.related_records,
            table_units=TableUnits(choices.table_read_units, choices.table_write_units),
            layout=layout,
            hidden=_hidden(choices.hidden, schema.layout, layout),
            protection=choices.protection,
            waves=decode_waves(choices.waves, layout.indexes),
            reshard_waits=_reshard_waits(choices),
            reshard_policy=choices.reshard_policy,
            operators=operators_of(choices.operators, issuer),
            memory_mb=choices.memory,
            warm=_warm(choices),
            concurrency=_concurrency(choices),
            log_days=choices.log_days or (THROWN_AWAY_LOG_DAYS if loopback else LOG_DAYS),
            domain=domain_of(given),
            encryption_key=encryption_key_of(choices.encryption_key),
            tags=tags_of(choices.tags),
            target=target_of(given),
            table=existing_table_of(choices.table),
            choices=encode_choices(given, CHOICES),
        )

    @property
    def protected(self) -> bool:
        """Whether resources with data are kept when the stack is deleted."""
        return self.stage not in THROWN_AWAY

    @property
    def locked(self) -> bool:
        """Whether deleting the stack or its table needs a second step."""
        return self.protected and self.protection

    def at(self, wave: Wave) -> Configuration:
        """The configuration of one wave."""
        layout = replace(self.layout, indexes=wave.indexes)
        return replace(self, layout=layout, hidden=wave.hidden, protection=wave.protection, waves=())

    @property
    def stage_record(self) -> StageRecord:
        """The facts about the stage's deployment that can't be changed afterwards."""
        return StageRecord(self.key_format, manifest_of(self.schema))

    @property
    def warnings(self) -> dict[str, Fault]:
        """Faults of a configuration that can be synthesized but is probably not intended, by the names of their
        warnings."""
        found = {f"waves{number or ''}": fault for number, fault in enumerate(self.several_index_changes)}
        found |= {
            f"access{number or ''}": fault for number, fault in enumerate(access_advice(self.schema.entities.values()))
        }
        unreachable = out_of_reach(self.schema, self.issuer)
        return found if unreachable is None else found | {"claims": unreachable}

    @property
    def several_index_changes(self) -> list[Fault]:
        """The fault that one deployment can't change a deployed stage to this configuration, unless this is a wave."""
        if self.layout is not self.schema.layout:
            return []
        return wave_faults(read_manifest(self.service), manifest_of(self.schema))

    @property
    def stack_name(self) -> str:
        return stack_name(self.service, self.stage)


def chosen_service(text: str) -> str:
    """The name of the service that is chosen. Raises ConfigurationError."""
    return named_service(text) if text else default_service()


def stack_name(service: str, stage: str) -> str:
    """The name of the stack of a service's stage."""
    return f"shardweave-{service.replace('_', '-')}-{stage}"


def _layout(layout: TableLayout, indexes: str) -> TableLayout:
    """The table's layout in a wave, whose indexes are given as JSON; else the schema's own."""
    if not indexes:
        return layout
    try:
        given = json.loads(indexes)
        found = tuple(decode_index(name, each) for name, each in given.items())
        whole = all(encode_index(each) == given[each.name] and _can_be(each) for each in found)
    except (ValueError, KeyError, TypeError, AttributeError):
        whole, found = False, ()
    if not whole or len(found) > MOST_INDEXES:
        raise ConfigurationError(
            "must be a wave of indexes.",
            where="context `indexes`",
            fix=f"leave it out; `{command_name('deploy')}` gives it itself",
        )
    return replace(layout, indexes=found)


def _can_be(index: IndexLayout) -> bool:
    """Whether an index is valid."""
    keys = all(key.name and key.type in get_args(KeyType) for key in (index.hash_key, index.range_key))
    return keys and (isinstance(index.projection, tuple) or index.projection in ("ALL", "KEYS_ONLY"))


def _hidden(text: str, *layouts: TableLayout) -> tuple[str, ...]:
    """The indexes that queries may not use, each of which the table has or will have."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    known = list(dict.fromkeys(index.name for layout in layouts for index in layout.indexes))
    for name in names:
        if name not in known:
            raise ConfigurationError(
                f"there is no index {name[:80]!r}.",
                where="context `hidden`",
                fix=f"leave it out, `{command_name('deploy')}` gives it itself; or use some of {', '.join(known)}",
            )
    return names


def _reshard_waits(choices: Choices) -> str:
    if choices.reshard_waits != "normal" and choices.stage not in THROWN_AWAY:
        raise ConfigurationError(
            "shorter waits than normal lose records when a process is slow.",
            where="context `reshardWaits`",
            fix=f"leave it out; it is for the stages {', '.join(THROWN_AWAY)}",
        )
    return encode_waits(decode_waits(choices.reshard_waits, "context `reshardWaits`"))


def _warm(choices: Choices) -> int:
    if choices.warm and choices.snap_start:
        raise ConfigurationError(
            "Lambda keeps nothing started that starts from a snapshot.",
            where="context `warm`",
            fix="leave it out, or use -c snapStart=off",
        )
    return choices.warm


def _concurrency(choices: Choices) -> int | None:
    if choices.concurrency is not None and choices.concurrency < choices.warm:
        raise ConfigurationError(
            f"{choices.warm} are kept started, and fewer may run at once.",
            where="context `concurrency`",
            fix=f"use -c concurrency={choices.warm} or more, or a smaller -c warm",
        )
    return choices.concurrency


MOST_TAGS = 40
_NAME = re.compile(r"(?!aws:)[\w .:/+@-]{1,128}", re.ASCII | re.IGNORECASE)
_VALUE = re.compile(r"[\w .:/=+@-]{0,256}", re.ASCII)
_OWN = ("service", "stage")


def tags_of(text: str) -> dict[str, str]:
    """The tags in the choice `tags` (`name=value`, separated by commas), by name. Raises ConfigurationError."""
    parts = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    found = {name: value for name, _, value in parts}
    whole = all(equals and _NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, equals, value in parts)
    if not whole or len(found) < len(parts) or len(found) > MOST_TAGS or any(name in found for name in _OWN):
        raise ConfigurationError(
            f"must be tags: each name=value, once, {MOST_TAGS} at most, of letters, digits, spaces and "
            f"_.:/=+@-; {' and '.join(_OWN)} are set already, and names do not begin with aws:.",
            where="context `tags`",
            fix="use some like -c tags=team=orders,costCenter=4711",
        )
    return found
