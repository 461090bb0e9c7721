"""Tracked workloads as pages: which image runs, which is due, what was committed, and pins."""

from __future__ import annotations

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, POD, STATEFUL_SET, Kind
from homeostat.objects.roles import rule
from homeostat.operators.images.api import GROUP, IMAGE_UPDATE, KINDS, REQUESTED, ImageUpdateStatus, Pin
from homeostat.operators.images.engine.annotations import tracked_of
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from homeostat.web.dashboard.commit import commit_url
from homeostat.web.images.dashboard.origins import _commit_of
from homeostat.web.images.dashboard.rollout import RolledWorkload, Rollout, rollout_of
from homeostat.web.images.dashboard.update import Update
from tests.web.dashboard.declaring import HOSTILE, SINCE, declare, proof_of, reading, ready, visitor
from tests.web.dashboard.site import Site

OLD, NEW = "0" * 40, "abc" + "1" * 37
ANNOTATIONS = {
    "enabled": "true",
    "app_repository": "https://me:hidden-key@git.example.org/shop.git",
    "manifest_repository": "git@github.com:acme/manifests.git",
    "image_name": "acme/web",
    "deployment_path": "web/deployment.yaml",
    "ssh_key_name": "key",
    "ssh_key_namespace": "default",
    "freeze": HOSTILE,
}
STATUS: JsonObject = {
    "conditions": [ready("True", "Patched", HOSTILE)],
    "image": "docker.io/acme/web",
    "tag": NEW,
    "wanted": NEW,
    "commit": "c" * 40,
    "result": {"action": "patched", "message": f"updated {HOSTILE}", "time": SINCE},
    "history": [{"time": SINCE, "old": OLD, "new": NEW, "commit": "c" * 40}],
}


async def declare_all(plane: Plane) -> None:
    await install(plane.client, KINDS)
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": f"acme/web:{OLD}"}]},
    }
    for name, given in (("web", ANNOTATIONS), ("broken", ANNOTATIONS), ("untracked", {})):
        metadata = {"annotations": {f"gitops.operator.{key}": value for key, value in given.items()}}
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
        await declare(plane.client, DEPLOYMENT, name, metadata=metadata, spec=spec)
    await declare(plane.client, IMAGE_UPDATE.kind, "web", spec={}, status=STATUS)
    failed = {"result": {"action": "failed", "message": "cannot push", "time": SINCE}}
    await declare(plane.client, IMAGE_UPDATE.kind, "broken", spec={}, status=failed)


async def test_workloads_show_their_tags_and_can_be_updated_and_pinned(plane: Plane, site: Site) -> None:
    assert "gitops.operator.enabled=true" in (await site.open("/images")).text
    await declare_all(plane)
    page = await site.shows("/images", "cannot push")
    assert [each.text for each in page.document.all("th", scope="row")] == ["brokendefault", "webdefault"]
    assert "cannot push" in (await site.open()).text
    found = await site.open("/images?state=not+applied")
    assert [each.text for each in found.document.all("th", scope="row")] == ["webdefault"]

    here = "/images/default/web"
    page = await site.open(here)
    assert page.document.one("del").text == f"- image: acme/web:{OLD}"
    assert page.document.one("ins").text == f"+ image: acme/web:{NEW}"
    assert f"https://github.com/acme/manifests/commit/{'c' * 40}" in page.source
    assert "hidden-key" not in page.source
    assert "<script>" not in page.source
    commands = [each.text for each in page.document.all("code", class_="command")]
    assert commands[:2] == ["homeostat image update default/web", "homeostat image pin default/web"]

    warned = (await site.open("/objects/apps/deployments/default/web/rollback")).document.one("div", class_="origin")
    assert "The manifests in git@github.com:acme/manifests.git declare this workload." in warned.text
    assert f"git revert --no-edit {'c' * 40} && git push" in warned.text
    unknown = await site.open("/objects/apps/deployments/default/broken/rollback")
    assert "git revert" not in unknown.document.one("div", class_="origin").text

    proof = page.document.all("input", name="proof")[0].attributes["value"]
    for action in ("update", "pin"):
        assert (await site.send(f"{here}/{action}", {"proof": ""})).status == 403
        assert (await site.send(f"{here}/{action}", {"proof": proof, "reason": HOSTILE})).status == 303
    page = await site.shows(here, "Pinned: passes change nothing")
    assert "homeostat image unpin default/web" in [each.text for each in page.document.all("code", class_="command")]
    assert "Update now" not in page.text
    refused = await site.send(f"{here}/update", {"proof": proof})
    assert (refused.status, "unpin it first" in refused.text) == (409, True)
    assert REQUESTED in (await plane.client.get(DEPLOYMENT.path("default", "web")))["metadata"]["annotations"]
    pinned = await plane.client.get(IMAGE_UPDATE.kind.path("default", "web"))
    assert pinned["spec"]["pin"] == {"tag": NEW, "reason": HOSTILE}
    assert (await site.send(f"{here}/unpin", {"proof": proof})).status == 303
    await site.shows(here, "homeostat image pin")
    for missing in ("untracked", "none"):
        assert (await site.open(f"/images/default/{missing}")).status == 404


