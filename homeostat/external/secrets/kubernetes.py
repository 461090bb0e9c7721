"""Kubernetes Secrets of one namespace: as a secret store, and whole, for the readers of `credentials.py`.

Secrets of Homeostat itself or of the server (state, signing keys, passwords, service account tokens) are not readable:
whoever can declare an object could have them sent anywhere.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from homeostat.external.secrets.credentials import LARGEST_SECRET, SecretData
from homeostat.external.secrets.secrets import NAMESPACED, SecretError
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SECRET

_OWN_NAMES: Final = ("homeostat-",)
_OWN_TYPES: Final = ("homeostat.dev/", "kubernetes.io/service-account-token", "bootstrap.kubernetes.io/")


class ObjectReader(Protocol):
    """The part of a Kubernetes client that is needed here."""

    async def get(self, path: str) -> JsonObject:
        """`NotFoundError` if there is no such object."""


class StoredSecret(NamedTuple):
    data: SecretData
    annotations: Mapping[str, str]


class NamespaceStore:
    """As a secret store, its keys are `name/key`: the Secret and the member in it."""

    def __init__(self, client: ObjectReader, namespace: str) -> None:
        self._client, self._namespace = client, namespace

    async def get_secret(self, key: str) -> str:
        name, _, member = key.partition("/")
        if not name or not member:
            raise KeyError(key)
        value = (await self.read(name))[member]
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise SecretError(f'"{key}" of the store "{NAMESPACED}" is not text') from None

    async def read(self, name: str) -> SecretData:
        """All members of a Secret; `KeyError` if there is no such Secret, or it is reserved."""
        return (await self.find(name)).data

    async def find(self, name: str) -> StoredSecret:
        """As `read`, with what its owner says about it."""
        try:
            found = await self._client.get(SECRET.path(self._namespace, name))
        except NotFoundError:
            raise KeyError(name) from None
        if name.startswith(_OWN_NAMES) or str(found.get("type", "")).startswith(_OWN_TYPES):
            raise KeyError(name)
        try:
            data = {key: base64.b64decode(value, validate=True) for key, value in (found.get("data") or {}).items()}
        except (binascii.Error, ValueError, TypeError):
            raise SecretError(f'the Secret "{name}" is unreadable: its data is not base64') from None
        if (size := sum(map(len, data.values()))) > LARGEST_SECRET:
            raise SecretError(f'the Secret "{name}" has {size} bytes; at most {LARGEST_SECRET} are read')
        return StoredSecret(data, (found.get("metadata") or {}).get("annotations") or {})
