"""Events as a real server keeps them."""

from __future__ import annotations

import pytest

from homeostat.objects.json import JsonObject
from homeostat.runtime.control.recorder import About, Recorder
from tests.cluster.fixtures import Api


async def events(api: Api, namespace: str = "") -> list[JsonObject]:
    found, _ = await api.client.list(f"/api/v1/namespaces/{namespace or api.namespace}/events")
    return found


@pytest.fixture
def web(api: Api) -> About:
    return About("apps/v1", "Deployment", api.namespace, "web", "u-1")


async def test_an_event_says_what_happened_to_which_object(api: Api, web: About) -> None:
    recorder = Recorder(api.client, "gitops", instance="host-1", suffix=lambda: "abc")
    recorder.record(web, "Warning", "CloneFailed", "no password")
    await recorder.flush()
    assert (recorder.written, recorder.failed) == (1, 0)
    [event] = await events(api)
    assert event["metadata"]["name"] == "web.abc"
    assert event["involvedObject"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": api.namespace,
        "name": "web",
        "uid": "u-1",
    }
    told = ("type", "reason", "message", "count", "reportingComponent", "reportingInstance")
    assert [event[each] for each in told] == ["Warning", "CloneFailed", "no password", 1, "gitops", "host-1"]
    assert event["firstTimestamp"] == event["lastTimestamp"]


async def test_what_is_said_again_is_counted_and_not_written_again(api: Api, web: About) -> None:
    recorder = Recorder(api.client, "gitops")
    for _ in range(5):
        recorder.record(web, "Normal", "Pulled", "main")
        await recorder.flush()
    assert [each["count"] for each in await events(api)] == [5]
    assert (recorder.written, recorder.failed) == (5, 0)


async def test_an_event_that_has_expired_is_written_again(api: Api, web: About) -> None:
    recorder = Recorder(api.client, "gitops")
    recorder.record(web, "Normal", "Pulled", "main")
    await recorder.flush()
    [event] = await events(api)
    await api.client.delete(f"/api/v1/namespaces/{api.namespace}/events/{event['metadata']['name']}")
    recorder.record(web, "Normal", "Pulled", "main")
    await recorder.flush()
    assert [each["count"] for each in await events(api)] == [1]


@pytest.mark.parametrize("name", ["web", "system:node", "Upper_Case", "a..b", ":", "n" * 253])
async def test_any_name_makes_the_name_of_an_event(api: Api, name: str) -> None:
    recorder = Recorder(api.client, "gitops")
    about = About("v1", "Node", "", name, api.namespace)
    recorder.record(about, "Normal", "Ready", "m" * 2000)
    await recorder.flush()
    assert (recorder.written, recorder.failed) == (1, 0)
    mine = [each for each in await events(api, "default") if each["involvedObject"].get("uid") == api.namespace]
    assert [each["involvedObject"]["name"] for each in mine] == [name]
