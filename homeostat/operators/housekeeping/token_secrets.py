"""Tokens of service accounts in Secrets of type `kubernetes.io/service-account-token`.

A Secret that names a service account gets a token that does not expire, the certificate authority and the namespace. It
is deleted when its service account is, or does not exist.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.identifiers import dns1123_subdomain
from homeostat.objects.json import JsonObject
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.kinds import SERVICE_ACCOUNT_KEY
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers
from homeostat.runtime.watch.source import Source

Sign = Callable[[str, str, str, str], Awaitable[str]]
"""The token for a namespace, the name of a Secret, and the name and the uid of a service account."""
TYPE: Final = "kubernetes.io/service-account-token"
_NAME, _UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
_SECRETS: Final = Source("/api/v1/secrets", field_selector=f"type={TYPE}", is_metadata_only=True)


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _Secret(msgspec.Struct, frozen=True):
    metadata: _Metadata


class TokenSecrets:
    def __init__(self, client: Client, feed: Feed, *, authority: str, sign: Sign) -> None:
        self._client, self._authority, self._sign = client, authority, sign
        self._queue: WorkQueue[tuple[str, str]] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._reconcile, name="token secrets")
        self._informers = Informers(client)
        self._secrets = self._informers.get(_SECRETS, _Secret)
        self._secrets.add_handler(self._note_secret)
        feed.subscribe(self._observe, SERVICE_ACCOUNT_KEY)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informers.run())
            tasks.create_task(self._workers.run())

    def _note_secret(self, change: Change[_Secret]) -> None:
        if change.new is not None:
            self._queue.add((change.namespace, change.name))

    def _observe(self, event: FeedEvent) -> None:
        match event:
            case Changed(_, account) | Gone(_, account):
                for secret in self._secrets.cache.in_namespace(account.namespace):
                    if secret.metadata.annotations.get(_NAME) == account.name:
                        self._queue.add((account.namespace, secret.metadata.name))
            case Listed():
                # The watch does not deliver deletions that happened while it was interrupted.
                for secret in self._secrets.cache:
                    self._queue.add((secret.metadata.namespace, secret.metadata.name))

    async def _reconcile(self, key: tuple[str, str]) -> None:
        namespace, name = key
        path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        try:
            secret = await self._client.get(path)
            if secret.get("type") != TYPE or "deletionTimestamp" in secret["metadata"]:
                return
            account = await self._account(namespace, secret["metadata"].get("annotations") or {})
            if account is None:
                meta = secret["metadata"]
                only = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
                await self._client.delete(path, {"preconditions": only})
            elif (filled := await self._filled(secret, account)) != secret:
                await self._client.update(path, filled)
        except NotFoundError:
            return  # It was deleted meanwhile.
        except ConflictError:
            self._queue.add(key)

    async def _account(self, namespace: str, annotations: dict[str, str]) -> JsonObject | None:
        """The service account that a Secret names; None if it does not exist, or cannot, by its name."""
        name = annotations.get(_NAME, "")
        if dns1123_subdomain(name):
            return None
        try:
            found = await self._client.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}")
        except NotFoundError:
            return None
        is_same = annotations.get(_UID) in (None, "", found["metadata"]["uid"])
        return found if is_same and "deletionTimestamp" not in found["metadata"] else None

    async def _filled(self, secret: JsonObject, account: JsonObject) -> JsonObject:
        meta, owner = secret["metadata"], account["metadata"]
        data = dict(secret.get("data") or {})
        if not data.get("token"):
            token = await self._sign(meta["namespace"], meta["name"], owner["name"], owner["uid"])
            data["token"] = _encoded(token)
        data |= {"ca.crt": _encoded(self._authority), "namespace": _encoded(meta["namespace"])}
        annotations = {**(meta.get("annotations") or {}), _UID: owner["uid"]}
        return {**secret, "metadata": {**meta, "annotations": annotations}, "data": data}


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
