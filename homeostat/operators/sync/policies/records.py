"""Keeps the record of a SyncPolicy as `SyncRecord` objects that it owns, in parts below the size limit of an object.

A record is written only when it changed, as a new generation beside the old one, its first part last: a generation
counts if that part is there. Then the old one is deleted. So a process that is killed at any time leaves a whole one.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import defaultdict
from hashlib import sha256
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.declared import owner_reference
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.api.policy import SYNC_POLICY, SyncPolicy
from homeostat.operators.sync.api.record import LARGEST_PART, MOST_PARTS, POLICY_UID, SYNC_RECORD, SyncRecord
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.run.record import Record, decode_record, encode_record

_KIND: Final = SYNC_RECORD.kind


class Records:
    """Of one policy, for one sync."""

    def __init__(self, client: Client, policy: SyncPolicy) -> None:
        self._client, self._policy = client, policy
        self._kept: dict[int, list[SyncRecord]] = {}
        self._digest, self._sequence = "", 0

    async def load(self) -> Record:
        """`ValidationError` if there is one and it is unreadable: then nothing may be changed."""
        namespace, uid = self._policy.metadata.namespace, self._policy.metadata.uid
        found, _ = await self._client.list(_KIND.path(namespace), labelSelector=f"{POLICY_UID}={uid}")
        self._kept = defaultdict(list)
        for each in found:
            part = msgspec.convert({"metadata": each["metadata"], "spec": each["spec"]}, SyncRecord)
            self._kept[part.spec.sequence].append(part)
        self._sequence = max(self._kept, default=0)
        complete = [each for each, parts in self._kept.items() if any(not part.spec.part for part in parts)]
        if not complete:
            return Record()
        data = await asyncio.to_thread(_joined, self._kept[max(complete)])
        self._digest = sha256(data).hexdigest()
        return await asyncio.to_thread(decode_record, data)

    async def save(self, record: Record) -> None:
        data = await asyncio.to_thread(encode_record, record)
        digest = sha256(data).hexdigest()
        if digest == self._digest or (not self._digest and record == Record()):
            return
        self._sequence += 1
        pieces = [data[at : at + LARGEST_PART] for at in range(0, len(data), LARGEST_PART)]
        if len(pieces) > MOST_PARTS:
            raise ValidationError(f"the record has {len(data)} bytes; at most {MOST_PARTS * LARGEST_PART} are kept")
        written = list[SyncRecord]()
        for part, piece in reversed(list(enumerate(pieces))):
            written.append(await self._create(part, len(pieces), digest, piece))
        old, self._kept, self._digest = self._kept, {self._sequence: written}, digest
        for each in [part for parts in old.values() for part in parts]:
            await self._delete(each.metadata.name)

    async def _create(self, part: int, parts: int, digest: str, data: bytes) -> SyncRecord:
        metadata = self._policy.metadata
        name = f"sync-{metadata.uid}-{self._sequence}-{part}"
        body: JsonObject = _KIND.new(
            name,
            spec={
                "policy": metadata.name,
                "sequence": self._sequence,
                "part": part,
                "parts": parts,
                "digest": digest,
                "data": base64.b64encode(data).decode(),
            },
        )
        body["metadata"] |= {
            "namespace": metadata.namespace,
            "labels": {POLICY_UID: metadata.uid},
            "ownerReferences": [owner_reference(SYNC_POLICY.kind, metadata)],
        }
        path = _KIND.path(metadata.namespace)
        try:
            made = await self._client.create(path, body)
        except AlreadyExistsError:
            # Left by a process that was killed while it wrote this generation.
            await self._delete(name)
            made = await self._client.create(path, body)
        return msgspec.convert({"metadata": made["metadata"], "spec": {**body["spec"], "data": ""}}, SyncRecord)

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete(_KIND.path(self._policy.metadata.namespace, name))
        except NotFoundError:
            return


def _joined(parts: list[SyncRecord]) -> bytes:
    ordered = sorted(parts, key=lambda each: each.spec.part)
    first = ordered[0].spec
    try:
        data = b"".join(base64.b64decode(each.spec.data, validate=True) for each in ordered)
    except binascii.Error:
        data = b""
    if len(ordered) != first.parts or sha256(data).hexdigest() != first.digest:
        raise ValidationError(
            "the record of the sync is incomplete or was changed; restore the policy's SyncRecords, or delete them "
            "and adopt the objects again"
        )
    return data
