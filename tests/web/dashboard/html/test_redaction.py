"""What looks like a secret is not shown, and what does not is."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.web.dashboard.html.redaction import HIDDEN, TOO_DEEP, plain_text, without_credentials, without_secrets

SCHEMA: JsonObject = {
    "properties": {
        "combination": {"type": "string", "format": "password"},
        "lock": {"properties": {"code": {"writeOnly": True}}},
        "locks": {"items": {"properties": {"code": {"writeOnly": True}}}},
        "spare": {"additionalProperties": {"format": "password"}},
    }
}


@pytest.mark.parametrize(
    "name",
    ["password", "adminPassword", "db_passwd", "API_KEY", "accessKey", "privateKey", "token", "client_secret", "auth"],
)
@pytest.mark.parametrize("value", ["hunter2", 4711, ["hunter2"], {"value": "hunter2"}])
def test_by_its_name(name: str, value: Json) -> None:
    assert without_secrets({"outputs": [{name: value}]}) == {"outputs": [{name: HIDDEN}]}


@pytest.mark.parametrize("value", [True, None, "", [], {}])
def test_that_there_is_none_is_no_secret(value: Json) -> None:
    assert without_secrets({"password": value}) == {"password": value}


def test_by_its_schema() -> None:
    value: JsonObject = {
        "combination": "1-2-3",
        "lock": {"code": "1", "side": "left"},
        "locks": [{"code": "2"}],
        "spare": {"a": "3"},
    }
    assert without_secrets(value, SCHEMA) == {
        "combination": HIDDEN,
        "lock": {"code": HIDDEN, "side": "left"},
        "locks": [{"code": HIDDEN}],
        "spare": {"a": HIDDEN},
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://admin:hunter2@db/app", "postgres://(hidden)@db/app"),
        (
            "https://token@git.example/x and https://git.example/y",
            "https://(hidden)@git.example/x and https://git.example/y",
        ),
        ("write to ops@example.com", "write to ops@example.com"),
        ("postgres://u:p@ssword@db/app", "postgres://(hidden)@db/app"),
        ("postgres://u:pa/ss@db/app", "postgres://(hidden)@db/app"),
        ("amqp://u:p?a#s@mq amqp://mq", "amqp://(hidden)@mq amqp://mq"),
        ("oci://registry:5000/app@sha256:1f", "oci://registry:5000/app@sha256:1f"),
        ("https://git.example/a:b@c", "https://git.example/a:b@c"),
    ],
)
def test_credentials_in_an_address(text: str, shown: str) -> None:
    assert without_secrets({"url": text}) == {"url": shown}
    assert plain_text(text) == shown


def test_what_was_meant_for_a_terminal_is_left_out() -> None:
    printed = "\x1b[1m\x1b[31mError:\x1b[0m no\r\nquota\x07\x1b]0;title\x07\tleft\x00"
    assert plain_text(printed) == "Error: no\nquota\tleft"


@pytest.mark.timeout(30)
def test_a_text_full_of_dots_takes_time_in_proportion_to_its_length() -> None:
    """A scheme could start at every second character, and each start was followed to the end: hours for this one."""
    text = "a." * 500_000
    assert without_credentials(text) == text
    many = "a://b:" * 100_000
    assert without_credentials(many) == many
    assert without_credentials(f"{text} https://user:pw@host/x").endswith(f"https://{HIDDEN}@host/x")


def test_what_is_deeper_than_a_page_shows_is_replaced() -> None:
    value: Json = "bottom"
    for _ in range(2000):
        value = {"a": [value]}
    shown = without_secrets(value)
    assert TOO_DEEP in str(shown)
    assert "bottom" not in str(shown)
