"""What the runtime writes to objects: their status and their finalizers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from homeostat.client.projection import Projection
from homeostat.objects.conditions import Condition
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.decision import Receipt
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.kind import Kind
from homeostat.runtime.control.finalizer import add_finalizer, remove_finalizer
from homeostat.runtime.control.status import Snapshot, plan_status, write_receipt, write_status
from homeostat.runtime.installation import install
from tests.cluster.fixtures import Api

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
READY = Condition("Ready", "True", "Succeeded")
OURS, THEIRS = "homeostat.example/cleanup", "other.example/keep"


class Spec(msgspec.Struct, frozen=True):
    size: int = 0


class Status(msgspec.Struct, frozen=True):
    """Whatever is written."""

    url: Any = None
    run: Any = None
    note: str = ""
    conditions: tuple[dict[str, Any], ...] = ()
    observed_generation: int = msgspec.field(default=0, name="observedGeneration")


WIDGETS = CustomKind(
    Kind("runtime.example", "v1", "widgets", "Widget", is_namespaced=True, singular="widget"), spec=Spec, status=Status
)


@pytest.fixture
async def widgets(api: Api) -> Projection[Snapshot]:
    await install(api.client, [WIDGETS])
    return Projection(api.client, WIDGETS.kind, Snapshot)


async def created(widgets: Projection[Snapshot], api: Api, *finalizers: str) -> Snapshot:
    body = {"metadata": {"name": "w", "finalizers": list(finalizers)}, "spec": {"size": 1}}
    return await widgets.create(body, api.namespace)


async def test_a_status_is_written_once_and_then_not_again(api: Api, widgets: Projection[Snapshot]) -> None:
    first = await created(widgets, api)
    second = await write_status(widgets, first, plan_status(first, [READY], {"url": "a"}, now=NOW))
    third = await write_status(widgets, second, plan_status(second, [READY], {"url": "a"}, now=LATER))
    assert third is second
    assert await widgets.get("w", api.namespace) == second
    assert second.status is not None
    assert second.status["observedGeneration"] == second.metadata.generation == 1


async def test_a_status_of_an_older_version_is_refused(api: Api, widgets: Projection[Snapshot]) -> None:
    seen = await created(widgets, api)
    await widgets.patch({"spec": {"size": 2}}, "w", api.namespace)
    with pytest.raises(ConflictError):
        await write_status(widgets, seen, plan_status(seen, [READY], now=NOW))
    assert (await widgets.get("w", api.namespace)).status is None


async def test_a_status_is_not_written_to_a_namesake(api: Api, widgets: Projection[Snapshot]) -> None:
    seen = await created(widgets, api)
    await widgets.delete("w", api.namespace)
    await created(widgets, api)
    with pytest.raises(ConflictError):
        await write_status(widgets, seen, plan_status(seen, [READY], now=NOW))
    with pytest.raises(ConflictError):
        await write_receipt(widgets, seen, Receipt({"run": 42}))
    assert (await widgets.get("w", api.namespace)).status is None


async def test_a_receipt_is_kept_though_others_wrote_meanwhile(api: Api, widgets: Projection[Snapshot]) -> None:
    seen = await created(widgets, api)
    await widgets.patch({"spec": {"size": 2}}, "w", api.namespace)
    await widgets.patch({"status": {"note": "theirs"}}, "w", api.namespace, subresource="status")
    after = await write_receipt(widgets, seen, Receipt({"run": {"id": 42}}))
    assert after.status == {"note": "theirs", "run": {"id": 42}}
    assert await write_receipt(widgets, after, Receipt({"run": {"id": 42}})) is after


async def test_an_object_stays_until_its_finalizer_is_removed(api: Api, widgets: Projection[Snapshot]) -> None:
    added = await add_finalizer(widgets, await created(widgets, api), OURS)
    assert added.metadata.finalizers == (OURS,)
    await widgets.delete("w", api.namespace)
    terminating = await widgets.get("w", api.namespace)
    assert terminating.metadata.deletion_timestamp is not None
    await remove_finalizer(widgets, terminating, OURS)
    with pytest.raises(NotFoundError):
        await widgets.get("w", api.namespace)
    assert await remove_finalizer(widgets, terminating, OURS) is None


async def test_a_finalizer_added_meanwhile_is_not_lost(api: Api, widgets: Projection[Snapshot]) -> None:
    seen = await created(widgets, api, OURS)
    await add_finalizer(widgets, seen, THEIRS)
    with pytest.raises(ConflictError):
        await remove_finalizer(widgets, seen, OURS)
    removed = await remove_finalizer(widgets, await widgets.get("w", api.namespace), OURS)
    assert removed is not None
    assert removed.metadata.finalizers == (THEIRS,)


async def test_a_finalizer_removed_meanwhile_does_not_come_back(api: Api, widgets: Projection[Snapshot]) -> None:
    seen = await created(widgets, api, THEIRS)
    await remove_finalizer(widgets, seen, THEIRS)
    with pytest.raises(ConflictError):
        await add_finalizer(widgets, seen, OURS)
    assert (await widgets.get("w", api.namespace)).metadata.finalizers == ()
