"""The choices of a deployment, as given in the CDK's context: names, meanings, defaults and possible values.

    cdk deploy -c service=user_service -c stage=prod -c issuer=https://login.example.com/ -c audience=orders

`Choices` is the only list of them. Every choice is given as text; the model has its value, and refuses an invalid text
with the choice's name. Checks that look something up, or compare choices, are in `Configuration`.
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
"""The retention periods that CloudWatch allows."""

ONE_REGION = (
    "a table has one region: DynamoDB evaluates conditions a region at a time, so with replicas revisions, unique "
    "values, sequences and re-shards would not hold."
)
_OF_REGIONS = ("replica", "replicas", "regions", "replicaregions", "globaltable")
_ON_OFF = {"on": True, "off": False}


def _switch(text: object) -> object:
    """True for `on`, False for `off`; anything else is returned unchanged, and refused by the model."""
    return _ON_OFF.get(text, text) if isinstance(text, str) else text


def _digits(text: object) -> object:
    """A whole number in digits only, without signs, spaces and separators; None for an empty text."""
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
    """The choices of one deployment. A limit that is None is the account's."""

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
        """The choices of some texts. Raises ConfigurationError for the first invalid text."""
        try:
            return cls.model_validate({name: text for name, text in given.items() if text != CHOICES[name]})
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            name = str(fault["loc"][0])
            raise _refusal(name, _FIELDS[name], given[name]) from None


class Context(Protocol):
    """The source of choices: a CDK node."""

    def try_get_context(self, key: str) -> object: ...


def texts_of(context: Context) -> dict[str, str]:
    """The text of every choice; the default's text for a choice that is not given. Raises ConfigurationError for a
    choice that is not text."""
    return {name: _text(context, name, default) for name, default in CHOICES.items()}


def check_names(names: Iterable[str]) -> None:
    """Refuse an unknown choice: a misspelled name would have no effect. Raises ConfigurationError."""
    for name in names:
        if name not in CHOICES:
            if name.lower() in _OF_REGIONS:
                raise ConfigurationError(ONE_REGION, where=f"context `{name}`", fix="deploy a stage in each region")
            near = get_close_matches(name, CHOICES, 1)
            meant = f"it is spelled {near[0]}" if near else f"use some of {', '.join(CHOICES)}"
            raise ConfigurationError("there is no such choice.", where=f"context `{name[:80]}`", fix=meant)


def checked_stage(stage: str) -> str:
    """The name of a stage. Raises ConfigurationError for an invalid name."""
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
    """The error for an invalid text of a choice."""
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
    """The possible texts of a choice that has a fixed set of values."""
    values = getattr(field.annotation, "__args__", ())
    return [_text_of(value) for value in values if value is not None]
