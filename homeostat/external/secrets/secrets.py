"""Secrets by reference: named in a configuration, read when they are used, and never shown.

    headers:
      Authorization: {store: env, key: API_TOKEN, prefix: "Bearer "}

`Secrets` remembers what it has revealed, and `scrub` removes it from texts before they reach a status, an Event, an
error or a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from homeostat.external.secrets.scrub import Scrubber
from homeostat.external.secrets.stores import SecretStore

NAMESPACED: Final = "secret"
"""The store that reads Secrets of the object's own namespace: the only one that an object may refer to by itself."""


class SecretReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(min_length=1, max_length=1024)]
    store: str = "env"
    prefix: str = ""


SecretText = str | SecretReference


class SecretError(Exception):
    """A secret is unavailable; the text names its reference."""

    reason = "SecretUnavailable"


class Secrets(Scrubber):
    """For one job: whatever it reveals is scrubbed from the job's texts."""

    def __init__(self, stores: Mapping[str, SecretStore]) -> None:
        super().__init__()
        self._stores = stores

    async def reveal(self, secret: SecretText) -> str:
        if isinstance(secret, str):
            return secret
        store = self._stores.get(secret.store)
        if store is None:
            known = ", ".join(sorted(self._stores)) or "none"
            raise SecretError(f'there is no secret store "{secret.store}"; there are: {known}')
        try:
            value = await store.get_secret(secret.key)
        except KeyError:
            value = ""
        if not value:
            raise SecretError(f'the store "{secret.store}" has no secret "{secret.key}"')
        self.hide(value)
        return secret.prefix + value

    async def reveal_all(self, secrets: Mapping[str, SecretText]) -> dict[str, str]:
        return {name: await self.reveal(each) for name, each in secrets.items()}


def stores_named(config: object) -> set[str]:
    """The stores that references anywhere in a configuration name."""
    match config:
        case SecretReference(store=store):
            return {store}
        case msgspec.Struct():
            return stores_named([getattr(config, each) for each in config.__struct_fields__])
        case dict():
            return stores_named(list(config.values()))
        case list() | tuple():
            return {store for each in config for store in stores_named(each)}
        case _:
            return set()
