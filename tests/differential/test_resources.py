"""Discovery lists what a real kube-apiserver lists, but for what needs containers or was replaced long ago."""

from __future__ import annotations

import pytest

from tests.differential.compare import Conversation
from tests.differential.step import Step

pytestmark = pytest.mark.cluster

_NOT_SERVED = {
    "bindings",
    "nodes/proxy",
    "pods/attach",
    "pods/exec",
    "pods/log",
    "pods/portforward",
    "pods/proxy",
    "services/proxy",
}


def _resources(side: Conversation) -> dict[tuple[str, str], object]:
    """Each resource of discovery, by path and name."""

    def get(path: str) -> dict[str, object]:
        found = side.say(Step(path, "GET", path)).body
        assert isinstance(found, dict)
        return found

    groups = get("/apis")["groups"]
    assert isinstance(groups, list)
    # Other tests define kinds on the real server, also in groups of Kubernetes.
    definitions = get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    assert isinstance(definitions, list)
    defined = {each["spec"]["group"] for each in definitions}
    names = {each["name"] for each in groups if "." not in each["name"] or each["name"].endswith(".k8s.io")} - defined
    built_in = [each for each in groups if each["name"] in names]
    paths = [f"/apis/{version['groupVersion']}" for group in built_in for version in group["versions"]]
    found: dict[tuple[str, str], object] = {}
    for path in ["/api/v1", *paths]:
        resources = get(path)["resources"]
        assert isinstance(resources, list)
        found |= {(path, each["name"]): each for each in resources}
    return found


def test_all_resources_are_described_alike_but_eight(ours: Conversation, real: Conversation) -> None:
    here, there = _resources(ours), _resources(real)
    for name in _NOT_SERVED:
        assert there.pop(("/api/v1", name)), name
    assert here == there