async def test_a_commit_shows_what_it_changed_of_all_workloads(plane: Plane, site: Site) -> None:
    await declare_all(plane)
    alone = {"time": SINCE, "old": NEW, "new": OLD, "commit": "d" * 40}
    together = {"time": SINCE, "old": "1.0", "new": "1.1", "commit": "c" * 40}
    status = {"history": [alone, together]}
    await plane.client.merge(IMAGE_UPDATE.kind.path("default", "broken", "status"), {"status": status})
    page = await site.shows("/images/default/web", "In the same commit")
    assert [each.text for each in page.document.all("ins")] == [f"+ image: acme/web:{NEW}", "+ image: acme/web:1.1"]
    assert page.document.all("a", href="/dashboard/images/default/broken")[0].text == "default/broken"
    page = await site.open("/images/default/broken")
    assert page.text.count("In the same commit") == 1
    await plane.client.merge(IMAGE_UPDATE.kind.path("default", "broken", "status"), {"status": {"wanted": None}})
    page = await site.open("/images/default/broken")
    assert page.document.all("li", class_="same") == [], "nobody knows its newest tag"


async def test_who_may_only_read_gets_no_button_and_is_refused(plane: Plane, guarded: Site) -> None:
    await declare_all(plane)
    tracked = {f"gitops.operator.{key}": value for key, value in ANNOTATIONS.items()}
    pod = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": f"acme/db:{OLD}"}]}}
    spec = {"selector": {"matchLabels": {"app": "db"}}, "serviceName": "db", "template": pod}
    await declare(plane.client, STATEFUL_SET, "secretdb", metadata={"annotations": tracked}, spec=spec)
    reader = await visitor(
        plane, guarded, "reader", [reading(GROUP, "imageupdates"), reading("apps", "deployments")]
    )  # fmt: skip
    here = "/images/default/web"
    page = await guarded.open(here, Cookie=reader)
    assert (page.status, page.document.all("ul", class_="actions")) == (200, [])
    proof = await proof_of(guarded, here, reader)
    for action in ("update", "pin", "unpin"):
        assert (await guarded.send(f"{here}/{action}", {"proof": proof}, Cookie=reader)).status == 403
    for path in ("/images", ""):
        assert "secretdb" not in (await guarded.open(path, Cookie=reader)).source, "StatefulSets may not be listed"

    rules = [rule(GROUP, ["imageupdates"], ["list", "patch"]), reading("apps", "deployments", "statefulsets")]
    patcher = await visitor(plane, guarded, "patcher", rules)
    listed = (await guarded.open("/images", Cookie=patcher)).document.all("a")
    (there,) = {each.attributes["href"] for each in listed if "secretdb" in each.attributes["href"]}
    there = there.removeprefix("/dashboard")
    proof = await proof_of(guarded, there, patcher)
    assert (await guarded.send(f"{there}/pin", {"proof": proof}, Cookie=patcher)).status == 403, "it would create one"


PINNED_BEFORE: JsonObject = {**ready("True", "Pinned", ""), "type": "Pinned"}


def _update(*, runs: str = NEW, rollout: Rollout | None = None, **status: object) -> Update:
    annotations = {f"gitops.operator.{key}": value for key, value in ANNOTATIONS.items()}
    annotations[REQUESTED] = SINCE
    spec = {"template": {"spec": {"containers": [{"name": "web", "image": f"acme/web:{runs}"}]}}}
    metadata = {"name": "web", "namespace": "default", "annotations": annotations}
    tracked = tracked_of(msgspec.convert({"metadata": metadata, "spec": spec}, RolledWorkload))
    assert tracked is not None
    result = {"action": "up_to_date", "time": SINCE}
    known = {"tag": NEW, "wanted": NEW, "handledRequest": SINCE, "result": result, **status}
    return Update(tracked, msgspec.convert(known, ImageUpdateStatus), None, True, rollout or Rollout())


@pytest.mark.parametrize(("commit", "found"), [("c" * 40, "c" * 40), ("--strategy=x", ""), ("", "")])
def test_a_commit_that_a_command_would_read_as_an_option_is_unknown(commit: str, found: str) -> None:
    history = [{"time": SINCE, "old": OLD, "new": NEW, "commit": commit}]
    assert _commit_of(_update(history=history)) == found


