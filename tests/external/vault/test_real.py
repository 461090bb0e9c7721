"""The client against a real Vault: logins, both versions of the engine, policies, sealing, expiry and revocation."""

from __future__ import annotations

import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeostat.external.vault.client import Vault
from homeostat.external.vault.session import VaultError, VaultRefusedError
from homeostat.external.vault.settings import vault_settings
from homeostat.testing.eventually import eventually
from tests.external.vault.real import RealVault, needs_vault, reviewed_token, running_vault
from tests.kubectl.kubectl import Kubectl
from tests.served import serve_plane
from tools.build_kubectl import find_kubectl

pytestmark = needs_vault


@pytest.fixture(scope="module")
def real() -> Iterator[RealVault]:
    with running_vault() as vault:
        yield vault


def client(real: RealVault, **environment: str) -> Vault:
    settings = vault_settings({"VAULT_ADDR": real.url, **environment})
    assert settings is not None
    return Vault(settings)


async def use(vault: Vault) -> None:
    async with vault:
        assert await vault.list_secrets("made") == []
        for path in ("made/a", "made/deep/b c", "made/a#b:/c"):
            await vault.write_secret(path, {"value": path, "n": 5})
        assert await vault.list_secrets("made") == ["made/a", "made/a#b:/c", "made/deep/b c"]
        assert await vault.get_secret("made/deep/b c") == "made/deep/b c"
        assert await vault.get_secret("made/a#n") == "5"
        assert await vault.get_secret("made/a#b:/c#value") == "made/a#b:/c"
        await vault.write_secret("made/a", {"value": "changed"})
        assert await vault.get_secret("made/a") == "changed"
        for path in ("made/a", "made/deep/b c", "made/a#b:/c", "none"):
            await vault.delete_secret(path)
        for key in ("made/a", "none", "made/a#n"):
            with pytest.raises(KeyError):
                await vault.get_secret(key)


async def test_secrets_are_written_read_listed_and_deleted_by_every_login(real: RealVault) -> None:
    role, secret = real.role()
    real.user("jo", "its-password")
    real.user("jo", "its-password", "people")
    user = {"VAULT_USERNAME": "jo", "VAULT_PASSWORD": "its-password"}
    for login in (
        {"VAULT_TOKEN": real.token()},
        {"VAULT_ROLE_ID": role, "VAULT_SECRET_ID": secret},
        user,
        {**user, "VAULT_AUTH_MOUNT": "people"},
    ):
        await use(client(real, **login))
        # Engine version 2 still lists what was deleted; the next login starts from nothing.
        for path in ("made/a", "made/deep/b%20c", "made/a%23b:/c"):
            real.call("DELETE", f"secret/metadata/{path}")


async def test_version_1_of_the_engine_is_used_as_well(real: RealVault) -> None:
    await use(client(real, VAULT_TOKEN=real.root, VAULT_MOUNT="old", VAULT_KV_VERSION="1"))


async def test_what_is_refused_says_why_and_shows_no_credential(real: RealVault) -> None:
    role, _ = real.role()
    real.user("jo", "its-password")
    for login in (
        {"VAULT_TOKEN": "wrong-credential"},
        {"VAULT_ROLE_ID": role, "VAULT_SECRET_ID": "wrong-credential"},
        {"VAULT_USERNAME": "jo", "VAULT_PASSWORD": "wrong-credential"},
        {"VAULT_USERNAME": "nobody", "VAULT_PASSWORD": "wrong-credential"},
    ):
        async with client(real, **login) as vault:
            with pytest.raises(VaultRefusedError) as refused:
                await vault.get_secret("a")
        assert "wrong-credential" not in str(refused.value)
    real.call("POST", "secret/data/hidden/a", {"data": {"value": "top-secret"}})
    token = {"VAULT_TOKEN": real.token()}
    async with client(real, **token) as vault:
        with pytest.raises(VaultRefusedError, match="permission denied"):
            await vault.get_secret("hidden/a")
    for more, told in (
        ({"VAULT_TOKEN": real.root, "VAULT_MOUNT": "nowhere"}, "no handler for route"),
        ({"VAULT_KV_VERSION": "1", **token}, "Invalid path for a versioned K/V secrets engine"),
    ):
        async with client(real, **more) as vault:
            with pytest.raises(VaultError, match=told):
                await vault.get_secret("a")


async def test_a_sealed_vault_is_no_missing_secret(real: RealVault) -> None:
    real.call("POST", "secret/data/kept", {"data": {"value": "x"}})
    async with client(real, VAULT_TOKEN=real.token()) as vault:
        assert await vault.get_secret("kept") == "x"
        real.seal()
        try:
            with pytest.raises(VaultError, match=r"HTTP 503: .*sealed"):
                await vault.get_secret("other")
        finally:
            real.unseal()
        with pytest.raises(KeyError):
            await vault.get_secret("other")


async def test_a_token_is_renewed_and_after_its_end_or_revocation_replaced(real: RealVault) -> None:
    real.call("POST", "secret/data/kept", {"data": {"value": "x"}})
    role, secret = real.role(token_ttl="2s", token_max_ttl="4s")
    async with client(real, VAULT_ROLE_ID=role, VAULT_SECRET_ID=secret) as vault:
        first = (await vault._session._token()).token
        await eventually(lambda: is_over(real, first))
        assert await vault.get_secret("kept") == "x"
        real.role(token_ttl="1h", token_max_ttl="1h")
        await eventually(lambda: vault._session._lease is not None and vault._session._lease.ttl_s > 60)
        lease = await vault._session._token()
        real.call("POST", "auth/token/revoke", {"token": lease.token})
        assert await vault._read("kept") == {"value": "x"}
        assert (await vault._session._token()).token != lease.token
    token = real.token(ttl="2s", explicit_max_ttl="1h")
    async with client(real, VAULT_TOKEN=token) as vault:
        await vault.check()
        renewed = vault._session._lease
        await eventually(lambda: vault._session._lease is not renewed)
        real.call("POST", "auth/token/revoke", {"token": token})
        with pytest.raises(VaultRefusedError, match="permission denied"):
            await vault.get_secret("kept")


def is_over(real: RealVault, token: str) -> bool:
    try:
        real.call("POST", "auth/token/lookup", {"token": token})
    except urllib.error.HTTPError:
        return True
    return False


@pytest.mark.kubectl
async def test_the_token_of_a_service_account_logs_in_by_the_review_of_a_plane(real: RealVault, tmp_path: Path) -> None:
    with serve_plane(tmp_path / "data") as plane:
        kubectl = Kubectl(find_kubectl(), tmp_path, plane.kubeconfig, "default")
        (tmp_path / "token").write_text(reviewed_token(real, kubectl))
        real.call("POST", "secret/data/kept", {"data": {"value": "x"}})
        login = {"VAULT_KUBERNETES_ROLE": "app", "VAULT_KUBERNETES_TOKEN": str(tmp_path / "token")}
        async with client(real, **login) as vault:
            assert await vault.get_secret("kept") == "x"
        kubectl("delete", "serviceaccount", "app")
        async with client(real, **login) as vault:
            with pytest.raises(VaultRefusedError):
                await vault.get_secret("kept")
