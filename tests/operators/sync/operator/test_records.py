"""The record of a policy in objects that it owns: in parts, written only when it changed, and whole after a crash."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators import sync
from homeostat.operators.sync.api.policy import SYNC_POLICY, SyncPolicy
from homeostat.operators.sync.api.record import SYNC_RECORD
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.policies.records import Records
from homeostat.operators.sync.run.record import Owned, Record
from homeostat.runtime.installation import install
from tests.cluster.fixtures import Api


async def _policy(api: Api) -> SyncPolicy:
    await install(api.client, sync.KINDS)
    refs = {each: {"name": "x"} for each in ("resourceRepositoryRef", "managedServerRef", "secretStoreRef")}
    body = SYNC_POLICY.kind.new("customers", spec={**refs, "source": {"path": "/customers"}})
    made = await api.client.create(SYNC_POLICY.kind.path(api.namespace), body)
    return msgspec.convert({"metadata": made["metadata"], "spec": made["spec"]}, SyncPolicy)


async def _kept(api: Api) -> list[JsonObject]:
    found, _ = await api.client.list(SYNC_RECORD.kind.path(api.namespace))
    return sorted(found, key=lambda each: each["metadata"]["name"])


def _large(seed: int) -> Record:
    """Of content that does not compress, so that it has several parts."""
    chance = random.Random(seed)
    return Record(
        objects={f"/customers/{at}": Owned(f"{chance.getrandbits(512):0128x}", "created") for at in range(15_000)}
    )


async def test_a_record_is_kept_in_parts_and_written_only_when_it_changed(api: Api) -> None:
    policy, record = await _policy(api), _large(1)
    assert await Records(api.client, policy).load() == Record()
    records = Records(api.client, policy)
    await records.save(Record())
    assert await _kept(api) == []
    await records.save(record)
    first = await _kept(api)
    assert len(first) > 1
    again = Records(api.client, policy)
    assert (await again.load()).objects == record.objects
    await again.save(record)
    assert [_identity(each) for each in await _kept(api)] == [_identity(each) for each in first]
    smaller = Record(objects={"/customers/1": Owned("1", "created")})
    await again.save(smaller)
    (left,) = await _kept(api)
    assert left["metadata"]["ownerReferences"][0]["uid"] == policy.metadata.uid
    assert (await Records(api.client, policy).load()).objects == smaller.objects


async def test_a_half_written_record_does_not_count_and_a_damaged_one_is_an_error(api: Api) -> None:
    policy, old = await _policy(api), Record(objects={"/customers/1": Owned("1", "created")})
    records = Records(api.client, policy)
    await records.save(old)
    (kept,) = await _kept(api)
    half: Any = SYNC_RECORD.kind.new("half", spec={**kept["spec"], "sequence": 9, "part": 1, "parts": 2})
    half["metadata"] |= {"namespace": api.namespace, "labels": kept["metadata"]["labels"]}
    await api.client.create(SYNC_RECORD.kind.path(api.namespace), half)
    after = Records(api.client, policy)
    assert (await after.load()).objects == old.objects
    new = Record(objects={"/customers/2": Owned("2", "created")})
    await after.save(new)
    (kept,) = await _kept(api)
    assert kept["spec"]["sequence"] == 10
    path = SYNC_RECORD.kind.path(api.namespace, kept["metadata"]["name"])
    await api.client.merge(path, {"spec": {"data": "AAAA"}})
    with pytest.raises(ValidationError, match="incomplete or was changed"):
        await Records(api.client, policy).load()


def _identity(obj: JsonObject) -> tuple[str, str]:
    return obj["metadata"]["name"], obj["metadata"]["resourceVersion"]
