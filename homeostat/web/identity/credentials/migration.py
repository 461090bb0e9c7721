"""Moves credentials of earlier versions out of the namespace of tenants, where whoever reads Secrets could read them.

Password hashes are moved. The key that signed tokens is deleted: somebody may have read it, so a new one is generated
and users log in again. Each step can be repeated, and the mark that the migration is complete is written last, so a
crash in between does no harm. After the mark nothing is read from the tenants' namespace: a Secret that somebody puts
there is never taken for a password hash.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import logging
from collections.abc import Iterable
from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import BadRequestError, ForbiddenError, NotFoundError
from homeostat.objects.kind import SECRET
from homeostat.runtime.faces.private import PrivateSecrets
from homeostat.web.identity.records import User

log = logging.getLogger(__name__)

OLD_KEY: Final = "homeostat-rest-token-key"
OLD_TYPE: Final = "homeostat.dev/rest-password"
MARK: Final = "rest-migrated"
_HASH: Final = "hash"


async def migrate(client: Client, namespace: str, private: PrivateSecrets, users: Iterable[User]) -> None:
    if await private.read(MARK) is not None:
        return
    try:
        for user in users:
            if user.spec.password_secret:
                await _move_hash(client, namespace, private, user.spec.password_secret)
        await _delete(client, namespace, OLD_KEY)
    except ForbiddenError as error:
        log.warning(
            "cannot move credentials of an earlier version out of the namespace; allow this process to get and delete "
            "its Secrets, or delete them",
            extra={"namespace": namespace, "reason": error.message},
        )
        return
    await private.create(MARK, b"complete")


async def _move_hash(client: Client, namespace: str, private: PrivateSecrets, name: str) -> None:
    try:
        secret = await client.get(SECRET.path(namespace, name))
    except (NotFoundError, BadRequestError):
        # A user may be declared with any text there, also one that is not the name of an object.
        return
    if secret.get("type") != OLD_TYPE:
        return
    with contextlib.suppress(KeyError, binascii.Error):
        await private.create(name, base64.b64decode((secret.get("data") or {})[_HASH], validate=True))
    await _delete(client, namespace, name)
    log.info("moved password hash out of the namespace", extra={"namespace": namespace, "secret": name})


async def _delete(client: Client, namespace: str, name: str) -> None:
    with contextlib.suppress(NotFoundError):
        await client.delete(SECRET.path(namespace, name))