@pytest.mark.parametrize(
    ("update", "state", "text"),
    [
        pytest.param(_update(), "up to date", "", id="everything is the newest"),
        pytest.param(_update(runs=OLD), "not applied", "waiting for the manifests to be applied", id="not applied"),
        pytest.param(_update(rollout=Rollout(3, 1, 3)), "rolling out", "1 of 3 Pods are", id="rolling out"),
        pytest.param(_update(rollout=Rollout(3, 3, 4)), "rolling out", "3 of 3", id="old Pods are still there"),
        pytest.param(_update(tag=OLD), "behind", "", id="behind"),
        pytest.param(
            _update(conditions=[PINNED_BEFORE], result={"action": "skipped", "time": SINCE}, wanted=None, tag=OLD),
            "pending",
            "Unpinned. Waiting for the next pass",
            id="unpinned a moment ago",
        ),
        pytest.param(_update(handledRequest=None), "pending", "Requested. Waiting for the next pass", id="requested"),
    ],
)
def test_only_what_runs_the_newest_tag_is_up_to_date(update: Update, state: str, text: str) -> None:
    assert update.state == state
    assert text in update.explanation


@pytest.mark.parametrize(
    ("update", "is_held_back"),
    [
        pytest.param(_update(tag=OLD), True, id="a newer tag is there"),
        pytest.param(_update(), False, id="the pin is the newest"),
        pytest.param(_update(tag=OLD, wanted=None), False, id="the newest is unknown"),
    ],
)
def test_a_pin_holds_back_what_is_newer(update: Update, is_held_back: bool) -> None:
    assert update._replace(pin=Pin(tag="1", reason="")).is_held_back == is_held_back
    assert not update.is_held_back, "without a pin it is only behind"


async def test_home_lists_a_pin_that_holds_something_back(plane: Plane, site: Site) -> None:
    await declare_all(plane)
    pin = {"pin": {"tag": OLD, "reason": "prices were wrong"}}
    held = {**STATUS, "tag": OLD, "result": {"action": "skipped", "message": "pinned", "time": SINCE}}
    await declare(plane.client, IMAGE_UPDATE.kind, "held", spec=pin, status=held)
    metadata = {"annotations": {f"gitops.operator.{key}": value for key, value in ANNOTATIONS.items()}}
    containers = [{"name": "web", "image": f"acme/web:{OLD}"}]
    template = {"metadata": {"labels": {"app": "held"}}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": {"app": "held"}}, "template": template}
    await declare(plane.client, DEPLOYMENT, "held", metadata=metadata, spec=spec)
    page = await site.shows("", f"pinned at {OLD[:12]}, and {NEW[:12]} is newer: prices were wrong")
    assert "default/held" in page.document.one("table", class_="problems").text
    assert 'class="chip warn">pinned' in (await site.open("/images?q=held")).source


@pytest.mark.parametrize(
    ("kind", "generation", "status", "is_done"),
    [
        (DEPLOYMENT, 2, {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 1}, False),
        (DEPLOYMENT, 3, {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3}, False),
        (DEPLOYMENT, 2, {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3}, True),
        (DEPLOYMENT, 2, {}, True),
        (DAEMON_SET, 2, {"observedGeneration": 2, "desiredNumberScheduled": 2, "currentNumberScheduled": 2}, False),
    ],
)
def test_pods_of_an_old_template_are_a_rollout(kind: Kind, generation: int, status: JsonObject, is_done: bool) -> None:
    whole = {"metadata": {"generation": generation}, "spec": {"replicas": 3}, "status": status}
    assert rollout_of(msgspec.convert(whole, RolledWorkload), kind).is_done == is_done


async def test_the_page_counts_what_pods_run(plane: Plane, site: Site) -> None:
    await declare_all(plane)
    for name, tag in (("a", OLD), ("b", OLD), ("c", NEW)):
        # Another image has a name that begins as this one.
        beside = {"name": "proxy", "image": "acme/web-proxy:7"}
        spec = {"containers": [beside, {"name": "web", "image": f"docker.io/acme/web:{tag}"}]}
        await declare(plane.client, POD, name, metadata={"labels": {"app": "web"}}, spec=spec)
    page = await site.shows("/images/default/web", "2 Pods")
    way = page.document.one("ol", class_="way").text
    assert (
        way == f"Newest{NEW[:12]}In Git{NEW[:12]}In the Deployment{OLD[:12]}Pods run{OLD[:12]} 2 Pods{NEW[:12]} 1 Pod"
    )


@pytest.mark.parametrize(
    ("repository", "url"),
    [
        ("git@github.com:acme/m.git", "https://github.com/acme/m/commit/abc"),
        ("ssh://git@gitlab.example.org:2222/a/b", "https://gitlab.example.org/a/b/-/commit/abc"),
        ("https://git.example.org/a/b.git", "https://git.example.org/a/b/commit/abc"),
        ("https://user:key@git.example.org/a", ""),
        ("javascript:alert(1)", ""),
        ("file:///srv/git", ""),
        ("http://127.0.0.1:3000/a.git", ""),
    ],
)
def test_a_commit_leads_to_its_forge(repository: str, url: str) -> None:
    assert commit_url(repository, "abc") == url
