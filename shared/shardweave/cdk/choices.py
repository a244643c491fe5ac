"""The choices of a deployment, as the CDK's context gives them: their names, meanings, defaults and what each may be.

    cdk deploy -c service=user_service -c stage=prod -c issuer=https://login.example.com/ -c audience=orders

`Choices` is the one list of them. Every choice is given as a text; the model has it as what it means, and refuses by
the choice's own name what it can't be. What has to be looked up, or goes together, is checked where a `Configuration`
is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from ..api.expansion import MAX_RELATED, MOST_RELATED
from ..api.rate_limit import MOST
from ..errors import ConfigurationError
from ..keys.key_format import KEY_FORMATS
from ..query.fanout import DEFAULT_THROTTLE
from ..query.runner import MAX_READ_UNITS, MOST_READ_UNITS
from ..reshard.load.policy import MODES

THROWN_AWAY = ("dev", "local", "test")
MOST_AT_ONCE, MOST_UNITS = 10_000, 1_000_000
POSSIBLE_LOG_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
"""What CloudWatch takes."""

ONE_REGION = (
    "a table has one region: DynamoDB evaluates conditions a region at a time, so with replicas revisions, unique "
    "values, sequences and re-shards would not hold."
)
_OF_REGIONS = ("replica", "replicas", "regions", "replicaregions", "globaltable")
_ON_OFF = {"on": True, "off": False}


def _switch(text: object) -> object:
    """What `on` and `off` mean; anything else as it is, which is neither."""
    return _ON_OFF.get(text, text) if isinstance(text, str) else text


def _digits(text: object) -> object:
    """A whole number as people write it: without signs, spaces and separators; an empty text is none."""
    if not isinstance(text, str):
        return text
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        raise ValueError("not digits")
    return int(text)


Switch = Annotated[Literal[True, False], BeforeValidator(_switch)]
Whole = Annotated[int, BeforeValidator(_digits)]
Bound = Annotated[int | None, BeforeValidator(_digits)]


class Choices(BaseModel):
    """What is chosen for one deployment. A bound that is None is the account's."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", alias_generator=to_camel, regex_engine="python-re"
    )

    service: str = Field("", description="the service's name, or the path of its module; without it the only one")
    stage: str = Field(
        "dev", pattern=r"^[a-z][a-z0-9-]{0,29}\Z", description="names the stack, and decides what is protected"
    )
    key_format: Literal[*KEY_FORMATS] = Field("ordered", description="how keys are written")
    issuer: str = Field("", description="who signs the tokens of callers")
    audience: str = Field("", description="for whom tokens are signed; several are separated by commas")
    iam: Switch = Field(
        True, description="on: without an issuer, callers sign with AWS credentials; off: the stack refuses to be open"
    )
    layer: Literal["target", "host"] = Field(
        "target", description="target: for Lambda; host: for an emulator on this machine"
    )
    assets: Literal["required", "optional"] = Field(
        "required", description="optional: a template is good enough where the layer's packages can't be had"
    )
    deploy_with: Literal["roles", "credentials"] = Field(
        "roles", description="roles: those that `cdk bootstrap` made; credentials: your own do it all"
    )
    canary: Switch = Field(False, description="on: a tenth of the calls goes to a new version for five minutes first")
    snap_start: Switch = Field(False, description="on: functions start from a snapshot")
    transport: Literal["auto", "botocore"] = Field(
        "auto", description="botocore: all requests to the table; auto: those on items go over our own transport"
    )
    alarm_topic: str = Field(
        "",
        pattern=r"^(arn:[\w-]+:sns:[\w-]*:\d{12}:[\w.-]{1,256})?\Z",
        description="the ARN of the SNS topic that alarms are sent to",
    )
    empty_answers: Whole = Field(200, ge=1, le=1_000_000, description="how many in five minutes are an alarm")
    requests_per_second: Whole = Field(100, ge=1, le=10_000, description="the most requests that the API takes")
    burst: Whole = Field(200, ge=1, le=5_000, description="the most requests that the API takes at once")
    tenant_requests: Whole = Field(
        0, ge=0, le=MOST, description="requests that one tenant may send in a minute; 0 is no limit"
    )
    tenant_read_units: Whole = Field(
        0, ge=0, le=MOST, description="read units that one tenant may use in a minute; 0 is no limit"
    )
    lanes: Whole = Field(DEFAULT_THROTTLE, ge=1, le=1_000, description="reads at once for one query")
    query_read_units: Whole = Field(
        MAX_READ_UNITS, ge=1, le=MOST_READ_UNITS, description="the read units that one query may spend"
    )
    related_records: Whole = Field(
        MAX_RELATED, ge=1, le=MOST_RELATED, description="the related records that one request may read"
    )
    table_read_units: Bound = Field(
        None, ge=1, le=MOST_UNITS, description="the most read units a second of the table, and of each index"
    )
    table_write_units: Bound = Field(
        None, ge=1, le=MOST_UNITS, description="the most write units a second of the table"
    )
    reshard_waits: str = Field(
        "normal",
        min_length=1,
        description="how long the phases of a re-shard last: normal, or, for stages that are thrown away, fast or JSON",
    )
    reshard_policy: Literal[*MODES] = Field(
        "propose", description="off; propose: an alarm says when more shards would help; apply: they are made then"
    )
    operators: str = Field(
        "",
        description="who may move records and send events: group:NAME, ARNs, or a token's issuer and subject with a "
        "space between, by commas",
    )
    memory: Whole = Field(
        1769, ge=128, le=10_240, description="megabytes of the API's function, whose share of a core grows with it"
    )
    warm: Whole = Field(0, ge=0, le=1_000, description="how many of the API's function are kept started")
    concurrency: Bound = Field(
        None, ge=1, le=MOST_AT_ONCE, description="how many of the API's function run at once, reserved for it"
    )
    log_days: Annotated[Literal[None, *POSSIBLE_LOG_DAYS], BeforeValidator(_digits)] = Field(
        None, description="how long logs are kept: 90 days, 7 where a stage is thrown away"
    )
    domain: str = Field("", description="a domain of one's own for the API")
    certificate: str = Field("", description="the ARN of the domain's certificate")
    encryption_key: str = Field(
        "", description="the ARN of the KMS key that encrypts records and key rings: one of AWS"
    )
    tags: str = Field("", description="tags of every resource, besides service and stage: name=value, by commas")
    account: str = Field("", description="the account where the stage belongs; another is refused")
    region: str = Field("", description="the region where the stage belongs; another is refused")
    table: str = Field("", description="the ARN of the stream of a table that is used in place of an own one")
    indexes: str = Field("", description="one wave of `./run deploy`: the indexes that the table is to have")
    hidden: str = Field("", description="one wave of `./run deploy`: the indexes that are not to be read yet")
    protection: Switch = Field(
        True, description="off: a first deployment of `./run deploy`, so that one that fails can be taken back"
    )
    waves: str = Field("", description="the deployments that `./run deploy` makes of one synthesis: JSON, see `waves`")

    @classmethod
    def of_texts(cls, given: Mapping[str, str]) -> Choices:
        """The choices that texts make. Raises ConfigurationError for the first text that can't be what it chooses."""
        try:
            return cls.model_validate({name: text for name, text in given.items() if text != CHOICES[name]})
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            name = str(fault["loc"][0])
            raise _refusal(name, _FIELDS[name], given[name]) from None


