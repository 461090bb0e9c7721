"""Tracked workloads as pages: which image runs, which is due, what was committed, and pins."""

from __future__ import annotations

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, STATEFUL_SET
from homeostat.objects.roles import rule
from homeostat.operators.images.api import GROUP, IMAGE_UPDATE, KINDS, REQUESTED
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from homeostat.web.images.dashboard.image import commit_url
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
    found = await site.open("/images?state=up+to+date")
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

    proof = page.document.all("input", name="proof")[0].attributes["value"]
    for action in ("update", "pin"):
        assert (await site.send(f"{here}/{action}", {"proof": ""})).status == 403
        assert (await site.send(f"{here}/{action}", {"proof": proof, "reason": HOSTILE})).status == 303
    page = await site.shows(here, "pinned")
    assert "homeostat image unpin default/web" in [each.text for each in page.document.all("code", class_="command")]
    assert REQUESTED in (await plane.client.get(DEPLOYMENT.path("default", "web")))["metadata"]["annotations"]
    pinned = await plane.client.get(IMAGE_UPDATE.kind.path("default", "web"))
    assert pinned["spec"]["pin"] == {"tag": NEW, "reason": HOSTILE}
    assert (await site.send(f"{here}/unpin", {"proof": proof})).status == 303
    await site.shows(here, "homeostat image pin")
    for missing in ("untracked", "none"):
        assert (await site.open(f"/images/default/{missing}")).status == 404


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


@pytest.mark.parametrize(
    ("repository", "url"),
    [
        ("git@github.com:acme/m.git", "https://github.com/acme/m/commit/abc"),
        ("ssh://git@gitlab.example.org:2222/a/b", "https://gitlab.example.org/a/b/-/commit/abc"),
        ("https://git.example.org/a/b.git", "https://git.example.org/a/b/commit/abc"),
        ("https://user:key@git.example.org/a", ""),
        ("javascript:alert(1)", ""),
        ("file:///srv/git", ""),
    ],
)
def test_a_commit_leads_to_its_forge(repository: str, url: str) -> None:
    assert commit_url(repository, "abc") == url
