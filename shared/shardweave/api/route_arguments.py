"""The arguments of a route's function, from its signature: each parameter, and where its value comes from.

An invalid signature raises a ConfigurationError that names the parameter, when the service is built.
"""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from ..access.authorization import refusal
from ..database.database import Database
from ..errors import ConfigurationError, InputError, ValidationFailed
from ..routing import ANY_CALLER, Claim, Clock, Route, TimeLeft
from ..schema.caller import Caller
from ..schema.entity import Entity
from ..schema.property import Property
from ..values.codecs import codec_of
from ..values.json_types import as_declared, json_form
from ..values.json_validation import read_model
from ..wire.parameter import Parameter, ParameterFamily
from .caller_database import CallerDatabase
from .operation import Body, Call

if TYPE_CHECKING:
    from .parts import Parts

Read = Callable[[Call], Any]
"""A function from a request to a parameter's value; `NOT_GIVEN` if it was not sent."""

_IN_PATH = re.compile(r"\{(\w+)\}")
_AT_THE_END = re.compile(r"(/[^{}]+)*(/\{\w+\})*")
NOT_GIVEN = inspect.Parameter.empty


@dataclass(frozen=True)
class Arguments:
    """The parameters of a function, by name, and how they are described."""

    reads: dict[str, Read]
    path: tuple[Parameter, ...] = ()
    query: tuple[Parameter, ...] = ()
    families: tuple[ParameterFamily, ...] = ()
    body: Body | None = None
    answered: Any = None
    of_everybody: bool = False

    def of(self, call: Call) -> dict[str, Any]:
        """The arguments for a request. Raises ValidationFailed."""
        given = {name: read(call) for name, read in self.reads.items()}
        return {name: value for name, value in given.items() if value is not NOT_GIVEN}


def arguments_of(route: Route[..., Any], parts: Parts) -> Arguments:
    """The parameters of a route. Raises ConfigurationError."""
    hints = _hints(route)
    in_path = _IN_PATH.findall(route.path)
    reads: dict[str, Read] = {}
    path: dict[str, Parameter] = {}
    query: list[Parameter] = []
    families: list[ParameterFamily] = []
    body: Body | None = None
    for name, declared in inspect.signature(route.function).parameters.items():
        if name not in hints or declared.kind in (
            declared.VAR_POSITIONAL,
            declared.VAR_KEYWORD,
            declared.POSITIONAL_ONLY,
        ):
            raise _wrong(route, f"the parameter {name!r} must have a type, and be given by name", "write name: str")
        annotation = hints[name]
        part = _part(annotation, parts)
        if part is not None:
            reads[name] = part
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel) and not issubclass(annotation, Entity):
            if body is not None or route.method == "GET":
                raise _wrong(route, f"{name!r} would be a body, and there can be none, or one", "leave one model")
            body = Body(annotation)
            reads[name] = _body_reader(annotation)
        elif _plain(annotation) == dict[str, str]:
            families.append(_family(name, annotation))
            reads[name] = _family_reader(families[-1], declared)
        else:
            place = _property(route, name, annotation, declared)
            parameter = _described(place, declared)
            claim = next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Claim)), None)
            if claim is not None:
                reads[name] = _claim_reader(place, claim.name)
            elif name in in_path:
                path[name] = parameter
                reads[name] = _reader(place, "path")
            else:
                query.append(parameter)
                reads[name] = _reader(place, "query")
    missing = [name for name in in_path if name not in path]
    if missing:
        raise _wrong(route, f"the path has {missing[0]!r} and the function does not", f"take {missing[0]}: str")
    if not _AT_THE_END.fullmatch(route.path):
        raise _wrong(route, "the path's parameters must stand at its end", 'give "/v1/order-notes/{order_id}", say')
    in_order = tuple(path[name] for name in in_path)
    of_everybody = any(ANY_CALLER in typing.get_args(each) for each in hints.values())
    return Arguments(reads, in_order, tuple(query), tuple(families), body, hints.get("return", NOT_GIVEN), of_everybody)


