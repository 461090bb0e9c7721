"""Kubernetes Secrets of one namespace: as a store, and whole, for the readers of `credentials.py`.

What this system or the server keeps for itself (states, keys of tokens, passwords, tokens of service accounts) is not
there: whoever may declare an object could have it sent anywhere.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final, Protocol

from homeostat.external.secrets.credentials import LARGEST_SECRET, SecretData
from homeostat.external.secrets.secrets import NAMESPACED, SecretError
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SECRET

_OWN_NAMES: Final = ("homeostat-",)
_OWN_TYPES: Final = ("homeostat.dev/", "kubernetes.io/service-account-token", "bootstrap.kubernetes.io/")


class ObjectReader(Protocol):
    """What is needed of a client of the Kubernetes API."""

    async def get(self, path: str) -> JsonObject:
        """`NotFoundError` if there is no such object."""


class NamespaceStore:
    """As a store its keys are `name/key`, of the Secret and of the member in it."""

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
        """All members of a Secret; `KeyError` if there is no such Secret, or it is not for use by others."""
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
        return data
