"""Development tokens: made by the command line, believed by the local server, and by it alone."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.access.tokens import decode_token, encode_token
from shardweave.api.authorizer_claims import caller_of
from shardweave.api.lambda_event import verified_token
from shardweave.database.data_folder import DataFolder
from shardweave.errors import Unauthenticated
from shardweave.local.authorizer import LocalAuthorizer
from tests.unit.cli_world import NOW, shardweave

SECRET = b"0123456789abcdef0123456789abcdef"
SECONDS = NOW // 1000
TOKEN = encode_token({"sub": "ann", "tenant": "acme", "groups": ["admin", "reader"]}, SECRET, now=SECONDS, seconds=60)


def authorized(token: str, now: int = NOW, secret: bytes = SECRET) -> dict[str, Any]:
    return LocalAuthorizer(secret, lambda: now).authorize({"authorization": f"Bearer {token}"})


def test_the_caller_is_who_the_token_says() -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    caller = caller_of({"headers": headers, "requestContext": {"authorizer": authorized(TOKEN)}})
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
    with pytest.raises(Unauthenticated, match="must be a bearer token"):
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


def test_no_token_is_made_for_a_folder_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "typo"
    made = shardweave("token", "--data", str(missing))
    assert made.code != 0
    assert "--data" in made.errors
    assert not missing.exists()


@pytest.mark.parametrize(
    "arguments", [("--claim", "tenant"), ("--claim", "exp=1"), ("--group", "a b"), ("--hours", "0")]
)
def test_wrong_arguments_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        shardweave("token", *arguments)


def event_of(claims: dict[str, Any], flattened: dict[str, str], token: str | None = None) -> dict[str, Any]:
    """An event with a token of these claims, which the authorizer gives flattened so."""
    headers = {"Authorization": f"Bearer {token or verified_token(claims)}"}
    return {"headers": headers, "requestContext": {"authorizer": {"jwt": {"claims": {"sub": "ann", **flattened}}}}}


@pytest.mark.parametrize("claim", ["groups", "cognito:groups"])
@pytest.mark.parametrize(
    ("groups", "flattened", "found"),
    [
        (["admin", "reader"], "[admin reader]", {"admin", "reader"}),
        (["a", "b"], "[a, b]", {"a", "b"}),
        (["a", "b"], "['a', 'b']", {"a", "b"}),
        (["sales admin"], "[sales admin]", {"sales admin"}),
        (["sales,admin", "x"], "[sales,admin x]", {"sales,admin", "x"}),
        (["[admin]"], "[[admin]]", {"[admin]"}),
        ("[admin]", "[admin]", {"[admin]"}),
        ("one", "one", {"one"}),
        ("sales admin", "sales admin", {"sales admin"}),
        ([], "[]", set()),
        ("", "", set()),
        ([["admin"], 5, None, True], "[[admin] 5 <nil> true]", set()),
        ({"admin": True}, "map[admin:true]", set()),
    ],
)
def test_groups_are_those_of_the_token_however_they_are_flattened(
    claim: str, groups: Any, flattened: str, found: set[str]
) -> None:
    assert caller_of(event_of({"sub": "ann", claim: groups}, {claim: flattened})).groups == found


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=4))
def test_nobody_is_in_a_group_that_no_member_of_the_list_is(groups: list[str]) -> None:
    caller = caller_of(event_of({"sub": "ann", "groups": groups}, {"groups": f"[{' '.join(groups)}]"}))
    assert caller.groups == set(groups)


@pytest.mark.parametrize(
    "token",
    [
        "none.at.all",
        "e30",
        verified_token({"sub": "bob", "groups": ["admin"]}),
        verified_token({"sub": "ann", "iss": "https://other", "groups": ["admin"]}),
        verified_token({"sub": "ann", "groups": ["adm", "in", "more"]}),
        verified_token({"sub": "ann", "groups": "admin"}),
        verified_token({"sub": "ann"}),
    ],
)
def test_a_list_that_the_token_does_not_explain_gives_no_right(token: str) -> None:
    caller = caller_of(event_of({}, {"groups": "[admin]"}, token))
    assert (caller.groups, caller.unread) == (frozenset(), {"groups"})


def test_a_list_is_no_value_of_a_claim_that_records_belong_to() -> None:
    listed = caller_of(event_of({"sub": "ann", "tenant": ["a", "b"]}, {"tenant": "[a b]"}))
    text = caller_of(event_of({"sub": "ann", "tenant": "[a b]"}, {"tenant": "[a b]"}))
    assert ("tenant" in listed.claims, text.claims["tenant"]) == (False, "[a b]")


def test_a_session_of_a_role_is_in_the_group_of_the_role() -> None:
    arn = "arn:aws:sts::111122223333:assumed-role/Movers/ann"
    caller = caller_of({"requestContext": {"authorizer": {"iam": {"userArn": arn}}}})
    assert (caller.principal, caller.groups) == (arn, frozenset({"role/Movers"}))
