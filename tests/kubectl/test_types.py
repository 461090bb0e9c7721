"""Resource types by kubectl: what would leave resources behind is refused, and the message says which."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kubectl.kubectl import Kubectl

TYPE = """
apiVersion: homeostat.dev/v1alpha1
kind: ResourceType
metadata: {{name: {name}}}
spec:
  name: {name}
  schema: {{type: object, properties: {{size: {{type: integer, maximum: {most}}}}}}}
"""
RESOURCE = """
apiVersion: resources.homeostat.dev/v1
kind: {kind}
metadata: {{name: nine}}
spec: {{size: 9}}
"""


@pytest.fixture
def declared(kubectl: Kubectl, unique: str) -> Iterator[str]:
    """A type of the test's own, with one resource in the test's namespace."""
    kubectl("wait", "crd/resourcetypes.homeostat.dev", "--for=create", "--timeout=20s")
    kubectl("wait", "crd/resourcetypes.homeostat.dev", "--for=condition=Established", "--timeout=20s")
    kubectl("apply", "-f", "-", stdin=TYPE.format(name=unique, most=100))
    kubectl("wait", f"resourcetype/{unique}", "--for=condition=Ready", "--timeout=20s")
    kubectl("apply", "-f", "-", stdin=RESOURCE.format(kind=unique.capitalize()))
    yield unique
    kubectl("delete", f"{unique}s", "nine", "--ignore-not-found", "--timeout=20s")
    kubectl("delete", "resourcetype", unique, "--ignore-not-found", "--timeout=20s")


def test_a_type_in_use_is_not_deleted(kubectl: Kubectl, declared: str) -> None:
    told = kubectl.fails("delete", "resourcetype", declared)
    assert "Error from server (Conflict): " in told
    assert f"1 resource has this type: {kubectl.namespace}/nine; delete them first" in told
    kubectl("delete", f"{declared}s", "nine", "--timeout=20s")
    kubectl("delete", "resourcetype", declared, "--timeout=20s")


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_a_schema_that_does_not_match_is_refused_and_may_be_forced(
    kubectl: Kubectl, declared: str, how: tuple[str, ...]
) -> None:
    narrow = TYPE.format(name=declared, most=5)
    force = ("--force-conflicts",) if how else ()
    told = kubectl.fails("apply", *how, *force, "-f", "-", stdin=narrow)
    assert f"{kubectl.namespace}/nine: spec.size: Invalid value" in told
    assert "isForced" in told
    kubectl("apply", *how, *force, "-f", "-", stdin=f"{narrow}  isForced: true\n")
