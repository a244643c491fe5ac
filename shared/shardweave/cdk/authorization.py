"""Who may call a deployment, and who its operators are.

Guarantees: the API always requires authentication. With an issuer, callers send its tokens, which contain claims and
groups; without one, they sign with AWS credentials, and have no claims. So each operator must be able to authenticate
in this way, and without an issuer nobody can reach records that are bound to a claim.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..access.authorization import Authorization
from ..api.operators import EVERYBODY, GROUP, Operators
from ..errors import ConfigurationError, Fault
from ..schema.access_rules import GROUP_NAME
from ..schema.schema import Schema

LOOPBACK = ("127.0.0.1", "localhost")
_SIGNER = re.compile(r"arn:[\w-]+:(iam::\d{12}:(root|user/\S+)|sts::\d{12}:(assumed-role|federated-user)/\S+)")
_ROLE = re.compile(r"arn:[\w-]+:iam::\d{12}:role/(?:\S+/)?([^/\s]+)")


@dataclass(frozen=True)
class Issuer:
    """The issuer of callers' tokens, and the audience that the tokens must have."""

    url: str
    audiences: tuple[str, ...]


def issuer_of(url: str, audience: str, *, iam: bool, loopback: bool) -> Issuer | None:
    """The issuer of the choices `issuer` and `audience`; None: callers sign with AWS credentials, if `iam` allows it.
    `loopback`: the issuer may be on this machine, as with an emulator. Raises ConfigurationError."""
    if not url:
        if audience:
            raise ConfigurationError(
                "an audience says nothing without an issuer.",
                where="context `audience`",
                fix="name who signs tokens too: -c issuer=https://..., or take it back: -c audience=",
            )
        if not iam:
            raise ConfigurationError(
                "there is no issuer and IAM is off, so anybody could call the API.",
                where="context `iam`",
                fix="name who signs tokens with -c issuer=https://... -c audience=..., or leave IAM on",
            )
        return None
    if not _can_issue(url, loopback=loopback):
        raise ConfigurationError(
            "an issuer is the https address of who signs tokens.",
            where="context `issuer`",
            fix="use the `iss` of your tokens, such as -c issuer=https://login.example.com/",
        )
    audiences = tuple(part.strip() for part in audience.split(",") if part.strip())
    if not audiences:
        raise ConfigurationError(
            "without an audience the API would take tokens that were made for other applications.",
            where="context `audience`",
            fix="use the `aud` (or `client_id`) of your tokens, such as -c audience=orders",
        )
    return Issuer(url, audiences)


def _can_issue(text: str, *, loopback: bool) -> bool:
    try:
        url = urlsplit(text)
        named = bool(url.hostname) and not (url.query or url.fragment or url.username)
    except ValueError:
        return False
    if not named or re.search(r"\s", text):
        return False
    return loopback if url.hostname in LOOPBACK else url.scheme == "https"


def operators_of(text: str, issuer: Issuer | None) -> str:
    """The choice `operators`, if each of them can authenticate. Raises ConfigurationError."""
    operators = Operators.of_text(text)
    for principal in sorted(operators.principals):
        _check_principal(principal, issuer)
    for group in sorted(operators.groups):
        _check_group(group, issuer)
    return text


def _check_principal(principal: str, issuer: Issuer | None) -> None:
    role = _ROLE.fullmatch(principal)
    if principal == EVERYBODY:
        message, fix = "everybody can't be an operator.", "name them, one by one or by group"
    elif issuer is not None:
        if principal.startswith(f"{issuer.url} ") and principal.removeprefix(issuer.url).strip():
            return
        message = f"{principal[:120]!r} is nobody whom a token names."
        fix = f"use {GROUP}NAME, or the issuer and a token's `sub` with a space between: '{issuer.url} ann'"
    elif role is not None:
        message, fix = "a role does not call, its sessions do.", f"use {GROUP}role/{role[1]}"
    elif _SIGNER.fullmatch(principal):
        return
    else:
        message = f"{principal[:120]!r} is nobody who signs with AWS credentials."
        fix = f"use the ARN of a user or of a role's session, or {GROUP}role/NAME for every session of a role"
    raise ConfigurationError(message, where="context `operators`", fix=fix)


def _check_group(group: str, issuer: Issuer | None) -> None:
    if issuer is not None:
        if GROUP_NAME.fullmatch(group):
            return
        message = f"{group[:80]!r} is not a group name that tokens can carry."
        fix = f"use {GROUP}NAME, a group of the tokens without spaces, quotes and brackets in its name"
    elif re.fullmatch(r"role/\S+", group):
        return
    else:
        message = f"nobody who signs with AWS credentials is in the group {group[:80]!r}."
        fix = f"use {GROUP}role/NAME for the sessions of a role, or name who signs tokens: -c issuer=https://..."
    raise ConfigurationError(message, where="context `operators`", fix=fix)


def out_of_reach(schema: Schema, issuer: Issuer | None) -> Fault | None:
    """The fault that nobody could create or see records that are bound to claims, since no caller has claims."""
    claims = Authorization(schema.entities).claims
    if issuer is not None or not claims:
        return None
    bound = [entity.collection for entity in schema.entities.values() if entity.claims]
    return Fault(
        "context `issuer`",
        f"callers who sign with AWS credentials have no claims, so every request for {', '.join(bound)} is refused: "
        f"their records belong to what a token claims ({', '.join(claims)}).",
        "name who signs tokens: -c issuer=https://... -c audience=...",
    )
