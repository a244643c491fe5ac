"""What the CDK context chooses for one deployment. Every choice is checked here, before anything is built.

    cdk deploy -c service=user_service -c stage=prod -c issuer=https://login.example.com/ -c audience=orders

`CHOICES` lists all of them with their defaults. A stage is protected (its table can't be deleted, and what holds data
is kept when the stack goes) unless its name is one of those that are thrown away. Nothing here looks an account up, so
the stack synthesizes without one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Protocol, cast, get_args

from ..api.expansion import MAX_RELATED, MOST_RELATED
from ..api.rate_limit import MOST, Rates
from ..database.project import command_name
from ..errors import ConfigurationError, Fault, SchemaError
from ..keys.key_format import KEY_FORMATS, key_format
from ..query.fanout import DEFAULT_THROTTLE
from ..query.runner import MAX_READ_UNITS, MOST_READ_UNITS
from ..reshard.load.policy import MODES
from ..reshard.timings import decode_waits, encode_waits
from ..schema.checks.access import access_advice
from ..schema.manifest import decode_index, encode_index, manifest_of
from ..schema.schema import Schema
from ..service.files import default_service, named_service
from ..service.loader import service_schema
from ..table.layout import IndexLayout, KeyType, TableLayout
from .authorization import Issuer, issuer_of, operators_of, out_of_reach
from .domain import DomainName, domain_of
from .encryption import encryption_key_of
from .existing_table import ExistingTable, existing_table_of
from .kept_choices import encode_choices
from .layer_packages import PLATFORMS, PlatformName
from .manifest import faults, read_manifest, wave_faults
from .stage_state import StageRecord
from .table_units import TableUnits
from .tags import tags_of
from .target import Target, target_of
from .waves import MOST_INDEXES, Wave, decode_waves

THROWN_AWAY = ("dev", "local", "test")
MOST_AT_ONCE, MOST_UNITS = 10_000, 1_000_000
LOG_DAYS, THROWN_AWAY_LOG_DAYS = 90, 7
POSSIBLE_LOG_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
"""What CloudWatch takes."""

CHOICES: Mapping[str, str] = {
    "service": "",
    "stage": "dev",
    "keyFormat": "ordered",
    "issuer": "",
    "audience": "",
    "iam": "on",
    "layer": "target",
    "assets": "required",
    "deployWith": "roles",
    "canary": "off",
    "snapStart": "off",
    "transport": "auto",
    "alarmTopic": "",
    "emptyAnswers": "200",
    "requestsPerSecond": "100",
    "burst": "200",
    "tenantRequests": "0",
    "tenantReadUnits": "0",
    "lanes": str(DEFAULT_THROTTLE),
    "queryReadUnits": str(MAX_READ_UNITS),
    "relatedRecords": str(MAX_RELATED),
    "tableReadUnits": "",
    "tableWriteUnits": "",
    "reshardWaits": "normal",
    "reshardPolicy": "propose",
    "operators": "",
    "memory": "1769",
    "warm": "0",
    "concurrency": "",
    "logDays": "",
    "domain": "",
    "certificate": "",
    "encryptionKey": "",
    "tags": "",
    "account": "",
    "region": "",
    "table": "",
    "indexes": "",
    "hidden": "",
    "protection": "on",
    "waves": "",
}
"""service            the service's name, or the path of its module; without it the only one
stage              names the stack, and decides what is protected
keyFormat          how keys are written: ordered, article, entity_manager
issuer, audience   who signs the tokens of callers, and for whom (several audiences are separated by commas)
iam                on: without an issuer, callers sign with AWS credentials; off: the stack refuses to be open
layer              target: for Lambda; host: for an emulator on this machine
assets             optional: a template without assets is good enough where the layer's packages can't be had
deployWith         roles: those that `cdk bootstrap` made; credentials: your own do it all
canary             on: a tenth of the calls goes to a new version for five minutes first
snapStart          on: functions start from a snapshot
transport          botocore: all requests to the table go over botocore; auto: those on items over our own transport
alarmTopic         the ARN of the SNS topic that alarms are sent to
emptyAnswers       how many in five minutes are an alarm
requestsPerSecond, burst   the most that the API takes
tenantRequests, tenantReadUnits   what one tenant may ask for in a minute; 0 is no limit
lanes              reads at once for one query
queryReadUnits     the read units that one query may spend
relatedRecords     the related records that one request may read
tableReadUnits, tableWriteUnits   the most units a second of the table, and read units of each index: no bound but the
                   account's
