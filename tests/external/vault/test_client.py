"""Secrets of a Vault are read, kept for a moment, and never told in an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Response
from homeostat.external.vault.client import Vault
from homeostat.external.vault.session import VaultError, VaultRefusedError, decoded
from homeostat.external.vault.settings import AppRole, vault_settings
from homeostat.testing.eventually import eventually
from tests.external.servers import serving
from tests.external.vault.fake import FakeVault

ROLE = {"VAULT_ROLE_ID": "role", "VAULT_SECRET_ID": "its-secret"}
TOKEN = {"VAULT_TOKEN": "root-token"}


class Served:
    """A Vault as it is for whoever has these variables; `now` is the client's time."""

    def __init__(self, url: str, fake: FakeVault) -> None:
        self.url, self.fake, self.now = url, fake, 0.0

    def vault(self, environment: dict[str, str]) -> Vault:
        settings = vault_settings({"VAULT_ADDR": self.url, **environment})
        assert settings is not None
        return Vault(settings, seconds=lambda: self.now)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    fake = FakeVault()
    fake.secrets = {"db": {"value": "open-sesame", "user": "me", "port": 5432}, "team/a b": {"value": "x"}}
    async with serving(fake.answer) as url:
        yield Served(url, fake)


@pytest.mark.parametrize(
    ("key", "value"),
    [("db", "open-sesame"), ("db#user", "me"), ("db#port", "5432"), ("/team/a b", "x")],
)
async def test_a_key_is_a_path_and_a_field(served: Served, key: str, value: str) -> None:
    async with served.vault(TOKEN) as vault:
        assert await vault.get_secret(key) == value


@pytest.mark.parametrize("key", ["none", "db#none", "empty", "gone", "../sys/seal-status", "", "a//b", "#value"])
async def test_what_is_not_there_is_a_key_error(served: Served, key: str) -> None:
    served.fake.secrets |= {"empty": {"value": ""}, "gone": None}
    async with served.vault(TOKEN) as vault:
        with pytest.raises(KeyError):
            await vault.get_secret(key)


@pytest.mark.parametrize("key", ["../auth/token/lookup-self#id", "db/../../auth/token/lookup-self#id"])
async def test_a_path_does_not_lead_out_of_the_mount(served: Served, key: str) -> None:
    served.fake.version = 1
    async with served.vault({**TOKEN, "VAULT_KV_VERSION": "1"}) as vault:
        await vault.get_secret("db")
        asked = len(served.fake.requests)
        with pytest.raises(KeyError):
            await vault.get_secret(key)
        assert len(served.fake.requests) == asked


async def test_version_1_and_a_namespace_are_options(served: Served) -> None:
    served.fake.version, served.fake.namespace = 1, "team"
    async with served.vault({**TOKEN, "VAULT_KV_VERSION": "1", "VAULT_NAMESPACE": "team"}) as vault:
        assert await vault.get_secret("db") == "open-sesame"


async def test_what_was_read_counts_for_half_a_minute(served: Served) -> None:
    async with served.vault(TOKEN) as vault:
        await vault.get_secret("db")
        served.fake.secrets["db"] = {"value": "changed"}
        assert (await vault.get_secret("db#value"), len(reads(served))) == ("open-sesame", 1)
        served.now += 31
        assert await vault.get_secret("db") == "changed"


async def test_a_token_is_checked_at_the_start_and_renewed(served: Served) -> None:
    served.fake.tokens["root-token"] = served.fake.ttl = 1
    async with served.vault(TOKEN):
        await eventually(lambda: ("POST", "/v1/auth/token/renew-self", "root-token") in served.fake.requests)
    assert served.fake.requests[0] == ("GET", "/v1/auth/token/lookup-self", "root-token")


async def test_a_refused_token_is_reported_without_the_token(served: Served) -> None:
    async with served.vault({"VAULT_TOKEN": "wrong-token"}) as vault:
        with pytest.raises(VaultRefusedError, match="HTTP 403: permission denied") as error:
            await vault.get_secret("db")
        with pytest.raises(RestError):
            await vault.check()
    assert "wrong-token" not in str(error.value)


async def test_an_address_alone_does_no_harm_until_a_secret_is_wanted(served: Served) -> None:
    async with served.vault({}) as vault:
        with pytest.raises(VaultRefusedError, match="set VAULT_TOKEN"):
            await vault.get_secret("db")
    assert served.fake.requests == []


USER = {"VAULT_USERNAME": "jo", "VAULT_PASSWORD": "its-password"}
LOGINS = {
    "approle": ROLE,
    "userpass": USER,
    "userpass elsewhere": {**USER, "VAULT_AUTH_MOUNT": "people"},
    "kubernetes": {"VAULT_KUBERNETES_ROLE": "app", "VAULT_KUBERNETES_TOKEN": "token"},
}


