"""Development tokens: made by the command line, believed by the local server, and by it alone."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.authorizer import LocalAuthorizer
from shardweave.access.tokens import decode_token, encode_token
from shardweave.api.caller import caller_of
from shardweave.data_folder import DataFolder
from shardweave.errors import Unauthenticated
from tests.unit.cli_world import NOW, shardweave

SECRET = b"0123456789abcdef0123456789abcdef"
SECONDS = NOW // 1000
TOKEN = encode_token({"sub": "ann", "tenant": "acme", "groups": ["admin", "reader"]}, SECRET, now=SECONDS, seconds=60)


def authorized(token: str, now: int = NOW, secret: bytes = SECRET) -> dict[str, Any]:
    return LocalAuthorizer(secret, lambda: now).authorize({"authorization": f"Bearer {token}"})


def test_the_caller_is_who_the_token_says() -> None:
    caller = caller_of({"requestContext": {"authorizer": authorized(TOKEN)}})
    assert (caller.principal, caller.subject, caller.claims["tenant"]) == ("local ann", "ann", "acme")
    assert caller.groups == {"admin", "reader"}


def test_a_request_without_a_token_is_from_nobody() -> None:
    assert LocalAuthorizer(SECRET).authorize({}) == {}
    assert not caller_of({"requestContext": {"authorizer": {}}}).is_known


def test_a_token_ends() -> None:
    assert authorized(TOKEN, NOW + 59_000)
    for now in (NOW + 60_000, NOW - 61_000):
        with pytest.raises(Unauthenticated, match="has ended"):
            authorized(TOKEN, now)


def test_a_token_of_another_folder_is_refused() -> None:
    with pytest.raises(Unauthenticated, match="not one of this server"):
        authorized(TOKEN, secret=SECRET[::-1])


@given(st.integers(0, len(TOKEN) - 1), st.characters(exclude_categories=()))
def test_a_token_with_any_character_changed_is_refused(at: int, character: str) -> None:
    changed = TOKEN[:at] + character + TOKEN[at + 1 :]
    if changed != TOKEN:
        with pytest.raises(Unauthenticated):
            decode_token(changed, SECRET, now=SECONDS)


def test_a_token_can_not_choose_how_it_is_verified() -> None:
    header = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    _, claims, _ = TOKEN.split(".")
    for forged in (f"{header}.{claims}.", f"{claims}.", "", ".", "..", f"{header}.{claims}.{'A' * 43}", "a" * 10_000):
        with pytest.raises(Unauthenticated):
            decode_token(forged, SECRET, now=SECONDS)


def test_what_is_no_bearer_token_is_refused() -> None:
    with pytest.raises(Unauthenticated, match="no bearer token"):
        LocalAuthorizer(SECRET).authorize({"authorization": "Basic YTpi"})


def test_the_command_line_makes_one_with_the_secret_of_the_folder(tmp_path: Path) -> None:
    made = shardweave(
        *("token", "--data", str(tmp_path), "--claim", "tenant=acme", "--claim", "region=eu=1"),
        *("--group", "admin", "--group", "reader", "--subject", "ann", "--hours", "1"),
    )
    claims = decode_token(made.output.strip(), DataFolder(tmp_path).token_secret(), now=SECONDS + 3599)
    assert claims == {
        "iss": "local",
        "sub": "ann",
        "tenant": "acme",
        "region": "eu=1",
        "groups": ["admin", "reader"],
        "iat": SECONDS,
        "exp": SECONDS + 3600,
    }
    assert (tmp_path / "token-keys.json").stat().st_mode & 0o777 == 0o600
    assert json.loads((tmp_path / "token-keys.json").read_text())


@pytest.mark.parametrize(
    "arguments", [("--claim", "tenant"), ("--claim", "exp=1"), ("--group", "a b"), ("--hours", "0")]
)
def test_wrong_arguments_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        shardweave("token", *arguments)


@pytest.mark.parametrize(
    ("groups", "found"),
    [("[admin reader]", {"admin", "reader"}), ("[a, b]", {"a", "b"}), ("one", {"one"}), ("[]", set()), ("", set())],
)
def test_groups_are_read_as_api_gateway_gives_them(groups: str, found: set[str]) -> None:
    for claim in ("groups", "cognito:groups"):
        claims = {"sub": "ann", claim: groups}
        assert caller_of({"requestContext": {"authorizer": {"jwt": {"claims": claims}}}}).groups == found


def test_a_session_of_a_role_is_in_the_group_of_the_role() -> None:
    arn = "arn:aws:sts::111122223333:assumed-role/Movers/ann"
    caller = caller_of({"requestContext": {"authorizer": {"iam": {"userArn": arn}}}})
    assert (caller.principal, caller.groups) == (arn, frozenset({"role/Movers"}))