def path_of(route: Route[..., Any]) -> str:
    """The route's path, its parameters by their JSON names."""
    return _IN_PATH.sub(lambda match: f"{{{to_camel(match[1])}}}", route.path)


def _hints(route: Route[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(route.function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise _wrong(route, f"its types can't be read: {error}", "import them where the module begins") from None


def _part(annotation: Any, parts: Parts) -> Read | None:
    """The function that returns a part such as the database; None for a value from the request."""
    if annotation is Caller:
        return lambda call: call.caller
    if annotation is Clock:
        return lambda call: Clock(parts.queries.now_ms)
    if annotation is TimeLeft:
        return lambda call: _time_left(call, parts.queries.monotonic)
    if annotation is Database:
        return lambda call: CallerDatabase(parts.store, parts.queries, parts.access, call.caller)
    if ANY_CALLER in typing.get_args(annotation):
        return lambda call: Database.over(parts.store, parts.queries)
    return None


def _time_left(call: Call, monotonic: Callable[[], float]) -> TimeLeft:
    began, allowed = monotonic(), math.inf if call.time_left_ms is None else call.time_left_ms
    return TimeLeft(lambda: allowed - (monotonic() - began) * 1000)


def _claim_reader(place: Property, claim: str) -> Read:
    def read(call: Call) -> Any:
        text = call.caller.claims.get(claim, "")
        if not text:
            raise refusal(call.caller, f"the caller has no claim {claim!r} that is one text", claim)
        try:
            return place.read_text(text, (claim,))
        except InputError:
            raise refusal(
                call.caller, f"the caller's claim {claim!r} is not a value that {place.name} can have", claim
            ) from None

    return read


def _body_reader(model: type[BaseModel]) -> Read:
    form: list[type[BaseModel]] = []

    def read(call: Call) -> BaseModel:
        if not form:
            # It takes milliseconds to make, so it is deferred from the cold start to the first request.
            form.append(json_form(model))
        try:
            return as_declared(model, read_model(form[0], call.document))
        except ValidationFailed as failed:
            failed.where = "body"
            raise

    return read


def _property(route: Route[..., Any], name: str, annotation: Any, declared: inspect.Parameter) -> Property:
    stored = to_camel(name)
    given = declared.default is not NOT_GIVEN
    try:
        codec = codec_of(annotation)
        return Property(name, stored, annotation, codec, None, required=not given, has_default=given)
    except TypeError as error:
        raise _wrong(route, f"the parameter {name!r} can't be of its type: {error}", "use a plain type") from None


def _plain(annotation: Any) -> Any:
    return typing.get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def _family(name: str, annotation: Any) -> ParameterFamily:
    """The query parameters of a `dict[str, str]`: one for each of its keys."""
    return ParameterFamily(f"{to_camel(name)}.", "NAME", _said(annotation))


def _family_reader(family: ParameterFamily, declared: inspect.Parameter) -> Read:
    def read(call: Call) -> Any:
        found = {name.removeprefix(family.prefix): text for name, text in call.query.items() if family.has(name)}
        return NOT_GIVEN if not found and declared.default is not NOT_GIVEN else found

    return read


def _said(annotation: Any) -> str:
    metadata = getattr(annotation, "__metadata__", ())
    return next((each.description for each in metadata if isinstance(each, FieldInfo) and each.description), "")


def _described(place: Property, declared: inspect.Parameter) -> Parameter:
    said = _said(place.annotation)
    default = None if declared.default is NOT_GIVEN else declared.default
    shown = default if isinstance(default, (str, int, float, bool)) else None
    return Parameter(place.stored, said, place.annotation, shown, required=declared.default is NOT_GIVEN)


def _reader(place: Property, where: str) -> Read:
    def read(call: Call) -> Any:
        text = getattr(call, where).get(place.stored)
        return NOT_GIVEN if text is None else place.read_text(text, (place.stored,))

    return read


def _wrong(route: Route[..., Any], message: str, fix: str) -> ConfigurationError:
    return ConfigurationError(message, where=route.place, fix=fix)
