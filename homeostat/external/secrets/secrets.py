"""Secrets by reference: named in a configuration, read when they are used, and never told.

    headers:
      Authorization: {store: env, key: API_TOKEN, prefix: "Bearer "}

Whatever a secret was read for, its value does not come out again: `Secrets` remembers what it has handed out, and
`scrub` takes it out of every text on its way to a status, an Event, an error or a log, as it stands and as encodings
that programs print. Values shorter than four characters are beyond that.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Protocol
from urllib.parse import quote

import msgspec
from msgspec import Meta

from homeostat.objects.json import Json

HIDDEN: Final = "***"
ENV_PREFIX: Final = "HOMEOSTAT_SECRET_"
NAMESPACED: Final = "secret"
"""The store that reads Secrets of the resource's own namespace: the only one that a resource may name by itself."""
_SHORTEST = 4
_LONGEST_FILE = 1 << 20


class SecretReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(min_length=1, max_length=1024)]
    store: str = "env"
    prefix: str = ""


SecretText = str | SecretReference


class SecretError(Exception):
    """A secret cannot be had; told by its reference."""

    reason = "SecretUnavailable"


class SecretStore(Protocol):
    async def get_secret(self, key: str) -> str:
        """`KeyError` where there is none, or where it is empty."""


class EnvironmentStore:
    """Variables of the operator's environment whose names begin with the prefix, and no others."""

    def __init__(self, environment: Mapping[str, str], prefix: str = ENV_PREFIX) -> None:
        self._environment, self._prefix = environment, prefix

    async def get_secret(self, key: str) -> str:
        return self._environment[f"{self._prefix}{key}"]


class FileStore:
    """Files below one directory, as Kubernetes mounts Secrets; one newline at the end does not count."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()

    async def get_secret(self, key: str) -> str:
        path = (self._directory / key).resolve()
        if not path.is_relative_to(self._directory) or not path.is_file() or path.stat().st_size > _LONGEST_FILE:
            raise KeyError(key)
        return path.read_text().removesuffix("\n")


class Secrets:
    """For one job: what it hands out it also hides."""

    def __init__(self, stores: Mapping[str, SecretStore]) -> None:
        self._stores = stores
        self._known: set[str] = set()

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

    def hide(self, value: str) -> None:
        """Of a value that came another way, such as a sensitive output."""
        for each in (value, *(line for line in value.splitlines() if len(line) >= 2 * _SHORTEST)):
            if len(each) >= _SHORTEST:
                encoded = base64.b64encode(each.encode()).decode()
                self._known |= {each, quote(each, safe=""), encoded, encoded.rstrip("=")}

    def scrub(self, text: str) -> str:
        for each in sorted(self._known, key=len, reverse=True):
            text = text.replace(each, HIDDEN)
        return text

    def scrub_json(self, value: Json) -> Json:
        match value:
            case str():
                return self.scrub(value)
            case dict():
                return {self.scrub(key): self.scrub_json(each) for key, each in value.items()}
            case list() | tuple():
                return [self.scrub_json(each) for each in value]
            case _:
                return value


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
