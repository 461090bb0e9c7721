"""One plane a module over TLS, one namespace a test."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.served import ServedPlane, serve_plane

GROUP = "clients.example.com"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Called for the tests of this folder alone."""
    item.add_marker(pytest.mark.clients)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlane]:
    with serve_plane(tmp_path_factory.mktemp("plane") / "data") as plane:
        yield plane


@pytest.fixture
def namespace(plane: ServedPlane) -> str:
    return plane.create_namespace(f"t{uuid4().hex[:8]}")


@pytest.fixture(scope="module")
def gardens(plane: ServedPlane) -> str:
    return define_gardens(plane)


def define_gardens(plane: ServedPlane) -> str:
    """A custom kind, `gardens` of the group given back; its status is a subresource, and it can be scaled."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
    }
    spec = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Garden", "plural": "gardens", "singular": "garden"},
        "versions": [version],
    }
    definition = {"metadata": {"name": f"gardens.{GROUP}"}, "spec": spec}
    plane.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    return GROUP