reshardWaits       how long the phases of a re-shard last: normal, or, for stages that are thrown away, fast or JSON
reshardPolicy      off; propose: an alarm says when more shards would help; apply: they are made then
operators          who may move records and send events: group:NAME, ARNs, or a token's issuer and subject with a space
                   between, by commas
memory             megabytes of the API's function, whose share of a core grows with it
warm               how many of the API's function are kept started
concurrency        how many of the API's function run at once, reserved for it: no bound but the account's
logDays            how long logs are kept: 90 days, 7 where a stage is thrown away
domain, certificate   a domain of one's own for the API, and the ARN of its certificate
encryptionKey      the ARN of the KMS key that encrypts records and key rings: one of AWS
tags               of every resource, besides service and stage: name=value, by commas
account, region    where the stage belongs; another is refused
table              the ARN of the stream of a table that is used in place of an own one
indexes, hidden    one wave of `./run deploy`: the indexes that the table is to have, and those not to be read yet
protection         off: a first deployment of `./run deploy`, so that one that fails can be taken back
waves              the deployments that `./run deploy` makes of one synthesis: JSON, see `waves`"""

ONE_REGION = (
    "a table has one region: DynamoDB evaluates conditions a region at a time, so with replicas revisions, unique "
    "values, sequences and re-shards would not hold."
)
_OF_REGIONS = ("replica", "replicas", "regions", "replicaregions", "globaltable")

_STAGE = re.compile("[a-z][a-z0-9-]{0,29}")
_TOPIC = re.compile(r"arn:[\w-]+:sns:[\w-]*:\d{12}:[\w.-]{1,256}")


class Context(Protocol):
    """Where choices come from: a CDK node."""

    def try_get_context(self, key: str) -> object: ...


@dataclass(frozen=True)
class Configuration:
    """One deployment. `issuer` None: callers sign with AWS credentials."""

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
    """What of this the stage keeps, see `kept_choices`."""

    @classmethod
    def from_context(cls, context: Context) -> Configuration:
        """Raises ConfigurationError for a choice that does not exist, SchemaError for a service that can't be built."""
        given = {key: _text(context, key, default) for key, default in CHOICES.items()}
        chosen = key_format(_one_of(given, "keyFormat", tuple(KEY_FORMATS)))
        service = chosen_service(given["service"])
        schema = service_schema(service, chosen)
        broken = faults(read_manifest(service), manifest_of(schema))
        if broken:
            raise SchemaError(broken)
        issuer = issuer_of(
            given["issuer"],
            given["audience"],
            iam=_switch(given, "iam"),
            loopback=given["stage"] in THROWN_AWAY,
        )
        layout = _layout(schema.layout, given["indexes"])
        return cls(
            service=service,
            stage=checked_stage(given["stage"]),
            key_format=chosen.name,
            schema=schema,
            issuer=issuer,
            layer=cast(PlatformName, _one_of(given, "layer", tuple(PLATFORMS))),
            assets_optional=_one_of(given, "assets", ("required", "optional")) == "optional",
            own_credentials=_one_of(given, "deployWith", ("roles", "credentials")) == "credentials",
            canary=_switch(given, "canary"),
            snap_start=_switch(given, "snapStart"),
            transport=_one_of(given, "transport", ("auto", "botocore")),
            alarm_topic=_alarm_topic(given["alarmTopic"]),
            empty_answers=_whole(given, "emptyAnswers", 1_000_000),
            requests_per_second=_whole(given, "requestsPerSecond", 10_000),
            burst=_whole(given, "burst", 5_000),
            rates=Rates(*(_whole(given, name, MOST, least=0) for name in ("tenantRequests", "tenantReadUnits"))),
            lanes=_whole(given, "lanes", 1_000),
            query_read_units=_whole(given, "queryReadUnits", MOST_READ_UNITS),
            related_records=_whole(given, "relatedRecords", MOST_RELATED),
            table_units=TableUnits(_bound(given, "tableReadUnits"), _bound(given, "tableWriteUnits")),
            layout=layout,
            hidden=_hidden(given["hidden"], schema.layout, layout),
            protection=_switch(given, "protection"),
            waves=decode_waves(given["waves"], layout.indexes),
            reshard_waits=_reshard_waits(given),
            reshard_policy=_one_of(given, "reshardPolicy", MODES),
            operators=operators_of(given["operators"], issuer),
            memory_mb=_whole(given, "memory", 10_240, least=128),
            warm=_warm(given),
            concurrency=_concurrency(given),
            log_days=_log_days(given),
            domain=domain_of(given),
            encryption_key=encryption_key_of(given["encryptionKey"]),
            tags=tags_of(given["tags"]),
            target=target_of(given),
            table=existing_table_of(given["table"]),
            choices=encode_choices(given, CHOICES),
        )

    @property
    def protected(self) -> bool:
        """Whether what holds data is kept when the stack goes."""
        return self.stage not in THROWN_AWAY

    @property
    def locked(self) -> bool:
        """Whether neither the stack nor its table can be deleted without a second step."""
        return self.protected and self.protection

    def at(self, wave: Wave) -> Configuration:
        """The configuration of one wave."""
        layout = replace(self.layout, indexes=wave.indexes)
        return replace(self, layout=layout, hidden=wave.hidden, protection=wave.protection, waves=())

    @property
    def stage_record(self) -> StageRecord:
        """What the stage is deployed with, as far as that can't be taken back."""
        return StageRecord(self.key_format, manifest_of(self.schema))

    @property
    def warnings(self) -> dict[str, Fault]:
        """What can be synthesized, and hardly be meant, by the name of the warning."""
        found = {f"waves{number or ''}": fault for number, fault in enumerate(self.several_index_changes)}
        found |= {
            f"access{number or ''}": fault for number, fault in enumerate(access_advice(self.schema.entities.values()))
        }
        unreachable = out_of_reach(self.schema, self.issuer)
        return found if unreachable is None else found | {"claims": unreachable}

    @property
    def several_index_changes(self) -> list[Fault]:
        """That a stage which is deployed already can't be brought here by one deployment, unless this is a wave."""
        if self.layout is not self.schema.layout:
            return []
        return wave_faults(read_manifest(self.service), manifest_of(self.schema))

    @property
    def stack_name(self) -> str:
        return stack_name(self.service, self.stage)


