"""The composition root: settings, services, cursor keys as text."""

from __future__ import annotations

import pytest

from shardweave.api.rate_limit import Rates
from shardweave.errors import ConfigurationError
from shardweave.query.cursor import CursorKeys
from shardweave.service.build import Settings, build, decode_cursor_keys, encode_cursor_keys
from shardweave.service.files import service_names
from shardweave.service.loader import service_module
from tests.unit.api_world import CURSOR_KEYS, Client, user_service


def test_cursor_keys_come_back_from_their_text() -> None:
    keys = CursorKeys("new", {"new": bytes(range(32)), "old": b"x" * 16})
    again = decode_cursor_keys(encode_cursor_keys(keys))
    assert (again.current, dict(again.secrets)) == (keys.current, dict(keys.secrets))


UNREADABLE = (
    "",
    "secret!",
    "[]",
    "{}",
    '{"current": "a"}',
    '{"current": "a", "secrets": ["secret!"]}',
    '{"current": "a", "secrets": {"a": "secret!"}}',
    '{"current": "a", "secrets": {"a": 5}}',
)


@pytest.mark.parametrize("text", UNREADABLE)
def test_unreadable_cursor_keys_are_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        decode_cursor_keys(text)
    assert "secret!" not in str(caught.value)
    assert caught.value.fix


def test_settings_come_from_the_environment() -> None:
    variables = {"TABLE_NAME": "t", "SERVICE": "user_service", "KEY_FORMAT": "article", "THROTTLE": "8"}
    settings = Settings.from_environment(variables, CURSOR_KEYS)
    assert (settings.table_name, settings.service, settings.key_format, settings.throttle) == (
        "t",
        "user_service",
        "article",
        8,
    )
    assert Settings.from_environment({"TABLE_NAME": "t"}, CURSOR_KEYS) == Settings(CURSOR_KEYS, table_name="t")


BOUNDS = {"THROTTLE": "throttle", "QUERY_READ_UNITS": "max_read_units", "RELATED_RECORDS": "max_related"}


def test_what_a_tenant_may_ask_for_comes_from_the_environment() -> None:
    variables = {"TABLE_NAME": "t", "TENANT_REQUESTS": "600", "TENANT_READ_UNITS": "0"}
    assert Settings.from_environment(variables, CURSOR_KEYS).rates == Rates(requests=600)
    with pytest.raises(ConfigurationError, match="TENANT_READ_UNITS"):
        Settings.from_environment({**variables, "TENANT_READ_UNITS": "-1"}, CURSOR_KEYS)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_comes_from_the_environment_and_is_a_number(name: str) -> None:
    settings = Settings.from_environment({"TABLE_NAME": "t", name: "7"}, CURSOR_KEYS)
    assert getattr(settings, BOUNDS[name]) == 7
    for wrong in ("", "0", "-1", "1.5", "²", "many", "9" * 5000):
        with pytest.raises(ConfigurationError, match=name):
            Settings.from_environment({"TABLE_NAME": "t", name: wrong}, CURSOR_KEYS)


def test_an_unknown_service_is_refused_with_those_there_are() -> None:
    assert "user_service" in service_names()
    with pytest.raises(ConfigurationError, match="user_service"):
        service_module("os")
    with pytest.raises(ConfigurationError, match="ordered"):
        build(Settings(cursor_keys=CURSOR_KEYS, table_name="t", key_format="nosuch"))


@pytest.mark.parametrize("key_format", ["ordered", "article", "entity_manager"])
def test_the_same_api_serves_every_key_format(key_format: str) -> None:
    client = Client(user_service(key_format=key_format).api)
    user = {"userId": "u", "firstName": "Ann", "lastName": "B", "beneficiaryId": "b"}
    assert client.post("/v1/users", user).status == 201
    assert b'"Ann"' in client.get("/v1/users?firstNameCanonical.prefix=an").body


def test_settings_do_not_show_secrets() -> None:
    assert "0123456789abcdef" not in repr(Settings(cursor_keys=CURSOR_KEYS))
