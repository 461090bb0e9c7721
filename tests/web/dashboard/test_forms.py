"""A form of a section acts as its visitor: what the server refuses to the visitor, no page does in its own name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT
from homeostat.objects.roles import rule
from homeostat.operators.actions.api import RESOURCES
from homeostat.operators.contracts.api import KINDS as CONTRACTS
from homeostat.operators.contracts.api import PACTO
from homeostat.operators.images.api import IMAGE_UPDATE
from homeostat.operators.images.api import KINDS as IMAGES
from homeostat.operators.sync.api.kinds import KINDS as SYNC
from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from tests.web.actions.shelf import World
from tests.web.dashboard.conftest import NOTE_TYPE
from tests.web.dashboard.declaring import declare, proof_of, visitor
from tests.web.dashboard.site import Site, note

_ADMISSION = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
_GROUPS = (SYNC_POLICY.kind.group, PACTO.kind.group, IMAGE_UPDATE.kind.group, DEPLOYMENT.group, RESOURCES)
_TRACKED = {
    "enabled": "true",
    "app_repository": "https://git.example.org/shop.git",
    "manifest_repository": "https://git.example.org/manifests.git",
    "image_name": "acme/web",
    "deployment_path": "web.yaml",
    "ssh_key_name": "key",
    "ssh_key_namespace": "default",
}
_SYNC: JsonObject = {
    "resourceRepositoryRef": {"name": "files"},
    "managedServerRef": {"name": "crm"},
    "secretStoreRef": {"name": "vault"},
    "source": {"path": "/customers"},
}
_FORMS = {
    "/sync/policies/default/a": ("sync", "plan", "suspend"),
    "/contracts/default/a": ("reconcile",),
    "/images/default/a": ("update", "pin", "unpin"),
    "/resources/1": ("reconcile", "pause", "resume"),
}


@pytest.fixture
async def plane(shelf: World, tmp_path: Path) -> AsyncIterator[Plane]:
    """One that asks for credentials."""
    (tmp_path / "plane").mkdir(mode=0o700)
    async with open_plane(Settings(data=tmp_path / "plane", port=0, operators=frozenset({"actions"}))) as plane:
        yield plane


async def _declare_all(plane: Plane) -> None:
    await install(plane.client, [*CONTRACTS, *IMAGES, *SYNC])
    await declare(plane.client, SYNC_POLICY.kind, "a", spec=_SYNC)
    await declare(plane.client, PACTO.kind, "a", spec={"contractRef": {"inline": "x"}, "target": {"serviceName": "a"}})
    await declare(plane.client, IMAGE_UPDATE.kind, "a", spec={})
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "web", "image": "acme/web:1"}]}}
    annotations = {"annotations": {f"gitops.operator.{key}": value for key, value in _TRACKED.items()}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": pod}
    await declare(plane.client, DEPLOYMENT, "a", metadata=annotations, spec=spec)


async def _declare_resource(guarded: Site) -> None:
    bearer = await guarded.bearer("admin", "correct horse")
    await guarded.declare("/resource-types", NOTE_TYPE, Authorization=bearer)
    await guarded.declare("/resources", note("a"), Authorization=bearer)


async def _forbid_changes_by(plane: Plane, name: str) -> None:
    rules = [{"operations": ["UPDATE"], "apiGroups": list(_GROUPS), "apiVersions": ["*"], "resources": ["*"]}]
    validation = {"expression": f"request.userInfo.username != '{name}'", "message": "changes are frozen for you"}
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [validation]}
    kinds = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "frozen"}}
    await plane.client.create(f"{_ADMISSION}ies", {**kinds, "kind": "ValidatingAdmissionPolicy", "spec": spec})
    binding = {"policyName": "frozen", "validationActions": ["Deny"]}
    await plane.client.create(
        f"{_ADMISSION}ybindings", {**kinds, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding}
    )


async def test_a_policy_that_refuses_a_visitor_refuses_the_forms_of_that_visitor(plane: Plane, guarded: Site) -> None:
    await _declare_all(plane)
    await _declare_resource(guarded)
    rules = [rule(group, ["*"], ["get", "list", "watch", "patch", "update"]) for group in _GROUPS]
    patcher = await visitor(plane, guarded, "patcher", rules)
    sync = SYNC_POLICY.kind.path("default", "a")
    proof = await proof_of(guarded, "/objects", patcher)

    async def send(path: str) -> int:
        return (await guarded.send(path, {"proof": proof}, Cookie=patcher)).status

    allowed = {f"{page}/{each}": await send(f"{page}/{each}") for page, forms in _FORMS.items() for each in forms}
    assert set(allowed.values()) == {303}, allowed
    await _forbid_changes_by(plane, "patcher")
    await eventually(lambda: send("/sync/policies/default/a/sync"), lambda status: status == 422)
    before = (await plane.client.get(sync))["metadata"]["resourceVersion"]
    refused = {f"{page}/{each}": await send(f"{page}/{each}") for page, forms in _FORMS.items() for each in forms}
    assert set(refused.values()) == {422}, refused
    assert (await plane.client.get(sync))["metadata"]["resourceVersion"] == before