@pytest.mark.parametrize("environment", LOGINS.values(), ids=LOGINS)
async def test_one_logs_in_by_role_password_or_service_account(
    served: Served, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("account-token\n")
    monkeypatch.chdir(tmp_path)
    async with served.vault(environment) as vault:
        assert await vault.get_secret("db") == "open-sesame"
    assert reads(served) == ["token-1"] or reads(served) == ["token-2"]


async def test_a_password_that_is_wrong_is_refused_without_showing_it(served: Served) -> None:
    async with served.vault({**USER, "VAULT_PASSWORD": "wrong-password"}) as vault:
        with pytest.raises(VaultRefusedError, match="HTTP 400") as error:
            await vault.check()
    assert "wrong-password" not in str(error.value)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("knows_list", [True, False], ids=["list", "get"])
async def test_secrets_are_written_listed_and_deleted(served: Served, version: int, knows_list: bool) -> None:
    served.fake.version, served.fake.knows_list, served.fake.secrets = version, knows_list, {}
    async with served.vault({**TOKEN, "VAULT_KV_VERSION": str(version)}) as vault:
        assert await vault.list_secrets() == []
        for path in ("team/b", "team/deep/er/a", "top"):
            await vault.write_secret(path, {"value": path})
        assert await vault.list_secrets() == ["team/b", "team/deep/er/a", "top"]
        assert await vault.list_secrets("team") == ["team/b", "team/deep/er/a"]
        assert await vault.get_secret("team/b") == "team/b"
        await vault.write_secret("team/b", {"value": "changed"})
        assert await vault.get_secret("team/b") == "changed"
        await vault.delete_secret("team/b")
        await vault.delete_secret("none")
        with pytest.raises(KeyError):
            await vault.get_secret("team/b")


async def test_a_prefix_is_before_every_path(served: Served) -> None:
    settings = vault_settings({"VAULT_ADDR": served.url, **TOKEN})
    assert settings is not None
    async with Vault(replace(settings, prefix="/homeostat/"), seconds=lambda: served.now) as vault:
        await vault.write_secret("a", {"value": "x"})
        assert (await vault.get_secret("a"), await vault.list_secrets()) == ("x", ["a"])
    assert served.fake.secrets["homeostat/a"] == {"value": "x"}


@pytest.mark.parametrize("path", ["", "..", "a/../b", "a//b", "./a"])
async def test_nothing_is_written_outside_of_the_mount(served: Served, path: str) -> None:
    async with served.vault(TOKEN) as vault:
        for act in (vault.write_secret(path, {}), vault.delete_secret(path)):
            with pytest.raises(VaultError, match="invalid path"):
                await act
    assert not any(method in ("POST", "DELETE") for method, _, _ in served.fake.requests)


async def test_a_token_that_was_revoked_or_is_over_is_replaced(served: Served) -> None:
    async with served.vault(ROLE) as vault:
        await vault.get_secret("db")
        before = served.fake.logins
        served.fake.tokens.clear()
        assert await vault.get_secret("team/a b") == "x"
        assert served.fake.logins == before + 1
        served.now += served.fake.ttl + 1
        await vault.get_secret("db")
        assert served.fake.logins == before + 2


async def test_a_secret_that_no_policy_allows_does_not_log_in_again(served: Served) -> None:
    served.fake.denied.add("/v1/secret/data/forbidden")
    async with served.vault(ROLE) as vault:
        await vault.get_secret("db")
        before, asked = served.fake.logins, len(served.fake.requests)
        for _ in range(5):
            with pytest.raises(VaultRefusedError, match="permission denied"):
                await vault.get_secret("forbidden")
        assert served.fake.logins == before
        # The token is read once, and not for each refusal.
        assert len(served.fake.requests) == asked + 6


async def test_a_token_that_cannot_be_renewed_any_more_is_replaced(served: Served) -> None:
    served.fake.ttl, served.fake.renewable = 1, False
    async with served.vault(ROLE):
        await eventually(lambda: served.fake.logins >= 2)


async def test_a_request_shares_the_login_that_replaces_a_token(served: Served) -> None:
    served.fake.ttl, served.fake.renewable = 1, False
    async with served.vault(ROLE) as vault:
        await vault.check()
        served.fake.may_log_in.clear()
        await eventually(lambda: served.fake.logging_in == 2)
        served.now, served.fake.ttl = 10.0, 3600
        reading = asyncio.create_task(vault.get_secret("db"))
        await asyncio.sleep(0.05)
        served.fake.may_log_in.set()
        assert await reading == "open-sesame"
        assert served.fake.logging_in == 2


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"VAULT_MOUNT": "kv"}, "no handler for route .*; check the address, the namespace, the mount"),
        ({"VAULT_KV_VERSION": "1"}, "Invalid path for a versioned K/V secrets engine"),
    ],
    ids=["mount", "version"],
)
async def test_a_wrong_mount_is_no_missing_secret(served: Served, environment: dict[str, str], told: str) -> None:
    async with served.vault({**TOKEN, **environment}) as vault:
        with pytest.raises(VaultError, match=told):
            await vault.get_secret("db")