class Context(Protocol):
    """Where choices come from: a CDK node."""

    def try_get_context(self, key: str) -> object: ...


def texts_of(context: Context) -> dict[str, str]:
    """The text of every choice, that of its default where none is given. Raises ConfigurationError for what is no
    text."""
    return {name: _text(context, name, default) for name, default in CHOICES.items()}


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


def checked_stage(stage: str) -> str:
    """The name of a stage. Raises ConfigurationError for what can't be one."""
    return Choices.of_texts({"stage": stage}).stage


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else str(value)


_FIELDS: Mapping[str, FieldInfo] = {str(field.alias): field for field in Choices.model_fields.values()}
CHOICES: Mapping[str, str] = {name: _text_of(field.default) for name, field in _FIELDS.items()}
"""The default of every choice, as a text."""


def _text(context: Context, name: str, default: str) -> str:
    given = context.try_get_context(name)
    if given is None:
        return default
    if not isinstance(given, str) or (not given and default):
        raise ConfigurationError(
            "must be a text that is not empty.",
            where=f"context `{name}`",
            fix=f"use -c {name}={default}" if default else f"use -c {name}=..., in quotes where it is in cdk.json",
        )
    return given


def _refusal(name: str, field: FieldInfo, text: str) -> ConfigurationError:
    """Why a text can't be what it chooses."""
    where = f"context `{name}`"
    if name == "stage":
        fix = "use at most 30 lower-case letters, digits and dashes, beginning with a letter, such as prod"
        return ConfigurationError(f"{text!r} can't name a stage.", where=where, fix=fix)
    if name == "alarmTopic":
        fix = "use one like arn:aws:sns:eu-west-1:123456789012:alarms, or leave it out"
        return ConfigurationError(f"{text!r} is not the ARN of an SNS topic.", where=where, fix=fix)
    least = next((each.ge for each in field.metadata if hasattr(each, "ge")), None)
    most = next((each.le for each in field.metadata if hasattr(each, "le")), None)
    if most is not None:
        message = f"{text[:40]!r} is not a whole number from {least:,} to {most:,}."
        return ConfigurationError(message, where=where, fix=f"use -c {name}={CHOICES[name] or most}, say")
    fix = f"use one of {', '.join(_values(field))}"
    return ConfigurationError(f"{text!r} is not one of its values.", where=where, fix=fix)


def _values(field: FieldInfo) -> list[str]:
    """The texts of a choice that has some values and no others."""
    values = getattr(field.annotation, "__args__", ())
    return [_text_of(value) for value in values if value is not None]
