"""Policies as pages: the lowest score first, and what is wrong with which Pod."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from homeostat.objects.json import JsonObject, encode
from homeostat.operators import actions, policy
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.web.actions.serving import serve_rest
from homeostat.web.policy.dashboard.policies import Policy, policy_table
from tests.web.dashboard.site import Site

POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0"},
    "spec": {"containers": [{"name": "app", "image": "nginx:latest"}]},
}


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    async with open_test_plane(tmp_path / "plane", actions, policy, environment={}) as plane:
        yield plane


@pytest.fixture
async def site(plane: Plane) -> AsyncIterator[Site]:
    async with (
        serve_rest(plane.client, plane.private, namespace="default", environment={}, is_open=True) as server,
        aiohttp.ClientSession() as session,
    ):
        yield Site(session, f"http://127.0.0.1:{server.port}")


async def test_policies_are_shown_with_what_is_wrong(plane: Plane, site: Site) -> None:
    await plane.client.create("/api/v1/namespaces/default/pods", POD)
    for kind, namespace, name, spec in (
        (DEVOPS_POLICY, "default", "strict", {"forbidLatestTag": True, "requireLivenessProbe": True}),
        (DEVOPS_POLICY, "default", "lax", {}),
        (CLUSTER_DEVOPS_POLICY, "", "everywhere", {"forbidLatestTag": True}),
    ):
        where = kind.kind
        body = {"apiVersion": where.api_version, "kind": where.kind, "metadata": {"name": name}, "spec": spec}
        await plane.client.create(where.path(namespace), body)
    page = await site.shows("/policies/default/strict", "latest_tag")
    assert "missing_liveness" in page.text
    assert page.document.one("tr", id="row-violation-0").text.startswith("web-0app")
    await site.shows("/cluster-policies/everywhere", "Namespaces with the lowest scores")

    async def names() -> list[str]:
        return [each.text for each in (await site.open("/policies")).document.all("th", scope="row")]

    expected = ["strictdefault", "everywhereall namespaces", "laxdefault"]
    await eventually(names, lambda names: names == expected)
    assert "strict" in (await site.open()).text


async def test_a_missing_policy_is_a_404_page(site: Site) -> None:
    assert (await site.open("/policies/default/none")).status == 404
    assert (await site.open("/cluster-policies/none")).status == 404


def test_a_status_of_somebody_elses_kind_is_no_trouble() -> None:
    said = {"metadata": {"name": "a", "namespace": "b"}, "status": {"healthScore": "good", "violations": ["x"]}}
    policy = msgspec.json.decode(encode(said), type=Policy)
    assert policy.status.health_score is None
    assert "unreadable status" in policy_table([policy])