def check_names(names: Iterable[str]) -> None:
    """Refuse a choice that does not exist: a name that is spelled otherwise would decide nothing. Raises
    ConfigurationError."""
    for name in names:
        if name not in CHOICES:
            if name.lower() in _OF_REGIONS:
                raise ConfigurationError(ONE_REGION, where=f"context `{name}`", fix="deploy a stage in each region")
            near = get_close_matches(name, CHOICES, 1)
            meant = f"it is spelled {near[0]}" if near else f"use some of {', '.join(CHOICES)}"
            raise ConfigurationError("there is no such choice.", where=f"context `{name[:80]}`", fix=meant)


def chosen_service(text: str) -> str:
    """The name of the service that is chosen. Raises ConfigurationError."""
    return named_service(text) if text else default_service()


def checked_stage(stage: str) -> str:
    """The name of a stage. Raises ConfigurationError for what can't be one."""
    if not _STAGE.fullmatch(stage):
        raise ConfigurationError(
            f"{stage!r} can't name a stage.",
            where="context `stage`",
            fix="use at most 30 lower-case letters, digits and dashes, beginning with a letter, such as prod",
        )
    return stage


def stack_name(service: str, stage: str) -> str:
    """The name of the stack of a service's stage."""
    return f"shardweave-{service.replace('_', '-')}-{stage}"


