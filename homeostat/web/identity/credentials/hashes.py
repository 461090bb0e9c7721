"""The hashes of passwords, each under a name of its own that its user refers to.

A hash is stored before the user that refers to it, and a new password is a new hash. So a user never has half a
password, and a failed request never replaces a password. A crash leaves at most a hash that no user refers to.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Final, Never

from homeostat.client.base import UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.faces.private import PrivateSecrets
from homeostat.web.identity.records import User

log = logging.getLogger(__name__)

_NOBODY: Final = "rest-nobody"


class Hashes:
    def __init__(self, private: PrivateSecrets) -> None:
        self._private = private
        self._unused: asyncio.Queue[str] = asyncio.Queue()

    async def read(self, name: str) -> str:
        """Empty if there is none."""
        found = await self._private.read(name or _NOBODY)
        return (found or b"").decode(errors="replace")

    async def create(self, username: str, hashed: str) -> str:
        """The name of the stored hash."""
        name = f"rest-user-{username}-{os.urandom(4).hex()}"
        await self._private.create(name, hashed.encode())
        return name

    async def delete(self, name: str) -> None:
        if name:
            await self._private.delete(name)

    def on_change(self, change: Change[User]) -> None:
        """Takes note of a deleted user, whose hash is not needed any more."""
        if change.new is None and change.old is not None and change.old.spec.password_secret:
            self._unused.put_nowait(change.old.spec.password_secret)

    async def collect(self) -> Never:
        """Deletes the hashes of deleted users."""
        while True:
            name = await self._unused.get()
            try:
                await self._private.delete(name)
            except (ApiError, UnreachableError) as error:
                log.warning("failed to delete the password hash of a deleted user", extra={"reason": str(error)})