async def test_requests_at_once_share_one_login(served: Served) -> None:
    served.fake.single_use = True
    async with served.vault(ROLE) as vault:
        found = await asyncio.gather(*(vault.get_secret(key) for key in ("db", "team/a b", "db#user")))
    assert (found, served.fake.logins) == (["open-sesame", "x", "me"], 1)


async def test_an_engine_that_requires_check_and_set_gets_the_version(served: Served) -> None:
    served.fake.checks = True
    served.fake.secrets["gone"] = None
    async with served.vault(TOKEN) as vault:
        for path in ("new", "db", "gone"):
            await vault.write_secret(path, {"value": "changed"})
            assert await vault.get_secret(path) == "changed"


async def test_a_path_may_hold_a_number_sign(served: Served) -> None:
    async with served.vault(TOKEN) as vault:
        await vault.write_secret("a#b:/c", {"value": "x"})
        assert await vault.get_secret("a#b:/c#value") == "x"


FAULTS = {
    "sealed": (web.Response(status=503, body=b'{"errors":["Vault is sealed"]}'), "HTTP 503: Vault is sealed"),
    "odd": (web.Response(status=200, body=b"<html>"), 'has no "data"'),
    "standby": (web.Response(status=307), "HTTP 307: it gives no reason"),
    "list": (web.Response(status=200, body=b'{"data": []}'), 'has no "data"'),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_vault_in_trouble_is_no_missing_secret(served: Served, fault: str) -> None:
    served.fake.fault, told = FAULTS[fault]
    async with served.vault(TOKEN) as vault:
        with pytest.raises(VaultError, match=told):
            await vault.get_secret("db")
        served.fake.fault = None
        assert await vault.get_secret("db") == "open-sesame"


async def test_a_vault_that_is_away_is_an_exchange_that_failed() -> None:
    settings = vault_settings({"VAULT_ADDR": "http://127.0.0.1:1", **TOKEN})
    assert settings is not None
    async with Vault(settings) as vault:
        with pytest.raises(RestError, match=r"127\.0\.0\.1:1: cannot connect"):
            await vault.get_secret("db")


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"VAULT_ADDR": "vault:8200", **TOKEN}, "must be an http or https URL"),
        ({"VAULT_ADDR": "http://v", **TOKEN, "VAULT_KV_VERSION": "3"}, "must be 1 or 2"),
        ({"VAULT_ADDR": "http://v", **TOKEN, "VAULT_CACERT": "/none"}, "VAULT_CACERT .* cannot be read"),
        ({"VAULT_ADDR": "http://v", **TOKEN, "VAULT_CLIENT_CERT": __file__}, "or neither"),
    ],
)
def test_settings_that_make_no_sense_are_refused(environment: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        vault_settings(environment)


def test_without_an_address_there_is_no_vault_and_settings_hide_what_is_secret() -> None:
    assert vault_settings(TOKEN) is None
    settings = vault_settings({"VAULT_ADDR": "http://v/", **ROLE})
    assert settings is not None
    assert (settings.address, settings.login) == ("http://v", AppRole("role", "its-secret"))
    assert "its-secret" not in repr(settings)


def reads(served: Served) -> list[str]:
    """The tokens that secrets were read with."""
    return [token for _, path, token in served.fake.requests if path.startswith("/v1/secret/")]


@pytest.mark.parametrize("status", [200, 500])
async def test_a_vault_that_answers_nonsense_is_in_trouble(status: int) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"errors": ["\xff"], "data": {"data": "\xff"}}', status=status)

    async with serving(answer) as url:
        settings = vault_settings({"VAULT_ADDR": url, **TOKEN})
        assert settings is not None
        async with Vault(settings) as vault:
            with pytest.raises(VaultError):
                await vault.get_secret("db")


def test_an_answer_of_a_million_lists_is_not_decoded() -> None:
    body = b'{"data": [' + b"[]," * 1_000_000 + b"[]]}"
    assert decoded(Response(200, {}, body)) == {}
    assert decoded(Response(200, {}, b'{"data": [[]]}')) == {"data": [[]]}
