"""The hashes of passwords, each in a Secret of its own that its user refers to.

A Secret is written before the user that refers to it, and a new password is a new Secret. So a user never has half a
password, and a failed request never replaces a password. A crash leaves at most a Secret that no user refers to.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SECRET
from homeostat.web.identity.api import REST_USER
from homeostat.web.identity.records import User

TYPE: Final = "homeostat.dev/rest-password"
NOBODY: Final = "homeostat-rest-nobody"
_HASH: Final = "hash"


class Hashes:
    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._namespace = client, namespace

    async def read(self, secret: str) -> str:
        """Empty if there is none."""
        try:
            found = await self._client.get(SECRET.path(self._namespace, secret or NOBODY))
            return base64.b64decode((found.get("data") or {})[_HASH]).decode()
        except (NotFoundError, KeyError, binascii.Error, UnicodeDecodeError):
            return ""

    async def create(self, username: str, hashed: str) -> str:
        """The name of the new Secret."""
        name = f"rest-user-{username}-{os.urandom(4).hex()}"
        secret: JsonObject = {
            "apiVersion": SECRET.api_version,
            "kind": SECRET.kind,
            "metadata": {"name": name, "namespace": self._namespace},
            "type": TYPE,
            "data": {_HASH: base64.b64encode(hashed.encode()).decode()},
        }
        await self._client.create(SECRET.path(self._namespace), secret)
        return name

    async def set_owner(self, user: User) -> None:
        """Garbage collection deletes the Secret with its user."""
        owner = {"apiVersion": REST_USER.kind.api_version, "kind": REST_USER.kind.kind}
        references = [{**owner, "name": user.name, "uid": user.metadata.uid}]
        with contextlib.suppress(NotFoundError):
            path = SECRET.path(self._namespace, user.spec.password_secret)
            await self._client.merge(path, {"metadata": {"ownerReferences": references}})

    async def delete(self, secret: str) -> None:
        if secret:
            with contextlib.suppress(NotFoundError):
                await self._client.delete(SECRET.path(self._namespace, secret))
