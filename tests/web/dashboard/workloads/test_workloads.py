"""Workloads on Home and on their own page: what crashes, what is overdue, and what nobody runs."""

from __future__ import annotations

import msgspec
import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, POD, Kind
from homeostat.plane import Plane
from homeostat.web.dashboard.workloads import pods
from homeostat.web.dashboard.workloads.pods import PodTroubles
from homeostat.web.dashboard.workloads.workload import RunningWorkload, pod_selector, row_of
from tests.web.dashboard.declaring import HOSTILE, SINCE, declare, reading, visitor
from tests.web.dashboard.site import Site

OVERDUE: JsonObject = {
    "type": "Progressing",
    "status": "False",
    "reason": "ProgressDeadlineExceeded",
    "message": "ReplicaSet has timed out progressing.",
    "lastTransitionTime": SINCE,
}


def _spec(name: str) -> JsonObject:
    labels = {"app": name}
    pod = {"containers": [{"name": "app", "image": "registry.example.org/app:1"}]}
    return {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}


def _status(ready: int, *conditions: JsonObject) -> JsonObject:
    counts = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": ready}
    return {**counts, "conditions": list(conditions)}


async def _run(plane: Plane, name: str, status: Json, *, kind: Kind = DEPLOYMENT) -> None:
    await declare(plane.client, kind, name, spec=_spec(name), status=status)


async def _pod(plane: Plane, app: str, state: JsonObject, *conditions: JsonObject) -> None:
    container = {"name": "app", "image": "i", "imageID": "", "ready": False, "restartCount": 4, "state": state}
    status = {"phase": "Running", "containerStatuses": [container], "conditions": list(conditions)}
    spec = {"containers": [{"name": "app", "image": "registry.example.org/app:1"}]}
    await declare(plane.client, POD, f"{app}-0", metadata={"labels": {"app": app}}, spec=spec, status=status)


async def test_a_failing_workload_is_wrong_now_with_the_reason_of_its_pods(plane: Plane, site: Site) -> None:
    """Beside a plane without controllers it reads what any controller would have written."""
    await _run(plane, "fine", _status(1))
    await _run(plane, "unseen", None)
    await _run(plane, "starting", _status(0))
    # The Pod of the former template is ready.
    await _run(plane, "looping", {**_status(1), "replicas": 2})
    await _run(plane, "late", _status(0, OVERDUE))
    daemons: JsonObject = {"observedGeneration": 1, "desiredNumberScheduled": 2, "numberReady": 1}
    counts = {"currentNumberScheduled": 2, "numberMisscheduled": 0, "updatedNumberScheduled": 2}
    await _run(plane, "agents", {**daemons, **counts}, kind=DAEMON_SET)
    await _pod(plane, "starting", {"waiting": {"reason": "ContainerCreating"}})
    await _pod(plane, "looping", {"waiting": {"reason": "ImagePullBackOff", "message": HOSTILE}})
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no Node fits"}
    await _pod(plane, "agents", {}, {**unscheduled, "lastTransitionTime": SINCE})

    page = await site.open()
    assert page.document.one("h1").text == "2 objects of 5 are not as declared; 2 are unknown or in progress"
    assert page.document.one("li", id="home-workloads").text.startswith("1 of 5")
    rows = [each.text for each in page.document.all("tr") if each.attributes.get("id", "").startswith("row-problem")]
    looping = next(each for each in rows if "default/looping" in each)
    assert "failedImagePullBackOff after 4 restarts: Pod looping-0, container app: </pre>" in looping
    late = next(each for each in rows if "default/late" in each)
    assert "failedProgressDeadlineExceeded: ReplicaSet has timed out progressing." in late
    agents = next(each for each in rows if "default/agents" in each)
    assert "warningUnschedulable: Pod agents-0: no Node fits" in agents
    assert len(rows) == 3
    links = [each.attributes["href"] for each in page.document.all("a") if each.text == "default/looping"]
    assert links == ["/dashboard/objects/apps/deployments/default/looping"]
    assert "<script>" not in page.source.replace("<script src", "")

    page = await site.open("/objects/apps/deployments/default/late")
    assert "WorkloadslatefailedProgressDeadlineExceeded" in page.document.one("tr", id="row-finding-workloads-0").text
    page = await site.open("/workloads")
    names = [each.text for each in page.document.all("th", scope="row")]
    kind = "Deployment · default"
    assert names == [f"late{kind}", f"looping{kind}", "agentsDaemonSet · default", f"starting{kind}", f"fine{kind}"]
    page = await site.open("/workloads?state=ready&q=FINE&namespace=default")
    assert [each.text for each in page.document.all("th", scope="row")] == [f"fine{kind}"]
    assert "No workloads match." in (await site.open("/workloads?state=ready&q=late")).text


async def test_the_page_of_a_workload_says_why_it_fails_although_others_wait_for_their_turn(
    plane: Plane, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pods, "MOST_WORKLOADS", 1)
    names = ("one", "two")
    for name in names:
        await _run(plane, name, _status(0))
        await _pod(plane, name, {"waiting": {"reason": "CrashLoopBackOff"}})
    for name in names:
        page = await site.open(f"/objects/apps/deployments/default/{name}?namespace=elsewhere")
        finding = page.document.one("tr", id="row-finding-workloads-0").text
        assert f"Workloads{name}failedCrashLoopBackOff after 4 restarts" in finding


async def test_workloads_are_for_who_may_list_them(plane: Plane, guarded: Site) -> None:
    reader = await visitor(plane, guarded, "reader", [reading("apps", "deployments"), reading("", "pods")])
    nobody = await visitor(plane, guarded, "nobody", [])
    page = await guarded.open("/workloads", Cookie=reader)
    assert (page.status, "No controller runs workloads here." in page.text) == (200, True)
    assert (await guarded.open("/workloads", Cookie=nobody)).status == 403


async def test_pods_are_read_again_only_after_some_seconds_or_a_change(plane: Plane) -> None:
    await _run(plane, "looping", _status(0))
    now = 100.0
    troubles = PodTroubles(plane.client, clock=lambda: now)

    async def found() -> str:
        read = await plane.client.fetch("GET", DEPLOYMENT.path("default", "looping"))
        row = row_of(msgspec.json.decode(read, type=RunningWorkload), DEPLOYMENT)
        assert row is not None
        (trouble,) = await troubles.of([row])
        return trouble.text.partition(":")[0] if trouble is not None else ""

    assert await found() == ""
    await _pod(plane, "looping", {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}})
    assert await found() == ""
    now += 5.0
    assert await found() == "CrashLoopBackOff after 4 restarts"


def test_pods_are_selected_by_expressions_too() -> None:
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["front"]}],
    }
    read = msgspec.json.decode(msgspec.json.encode({"spec": {"selector": selector}}), type=RunningWorkload)
    assert pod_selector(read) == "app=web,tier in (front)"