def _layout(layout: TableLayout, indexes: str) -> TableLayout:
    """The table of a wave, whose indexes are given as JSON; else the schema's own."""
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
    """Whether a table could have an index."""
    keys = all(key.name and key.type in get_args(KeyType) for key in (index.hash_key, index.range_key))
    return keys and (isinstance(index.projection, tuple) or index.projection in ("ALL", "KEYS_ONLY"))


def _hidden(text: str, *layouts: TableLayout) -> tuple[str, ...]:
    """The indexes that queries are not to use, each of which the table has or is to have."""
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


def _reshard_waits(given: Mapping[str, str]) -> str:
    text = given["reshardWaits"]
    if text != "normal" and given["stage"] not in THROWN_AWAY:
        raise ConfigurationError(
            "shorter waits than normal lose records when a process is slow.",
            where="context `reshardWaits`",
            fix=f"leave it out; it is for the stages {', '.join(THROWN_AWAY)}",
        )
    return encode_waits(decode_waits(text, "context `reshardWaits`"))


def _alarm_topic(arn: str) -> str:
    if arn and not _TOPIC.fullmatch(arn):
        raise ConfigurationError(
            f"{arn!r} is not the ARN of an SNS topic.",
            where="context `alarmTopic`",
            fix="use one like arn:aws:sns:eu-west-1:123456789012:alarms, or leave it out",
        )
    return arn


def _warm(given: Mapping[str, str]) -> int:
    warm = _whole(given, "warm", 1_000, least=0)
    if warm and _switch(given, "snapStart"):
        raise ConfigurationError(
            "Lambda keeps nothing started that starts from a snapshot.",
            where="context `warm`",
            fix="leave it out, or use -c snapStart=off",
        )
    return warm


def _concurrency(given: Mapping[str, str]) -> int | None:
    most = _bound(given, "concurrency", MOST_AT_ONCE)
    if most is not None and most < _warm(given):
        raise ConfigurationError(
            f"{given['warm']} are kept started, and fewer may run at once.",
            where="context `concurrency`",
            fix=f"use -c concurrency={given['warm']} or more, or a smaller -c warm",
        )
    return most


def _bound(given: Mapping[str, str], key: str, most: int = MOST_UNITS) -> int | None:
    """A bound that is there only where it is chosen."""
    return _whole(given, key, most) if given[key] else None


def _log_days(given: Mapping[str, str]) -> int:
    if not given["logDays"]:
        return THROWN_AWAY_LOG_DAYS if given["stage"] in THROWN_AWAY else LOG_DAYS
    return int(_one_of(given, "logDays", tuple(map(str, POSSIBLE_LOG_DAYS))))


def _switch(given: Mapping[str, str], key: str) -> bool:
    return _one_of(given, key, ("on", "off")) == "on"


def _one_of(given: Mapping[str, str], key: str, values: tuple[str, ...]) -> str:
    if given[key] not in values:
        raise ConfigurationError(
            f"{given[key]!r} is not one of its values.", where=f"context `{key}`", fix=f"use one of {', '.join(values)}"
        )
    return given[key]


def _whole(given: Mapping[str, str], key: str, most: int, least: int = 1) -> int:
    text = given[key]
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise ConfigurationError(
            f"{text[:40]!r} is not a whole number from {least:,} to {most:,}.",
            where=f"context `{key}`",
            fix=f"use -c {key}={CHOICES[key] or most}, say",
        )
    return int(text)


def _text(context: Context, key: str, default: str) -> str:
    given = context.try_get_context(key)
    if given is None:
        return default
    if not isinstance(given, str) or (not given and default):
        raise ConfigurationError(
            "must be a text that is not empty.",
            where=f"context `{key}`",
            fix=f"use -c {key}={default}" if default else f"use -c {key}=..., in quotes where it is in cdk.json",
        )
    return given
