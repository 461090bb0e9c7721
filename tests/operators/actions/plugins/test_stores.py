"""Secret stores are there when the environment says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.external.process_stores import SECRETS_DIRECTORY
from homeostat.external.secrets.scrub import HIDDEN
from homeostat.external.secrets.secrets import SecretError, SecretReference, Secrets
from homeostat.external.vault.session import VaultRefusedError
from homeostat.operators import actions
from homeostat.operators.actions.plugins.stores import secret_stores
from tests.external.servers import serving
from tests.external.vault.fake import FakeVault


async def test_without_settings_there_are_variables_only() -> None:
    async with secret_stores({"HOMEOSTAT_SECRET_A": "x"}) as stores:
        assert sorted(stores) == ["env"]
        assert await stores["env"].get_secret("A") == "x"


async def test_a_directory_is_a_store(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    async with secret_stores({SECRETS_DIRECTORY: str(tmp_path)}) as stores:
        assert await stores["file"].get_secret("a") == "x"


async def test_a_vault_is_a_store_and_its_values_are_hidden() -> None:
    fake = FakeVault()
    fake.secrets["team/api"] = {"token": "open-sesame"}
    async with (
        serving(fake.answer) as url,
        secret_stores({"VAULT_ADDR": url, "VAULT_TOKEN": "root-token"}) as stores,
    ):
        secrets = Secrets(stores)
        assert await secrets.reveal(SecretReference("team/api#token", "vault", "Bearer ")) == "Bearer open-sesame"
        assert secrets.scrub("sent open-sesame") == f"sent {HIDDEN}"
        with pytest.raises(SecretError, match='the store "vault" has no secret "team/other"'):
            await secrets.reveal(SecretReference("team/other", "vault"))


async def test_a_vault_without_a_token_harms_nobody_else() -> None:
    async with secret_stores({"VAULT_ADDR": "http://127.0.0.1:1", "HOMEOSTAT_SECRET_A": "x"}) as stores:
        assert await stores["env"].get_secret("A") == "x"
        with pytest.raises(VaultRefusedError):
            await stores["vault"].get_secret("a")


def test_a_vault_s_address_that_makes_no_sense_is_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="VAULT_ADDR"):
        actions.check_environment({"VAULT_ADDR": "somewhere"})
