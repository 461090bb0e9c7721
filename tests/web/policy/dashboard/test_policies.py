"""Policies as pages: the lowest score first, and what is wrong with which Pod."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from homeostat.objects.json import JsonObject, encode
from homeostat.operators import actions, policy
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.web.policy.dashboard.groups import workload_of
from homeostat.web.policy.dashboard.policies import Policy, PolicyRow, policy_table
from tests.web.dashboard.open_site import open_site
from tests.web.dashboard.site import Site

POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0"},
    "spec": {"containers": [{"name": "app", "image": "nginx:latest"}]},
}


HOSTILE = "<script>alert(1)</script>"
STRICT: JsonObject = {
    "forbidLatestTag": True,
    "requireLivenessProbe": True,
    "exemptions": [
        {"reason": HOSTILE, "names": ["batch-*"]},
        {"reason": "until the move", "expires": "2020-01-01T00:00:00Z", "checks": ["latest_tag"], "names": ["old"]},
    ],
}


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    async with open_test_plane(tmp_path / "plane", actions, policy, environment={}) as plane:
        yield plane


@pytest.fixture
async def site(plane: Plane) -> AsyncIterator[Site]:
    async with open_site(plane) as site:
        yield site


async def test_policies_are_shown_with_what_is_wrong(plane: Plane, site: Site) -> None:
    await plane.client.create("/api/v1/namespaces/default/pods", POD)
    for kind, namespace, name, spec in (
        (DEVOPS_POLICY, "default", "strict", STRICT),
        (DEVOPS_POLICY, "default", "lax", {}),
        (CLUSTER_DEVOPS_POLICY, "", "everywhere", {"forbidLatestTag": True}),
    ):
        where = kind.kind
        body = {"apiVersion": where.api_version, "kind": where.kind, "metadata": {"name": name}, "spec": spec}
        await plane.client.create(where.path(namespace), body)
    # The violations are written before the status.
    page = await site.shows("/policies/default/strict", "2 violations</span>")
    assert "missing_liveness" in page.text
    chip = page.document.all("span", class_="chip")[0]
    assert (chip.text, chip.attributes["class"]) == ("2 violations", "chip warn")
    assert page.document.one("tr", id="row-violation-0").text.startswith("web-0app")
    assert "latest_tag" in page.document.one("tr", id="row-rule-latest_tag").text
    assert "{livenessProbe: {httpGet:" in page.document.one("tr", id="row-remedy-missing_liveness").text
    assert page.document.one("tr", id="row-workload-web").text.startswith("web")
    assert "ended" in page.document.one("tr", id="row-exemption-0").text
    assert "never" in page.document.one("tr", id="row-exemption-1").text
    assert HOSTILE not in page.source
    assert (await site.open("/policies/default/strict?result=none")).status == 404
    page = await site.shows("/cluster-policies/everywhere", "default</a>")
    assert page.document.all("tr", id="row-violation-0") == []
    (link,) = page.document.all("a", href="/dashboard/cluster-policies/everywhere?namespace=default")
    page = await site.shows(link.attributes["href"].removeprefix("/dashboard"), "row-violation-0")
    assert page.document.one("tr", id="row-violation-0").text.startswith("web-0app")
    assert (await site.open("/cluster-policies/everywhere?namespace=default&result=none")).status == 404

    async def names() -> list[str]:
        return [each.text for each in (await site.open("/policies")).document.all("th", scope="row")]

    expected = ["strictdefault", "everywhereall namespaces", "laxdefault"]
    await eventually(names, lambda names: names == expected)
    assert "Policies as declared" in (await site.open()).text
    path = DEVOPS_POLICY.kind.path("default", "strict")
    await plane.client.merge(path, {"spec": {"requireLivenessProbe": False, "intervalSeconds": 1}})
    page = await site.shows("/policies/default/strict", "Score over 2 results")
    links = [each.attributes["href"] for each in page.document.all("a")]
    first = next(each for each in links if "result=" in each)
    assert "missing_liveness" in (await site.open(first.removeprefix("/dashboard"))).text
    assert "missing_liveness" not in page.text
    # The newest result is older than the evaluation that found the policy met.
    await plane.client.merge(path, {"spec": {"forbidLatestTag": False, "intervalSeconds": 3600}})
    page = await site.shows("/policies/default/strict", "no violations")
    assert "still has 1 violation" in page.text
    assert page.document.all("tr", id="row-violation-0") == []


async def test_a_missing_policy_is_a_404_page(site: Site) -> None:
    assert (await site.open("/policies/default/none")).status == 404
    assert (await site.open("/cluster-policies/none")).status == 404


def test_a_status_of_somebody_elses_kind_is_no_trouble() -> None:
    said = {"metadata": {"name": "a", "namespace": "b"}, "status": {"healthScore": "good", "violations": ["x"]}}
    policy = msgspec.json.decode(encode(said), type=Policy)
    assert policy.status.health_score is None
    assert "unreadable status" in policy_table([PolicyRow(policy, policy.status)])


def test_pods_of_a_workload_count_together() -> None:
    names = ("web-7d4b9c6f5d-x2x4z", "web-5bcdf", "db-0", "plain")
    assert [workload_of(each) for each in names] == ["web", "web", "db", "plain"]


async def test_a_dry_run_of_enforcement_says_what_it_would_change(plane: Plane, site: Site) -> None:
    where = DEVOPS_POLICY.kind
    spec: JsonObject = {"requireLivenessProbe": True, "enforcementMode": "enforce", "enforcement": {"dryRun": True}}
    body = {"apiVersion": where.api_version, "kind": where.kind, "metadata": {"name": "dry"}, "spec": spec}
    await plane.client.create(where.path("default"), body)
    await site.shows("/policies/default/dry", "enforce (dry run)")
    planned = [f"deployment/default/web: spec.template.spec.containers[app].resources = {HOSTILE}"]
    without = ["deployment/default/web/app"]
    status: JsonObject = {"plannedChanges": planned, "containersWithoutPort": without}
    await plane.client.merge(f"{where.path('default', 'dry')}/status", {"status": status})
    page = await site.shows("/policies/default/dry", "What enforcement would change")
    assert page.document.one("tr", id="row-planned-0").text.startswith("deployment/default/webspec.template")
    assert "no probe can be added to deployment/default/web/app." in page.text
