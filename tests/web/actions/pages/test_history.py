"""What was done for a resource, over HTTP: in pages, the newest first, also when the resource is gone."""

from __future__ import annotations

import msgspec

from homeostat.client.base import Client, Response, Transport
from homeostat.operators.actions.api import ID, RECONCILIATION, ReconciliationSpec
from homeostat.testing.eventually import eventually
from tests.web.actions.calling import Api, note
from tests.web.actions.replicas import replica
from tests.web.actions.shelf import World


class Weighing:
    """A transport that notes how much is answered."""

    def __init__(self, transport: Transport, weighed: list[int]) -> None:
        self._transport, self._weighed = transport, weighed
        self.stream = transport.stream

    async def send(self, method: str, path: str, **options: str | bytes) -> Response:
        answer = await self._transport.send(method, path, **options)  # type: ignore[arg-type]
        self._weighed.append(len(answer.body))
        return answer


async def test_history_lists_what_was_done_and_outlives_the_resource(notes: Api, shelf: World, client: Client) -> None:
    await notes.made("/resources", note("one"))
    await notes.becomes(1, "ready")
    await notes.put("/resources/1", {"spec": {"text": "b"}})
    await notes.becomes(1, "ready")
    shelf.things["one"] = "tampered"
    asked = await notes.post("/resources/1/reconcile")
    assert asked.body == {"message": "Reconciliation triggered", "resource_id": 1}
    told = await eventually(lambda: notes.get("/resources/1/history"), lambda each: len(each.body) == 3)
    assert [each["trigger_reason"] for each in told.body] == ["manual", "spec_change", "initial"]
    first = told.body[-1]
    assert (first["resource_id"], first["generation"], first["success"]) == (1, 1, True)
    assert (first["phase"], first["plan_output"], first["apply_output"]) == ("completed", "a plan", "shelved one")
    assert (first["resources_created"], first["error_message"], first["drift_detected"]) == (1, None, False)
    assert first["reconcile_time"].endswith("Z")
    assert first["duration_seconds"] >= 0
    assert len((await notes.get("/resources/1/history?limit=2")).body) == 2
    await notes.delete("/resources/1")
    await notes.is_gone(1)
    left = (await notes.get("/resources/1/history")).body
    assert [each["trigger_reason"] for each in left][:2] == ["deletion", "manual"]
    assert {each["resource_name"] for each in left} == {"one"}
    assert (await notes.get("/resources/99/history")).status == 404
    items, _ = await client.list(RECONCILIATION.kind.path("default"))
    assert len(items) == len(left)


async def test_history_is_paged_also_over_gaps_and_when_the_resource_is_gone(notes: Api, client: Client) -> None:
    await notes.made("/resources", note("one"))
    await notes.becomes(1, "ready")
    for count in range(2, 25):
        await notes.post("/resources/1/reconcile")
        await until_recorded(notes, count)
    items, _ = await client.list(RECONCILIATION.kind.path("default"))
    for each in items:
        if each["metadata"]["name"].rpartition("-")[2] in ("15", "16", "6"):
            await client.delete(RECONCILIATION.kind.path("default", each["metadata"]["name"]))
    expected = [each for each in range(24, 0, -1) if each not in (6, 15, 16)]
    assert await paged_ids(notes) == expected
    await notes.delete("/resources/1")
    await notes.is_gone(1)
    assert await paged_ids(notes) == [25, *expected]


async def test_of_a_long_history_of_deleted_objects_no_more_is_read_than_is_shown(client: Client) -> None:
    kind, count, printed = RECONCILIATION.kind, 300, "x" * 10_000
    for at in range(1, count + 1):
        spec = msgspec.to_builtins(
            ReconciliationSpec(
                resource_kind="Note",
                resource_version="v1",
                resource_name="one",
                resource_uid="u",
                generation=1,
                trigger="scheduled",
                is_success=True,
                phase="completed",
                plan_output=printed,
                started="2026-01-01T00:00:00Z",
                finished="2026-01-01T00:00:00Z",
            )
        )
        metadata = {"name": f"one-12345678-{at}", "labels": {ID: "77"}}
        await client.create(
            kind.path("default"),
            {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec},
        )
    weighed: list[int] = []
    async with replica(client.over(lambda transport: Weighing(transport, weighed))) as (api, _):
        weighed.clear()
        told = await api.get("/resources/77/history?limit=5")
        assert [each["id"] for each in told.body] == [300, 299, 298, 297, 296]
        assert (await api.get("/resources/77/history?limit=5&after=11")).body[0]["id"] == 10
        assert sum(weighed) < count * len(printed) / 2


async def until_recorded(api: Api, count: int) -> None:
    await eventually(lambda: api.get("/resources/1/history?limit=1"), lambda told: told.body[0]["id"] == count)


async def paged_ids(api: Api) -> list[int]:
    """As somebody finds them who follows the links."""
    found, path = [], "/resources/1/history?limit=7"
    while path:
        page = await api.get(path)
        assert 0 < len(page.body) <= 7
        found += [each["id"] for each in page.body]
        path = page.headers.get("Link", "").partition(">")[0].removeprefix("<")
    return found
