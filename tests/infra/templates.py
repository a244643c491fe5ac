"""Reading templates: resources of a kind, and what roles may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Template = Mapping[str, Any]


def resources(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """The resources of a kind by logical name."""
    return {name: dict(each) for name, each in template["Resources"].items() if each["Type"] == kind}


def properties(template: Template, kind: str, part: str = "") -> dict[str, Any]:
    """The properties of the one resource of a kind whose logical name has this part."""
    (found,) = (each for name, each in resources(template, kind).items() if part in name)
    return dict(found["Properties"])


def statements(template: Template, part: str = "") -> Iterator[dict[str, Any]]:
    """The statements of the policies whose logical name has this part, with lists for actions and resources."""
    for name, each in resources(template, "AWS::IAM::Policy").items():
        for statement in each["Properties"]["PolicyDocument"]["Statement"] if part in name else ():
            yield {**statement, "Action": as_list(statement["Action"]), "Resource": as_list(statement["Resource"])}


def as_list(one_or_many: Any) -> list[Any]:
    """What IAM writes as one value or as a list of them."""
    return list(one_or_many) if isinstance(one_or_many, list) else [one_or_many]
