"""What the status of a SyncPolicy shows of the fields that differed: no secrets, and not too much."""

from __future__ import annotations

import time
from typing import Any

import pytest

from homeostat.operators.sync.api.policy import LARGEST_CHANGES, LONGEST_VALUE
from homeostat.operators.sync.policies.resources import field_changes, resource_reports
from homeostat.operators.sync.run.plan import Change
from homeostat.operators.sync.run.report import Result

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJyb2JvdCJ9.c2lnbmF0dXJl-_"
PEM = "-----BEGIN PRIVATE KEY-----\nopen-sesame\n-----END PRIVATE KEY-----"
S = "open-sesame"


@pytest.mark.parametrize(
    ("at", "value", "shown"),
    [
        ("/size", 3, "3"),
        ("/name", "web", '"web"'),
        ("/password", S, "***"),
        ("/password", None, "***"),
        ("/headers/Authorization", S, "***"),
        ("/headers", {"authorization": S, "Proxy-Authorization": S, "Set-Cookie": S, "X-Api-Key": S, "Accept": "*"}, 4),
        ("/credentials", {"user": "u", "value": S}, "***"),
        ("/smtp", {"credential": S, "jwt": S, "dbpassword": S, "apikey": S, "tokens": [S], "signingKey": S, "a": 1}, 6),
        ("/a", {"clientSecret": {"parts": [{"x": S}]}, "pin": None}, '{"clientSecret":"***","pin":null}'),
        ("/secret/deep/inside/0", S, "***"),
        ("/headers", [{"name": "Authorization", "value": S}, {"key": "X-Token", "values": [S]}, {"name": "a"}], 2),
        ("/url", f"https://user:p@{S}@host/x", '"https://***@host/x"'),
        ("/url", f"amqp://user:p@{S}@host/x", '"amqp://user:***@host/x"'),
        ("/note", f"Bearer {S}", "***"),
        ("/note", "Basic dTpw", "***"),
        ("/note", f"send Bearer {S} along", '"send Bearer *** along"'),
        ("/note", PEM, "***"),
        ("/note", f"key: {PEM[:40]}", '"key: ***"'),
        ("/note", JWT, "***"),
        ("/note", f"at x-{JWT}.", '"at x-***."'),
        ("/note", f"dsn: password={S};x", '"dsn: password=***;x"'),
        ("/note", f"{JWT} {'x' * 99_999}", "***"),
        ("/note", "x" * 99_999, f'"{"x" * (LONGEST_VALUE - 2)}…'),
        ("/hosts", {f"https://u:{S}@host": 1}, '{"https://***@host":1}'),
        ("/note", "eyJ.not.a-token 1.2.3 token", '"eyJ.not.a-token 1.2.3 token"'),
        ("/attributes", {"access.token.claim": "true", "credentialType": "x", "client_credentials.use_refresh": 1}, 0),
        ("/authorizationUrl", "https://host/auth", '"https://host/auth"'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("side", ["local", "remote"])
def test_a_secret_is_hidden_by_its_name_and_by_its_form(at: str, value: Any, shown: str | int, side: str) -> None:
    (found,) = field_changes([Change(at, "replace", **{side: value})])
    text = found.declared if side == "local" else found.live
    assert text == shown if isinstance(shown, str) else text.count("***") == shown
    assert S not in text


def test_names_below_that_of_a_secret_are_hidden_in_pointers() -> None:
    at = f"/tokens/{S}/0"
    (found,) = resource_reports([Result("/a", "updated", fields=(at, "/b~1c"), changes=(Change(at, "remove", "x"),))])
    assert (found.fields, found.changes[0].pointer) == (("/tokens/***/***", "/b~1c"), "/tokens/***/***")
    assert (found.changes[0].declared, found.changes[0].live) == ("***", "")


def test_changes_are_limited_and_take_time_in_proportion_to_their_size() -> None:
    deep: Any = S
    for _ in range(200):
        deep = [deep]
    long = ["eyJ-" * 25_000, f"Bearer{' ' * 100_000}", "password=" * 10_000, "-----BEGIN A-----" * 5_000, deep]
    start = time.process_time()
    (one,) = field_changes([Change("/x", "replace", long)])
    assert time.process_time() - start < 5
    assert S not in one.declared
    reports = resource_reports(
        [Result("/a", "updated", changes=(Change("/x", "replace", "x" * 999, "y" * 999),))] * 200
    )
    sizes = [len(change.declared) + len(change.live) for report in reports for change in report.changes]
    assert {*sizes} == {2 * LONGEST_VALUE}
    assert LARGEST_CHANGES - 2 * LONGEST_VALUE - 2 < sum(sizes) + 2 * len(sizes) <= LARGEST_CHANGES
