"""Acts on a decision: creates, completes and deletes PactoRevisions, and reports what was created.

A revision that the server rejects is logged and retried with backoff; the status of the Pacto is written all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, assert_never

from homeostat.client.base import MERGE_PATCH, Client
from homeostat.objects.declared import owner_reference
from homeostat.objects.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.contracts.api import COMPONENT, PACTO, PACTO_REVISION, Pacto
from homeostat.operators.contracts.decide import Action
from homeostat.operators.contracts.engine.revision import revision_labels
from homeostat.operators.contracts.loading.content import Version
from homeostat.operators.contracts.revisions.plan import CompleteRevision, CreateRevision, DeleteRevision
from homeostat.runtime.control.recorder import About, EventType, Recorder

log = logging.getLogger(__name__)

_DIGEST_SHOWN: Final = 19


class Actor:
    def __init__(
        self, client: Client, recorder: Recorder, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._client, self._recorder, self._now = client, recorder, now

    async def act(self, pacto: Pacto, action: Action) -> None:
        try:
            match action:
                case CreateRevision():
                    await self._create(pacto, action)
                case CompleteRevision():
                    await self._complete(pacto, action.name, action.hash)
                case DeleteRevision():
                    await self._delete(pacto, action)
                case _:
                    assert_never(action)
        except ApiError as error:
            log.warning("failed to write revision", extra={"revision": action.name, "reason": error.message})

    async def _create(self, pacto: Pacto, action: CreateRevision) -> None:
        version = action.version
        try:
            path = PACTO_REVISION.kind.path(pacto.metadata.namespace)
            await self._client.fetch("POST", path, body=_body(pacto, action))
        except AlreadyExistsError:
            return
        if action.is_overwritten:
            text = f"Tag {version.tag} of {version.ref.rpartition(':')[0]} was overwritten: it is {_short(version)} now"
            self._record(pacto, "Warning", "TagOverwritten", text)
        self._record(pacto, "Normal", "RevisionCreated", f"Created revision {action.name} of version {version.version}")
        await self._complete(pacto, action.name, version.hash)

    async def _complete(self, pacto: Pacto, name: str, contract_hash: str) -> None:
        status = {"resolved": True, "contractHash": contract_hash, "createdAt": format_time(self._now())}
        path = PACTO_REVISION.kind.path(pacto.metadata.namespace, name, "status")
        await self._client.fetch("PATCH", path, body={"status": status}, content_type=MERGE_PATCH)

    async def _delete(self, pacto: Pacto, action: DeleteRevision) -> None:
        path = PACTO_REVISION.kind.path(pacto.metadata.namespace, action.name)
        try:
            await self._client.delete(path, {"preconditions": {"uid": action.uid}} if action.uid else None)
        except (NotFoundError, ConflictError):
            return

    def _record(self, pacto: Pacto, level: EventType, reason: str, message: str) -> None:
        metadata, kind = pacto.metadata, PACTO.kind
        about = About(kind.api_version, kind.kind, metadata.namespace, metadata.name, metadata.uid)
        self._recorder.record(about, level, reason, message, by=COMPONENT)


def _body(pacto: Pacto, action: CreateRevision) -> JsonObject:
    version = action.version
    source: JsonObject = {"oci": version.ref, "digest": version.digest} if version.ref else {"inline": True}
    body = PACTO_REVISION.kind.new(
        action.name,
        spec={
            "version": version.version,
            "source": {key: value for key, value in source.items() if value},
            "pactoRef": pacto.metadata.name,
            "serviceName": version.service,
        },
    )
    body["metadata"] |= {
        "namespace": pacto.metadata.namespace,
        "labels": revision_labels(pacto.metadata.name, version.version),
        "ownerReferences": [owner_reference(PACTO.kind, pacto.metadata)],
    }
    return body


def _short(version: Version) -> str:
    return version.digest[:_DIGEST_SHOWN]
