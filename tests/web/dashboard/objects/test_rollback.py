"""Rollbacks of workloads: to the templates that controllers recorded, after a dry run, and of what was shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, STATEFUL_SET, Kind
from homeostat.operators import actions, workloads
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.web.dashboard.objects.rollback import revisions
from homeostat.web.dashboard.objects.rollback.deployers import deployer_of
from homeostat.web.dashboard.objects.rollback.revisions import _of_data
from tests.web.dashboard.objects.seed import DEPLOYMENTS, seed, seed_revisions
from tests.web.dashboard.open_site import open_site
from tests.web.dashboard.site import Page, Site

HERE = "/objects/apps/deployments/shop/web/rollback"
SETS = "/apis/apps/v1/namespaces/shop/replicasets"


def _declared(kind: Kind, image: str) -> JsonObject:
    labels = {"app": kind.plural}
    environment = [{"name": "DB_PASSWORD", "value": f"hunter2-{image}"}]
    pod = {"containers": [{"name": "app", "image": image, "env": environment}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    needed = {"serviceName": "app"} if kind == STATEFUL_SET else {}
    metadata = {"name": "app", "annotations": {"kubernetes.io/change-cause": f"to {image}"}}
    spec = {"selector": {"matchLabels": labels}, "template": template, **needed}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


def _form(page: Page, **more: str) -> dict[str, str]:
    """What the button of the preview, or the only one of the list, sends."""
    fields = {each: page.document.all("input", name=each) for each in ("proof", "revision", "basis")}
    return {**{each: found[-1].attributes["value"] for each, found in fields.items() if found}, **more}


def _image(obj: JsonObject) -> str:
    return str(obj["spec"]["template"]["spec"]["containers"][0]["image"])


async def _rolled_back(plane: Plane, site: Site, kind: Kind) -> None:
    path, here = kind.path("default", "app"), f"/objects/apps/{kind.plural}/default/app/rollback"
    for image in ("app:1", "app:2"):
        await plane.client.apply(path, _declared(kind, image), manager="test", force=True)
        chosen = await site.shows(here, f"to {image}")
    rows = [each.text for each in chosen.document.all("th", scope="row")]
    assert rows == ["2 current", "1 "]
    undo = f"kubectl rollout undo {kind.kind.lower()}/app -n default"
    assert f"{undo} --to-revision=1" in chosen.text
    assert "Preview 2" not in chosen.text

    preview = await site.send(here, _form(chosen, step="preview"))
    assert [each.text for each in preview.document.all("ins") if "image:" in each.text] == ["+        image: app:1"]
    assert "hunter2" not in preview.source
    assert "(hidden, changed)" in preview.text
    assert _image(await plane.client.get(path)) == "app:2"

    await plane.client.merge(path, {"metadata": {"labels": {"team": "blue"}}})
    stale = await site.send(here, _form(preview, step="apply"))
    assert (stale.status, "changed after the preview" in stale.document.one("p", role="alert").text) == (409, True)
    assert stale.document.all("ins") != []
    assert _image(await plane.client.get(path)) == "app:2"

    await plane.client.merge(f"{path}/status", {"status": {"collisionCount": 7}})
    done = await site.send(here, _form(stale, step="apply"))
    assert done.status == 303, done.text
    assert done.headers["Location"] == f"/dashboard{here.removesuffix('/rollback')}"
    obj = await plane.client.get(path)
    assert (_image(obj), obj["metadata"]["labels"]) == ("app:1", {"team": "blue"})
    assert obj["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] == "hunter2-app:1"
    assert "pod-template-hash" not in obj["spec"]["template"]["metadata"]["labels"]
    # As after `kubectl rollout undo`, the controller gives the old revision a new number.
    rows = await eventually(lambda: _rows(site, here), lambda found: found[0] == "3 current")
    assert rows[1:] == ["2 "]


async def _rows(site: Site, here: str) -> list[str]:
    return [each.text for each in (await site.open(here)).document.all("th", scope="row")]


async def test_a_workload_of_each_kind_is_rolled_back_as_it_was_shown(data: Path) -> None:
    async with open_test_plane(data, actions, workloads, environment={}) as plane, open_site(plane) as site:
        for kind in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET):
            await _rolled_back(plane, site, kind)


async def test_what_cannot_be_rolled_back_says_why(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    assert "No controller has recorded a revision yet." in (await site.open(HERE)).text
    assert (await site.open("/objects/core/configmaps/shop/owned/rollback")).status == 404
    await seed_revisions(plane.client, "web:0", "web:1")
    page = await site.open(HERE)
    assert "<script>document" not in page.source
    form = _form(page, step="preview")
    gone = await site.send(HERE, {**form, "revision": "gone"})
    assert (gone.status, "no longer exists" in gone.text) == (409, True)
    assert (await site.send(HERE, {**form, "proof": "guessed"})).status == 403

    await plane.client.merge(f"{DEPLOYMENTS}/web", {"spec": {"paused": True}})
    paused = await site.send(HERE, {**form, "step": "apply"})
    assert (paused.status, paused.document.one("p", role="alert").text) == (
        409,
        "A paused Deployment cannot be rolled back. Resume it first: kubectl rollout resume deployment/web -n shop",
    )
    assert "Preview 1" not in paused.text
    assert _image(await plane.client.get(f"{DEPLOYMENTS}/web")) == "web:1"


async def test_revisions_are_read_in_pages_and_the_newest_are_shown(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    await seed_revisions(plane.client, *(f"web:{number}" for number in range(2, 125)))
    page = await site.open(HERE)
    assert [each.text for each in page.document.all("th", scope="row")] == [
        f"{number} " for number in range(123, 23, -1)
    ]
    assert "There are more of them" in page.text


async def test_large_revisions_are_shown_in_part(plane: Plane, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await seed(plane.client)
    await seed_revisions(plane.client, "web:0", "web:1", "web:2")
    many = [{"name": f"c{number}", "image": "web:1"} for number in range(30)]
    await plane.client.merge(f"{SETS}/web-h2", {"spec": {"template": {"spec": {"containers": many}}}})
    page = await site.open(HERE)
    (row,) = [each for each in page.document.all("tr") if each.text.startswith("2 ")]
    assert (row.text.count("web:1"), "and 20 more" in row.text) == (10, True)
    assert "There are more of them" not in page.text
    monkeypatch.setattr(revisions, "MOST_BYTES", 100)
    page = await site.open(HERE)
    assert [each.text for each in page.document.all("th", scope="row")] == ["3 "]
    assert "There are more of them" in page.text


async def test_a_revision_that_changed_after_the_preview_is_shown_again(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    await seed_revisions(plane.client, "web:0", "web:1")
    preview = await site.send(HERE, _form(await site.open(HERE), step="preview"))
    items, _ = await plane.client.list(SETS)
    chosen = next(each for each in items if each["metadata"]["uid"] == _form(preview)["revision"])
    container = {**chosen["spec"]["template"]["spec"]["containers"][0], "image": "web:other"}
    other = {"spec": {"template": {"spec": {"containers": [container]}}}}
    await plane.client.merge(f"{SETS}/{chosen['metadata']['name']}", other)
    stale = await site.send(HERE, _form(preview, step="apply"))
    assert (stale.status, "changed after the preview" in stale.text) == (409, True)
    assert _image(await plane.client.get(f"{DEPLOYMENTS}/web")) != "web:other"


def test_odd_revisions_are_no_templates() -> None:
    odd: list[Json] = [None, "text", {"spec": "text"}, {"spec": {"template": [1]}}]
    odd += [{"spec": {"template": {"spec": {"containers": each}}}} for each in ("text", ["text"], [{"image": 1}])]
    for data in odd:
        revision = _of_data({"metadata": {"uid": "u"}, "revision": "x", "data": data})
        assert (revision.number, set(revision.images) <= {"", "1"}) == (0, True)


ARGO = {"annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web"}}
RELEASE = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
HELM = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "web"}
FLUX = "toolkit.fluxcd.io"


@pytest.mark.parametrize(
    ("metadata", "by", "commands"),
    [
        (ARGO, "Argo CD", ["argocd app rollback shop"]),
        ({"labels": HELM, "annotations": {"meta.helm.sh/release-name": "--post-renderer=x"}}, "Helm", []),
        ({"labels": {"argocd.argoproj.io/instance": "team_shop"}}, "Argo CD", ["argocd app rollback team/shop"]),
        ({**ARGO, "labels": HELM}, "Argo CD", ["argocd app rollback shop"]),
        (
            {"labels": {"app.kubernetes.io/instance": "shop"}, "managedFields": [{"manager": "argocd-controller"}]},
            "Argo CD",
            ["argocd app rollback shop"],
        ),
        (
            {"labels": {f"kustomize.{FLUX}/name": "apps", f"kustomize.{FLUX}/namespace": "flux-system"}},
            "Flux",
            ["flux suspend kustomization apps -n flux-system", "flux resume kustomization apps -n flux-system"],
        ),
        (
            {"labels": {**HELM, f"helm.{FLUX}/name": "web"}, "annotations": RELEASE},
            "Flux",
            ["flux suspend helmrelease web", "flux resume helmrelease web"],
        ),
        ({"labels": HELM, "annotations": RELEASE}, "Helm", ["helm rollback web -n shop"]),
        ({"labels": HELM}, "Helm", []),
        ({"labels": {"app.kubernetes.io/instance": "web"}}, "", []),
        ({"labels": {f"kustomize.{FLUX}/name": "a; b"}}, "Flux", ["flux suspend kustomization 'a; b'"]),
    ],
)
def test_who_else_declares_a_workload_is_known_by_labels(metadata: JsonObject, by: str, commands: list[str]) -> None:
    found = deployer_of({"metadata": metadata})
    assert (found.by if found is not None else "") == by
    assert found is None or [*found.commands][: len(commands)] == commands
