"""The secret store in Vault: one secret a key, its value in the field `value`."""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.external.rest.errors import RestError
from homeostat.external.vault.client import Vault
from homeostat.external.vault.session import VaultError, VaultRefusedError
from homeostat.operators.sync.engine.errors import AuthError, NotFoundError, SyncError, TransportError, ValidationError


class VaultStore:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def open(self) -> None:
        await self.check()

    async def check(self) -> None:
        try:
            await self._vault.check()
        except VaultRefusedError as error:
            raise AuthError(f"cannot log in to Vault: {error}; check the credentials and their mount") from error
        except RestError as error:
            raise _mapped(error) from error

    async def get(self, key: str) -> str:
        try:
            return await self._vault.get_secret(f"{key}#value")
        except KeyError as error:
            raise NotFoundError(f'there is no secret "{key}" in Vault') from error
        except RestError as error:
            raise _mapped(error) from error

    async def put(self, secrets: Mapping[str, str]) -> None:
        try:
            for key, value in secrets.items():
                await self._vault.write_secret(key, {"value": value})
        except RestError as error:
            raise _mapped(error) from error

    async def delete(self, key: str) -> None:
        try:
            await self._vault.delete_secret(key)
        except RestError as error:
            raise _mapped(error) from error

    async def keys(self) -> list[str]:
        try:
            return sorted(await self._vault.list_secrets())
        except RestError as error:
            raise _mapped(error) from error

    async def close(self) -> None:
        await self._vault.__aexit__(None, None, None)


def _mapped(error: RestError) -> SyncError:
    if isinstance(error, VaultRefusedError):
        return AuthError(str(error))
    if isinstance(error, VaultError) and error.status in (400, 404):
        return ValidationError(str(error)) if error.status == 400 else NotFoundError(str(error))
    return TransportError(str(error))
