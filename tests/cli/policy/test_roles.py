"""What `homeostat policy deploy rbac` grants is what the operator does, on a plane and on a real cluster."""

from __future__ import annotations

import pytest

from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.policy.deploy import OPERATOR, access_documents, lone_access_documents
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.kind import DEPLOYMENT, EVENT, LEASE, NAMESPACE, POD
from homeostat.operators import policy
from homeostat.operators.policy.access import operator_rules
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY, FINALIZER, KINDS, POLICY_AUDIT_RESULT
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from tests.absence import is_gone
from tests.cli.applying import apply
from tests.cli.permissions import Noting, Used, acting_as, granted_by
from tests.cli.policy_files import BARE, deployment, pod
from tests.cluster.fixtures import Api

UNSEEN = {
    # Asked for by servers that check who may block the end of an owner.
    ("devopspolicies/finalizers", "update"),
    ("clusterdevopspolicies/finalizers", "update"),
    # As with Deployments, and when an Event happens again.
    ("statefulsets", "patch"),
    ("daemonsets", "patch"),
    ("events", "patch"),
    # In one rule with Pods: who may list them can read them.
    ("namespaces", "get"),
    ("replicasets", "get"),
    ("poddisruptionbudgets", "get"),
}
"""Granted and not used here."""


async def declare(api: Api) -> None:
    admin, space = api.client, api.namespace
    await admin.merge(NAMESPACE.path("", space), {"metadata": {"labels": {"tier": space}}})
    await admin.create(DEPLOYMENT.path(space), {**deployment(BARE), "metadata": {"name": "web"}})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f8b9c7f", "uid": "u", "controller": True}
    body = pod(BARE)
    body["metadata"]["ownerReferences"] = [owner]
    await admin.create(POD.path(space), body)
    rule = {"name": "account", "expression": "has(object.spec.nothing)"}
    spec = {"enforcementMode": "enforce", "requireLivenessProbe": True, "requireDisruptionBudget": True}
    kept = {"auditResults": {"retention": 1}, "intervalSeconds": 1, "defaultProbe": {"tcpPort": 80}}
    own = {**spec, **kept, "forbidLatestTag": True, "rules": [rule]}
    wide = {"forbidLatestTag": True, "namespaceSelector": {"matchLabels": {"tier": space}}}
    for kind, namespace, given in ((DEVOPS_POLICY.kind, space, own), (CLUSTER_DEVOPS_POLICY.kind, "", wide)):
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": space}, "spec": given}
        await admin.create(kind.path(namespace), body)


async def check_effects(api: Api, *, can_enforce: bool) -> None:
    admin, space = api.client, api.namespace
    own, wide = DEVOPS_POLICY.kind.path(space, space), CLUSTER_DEVOPS_POLICY.kind.path("", space)
    results = POLICY_AUDIT_RESULT.kind.path(space)
    if can_enforce:
        await eventually(lambda: admin.get(own), lambda each: each["status"]["remediatedWorkloads"])
    else:
        await eventually(lambda: admin.get(own), lambda each: each["status"]["remediationsFailed"] == 1)
    await eventually(lambda: admin.get(wide), lambda each: each["status"]["healthScore"] == 95)
    await eventually(lambda: admin.list(EVENT.path(space)), lambda found: found[0])
    (before, *_), _ = await eventually(lambda: admin.list(results), lambda found: len(found[0]) == 2)
    await admin.merge(POD.path(space, "web", "status"), {"status": {"phase": "Running"}})
    await admin.merge(own, {"spec": {"maxRestartCount": 1, "forbidPendingDuration": 1, "requireReadinessProbe": True}})
    await eventually(lambda: admin.get(own), lambda each: each["status"]["observedGeneration"] == 2)
    await eventually(
        lambda: admin.list(results), lambda found: before["metadata"]["uid"] not in str(found) and len(found[0]) == 2
    )
    assert FINALIZER in (await admin.get(own))["metadata"]["finalizers"]
    for path in (own, wide):
        await admin.delete(path)
    await eventually(lambda: is_gone(admin, own))
    await eventually(lambda: is_gone(admin, wide))


@pytest.mark.parametrize("can_enforce", [True, False], ids=["enforces", "reads"])
async def test_an_operator_alone_does_all_it_can_with_its_seven_rules_and_needs_each(
    api: Api, can_enforce: bool
) -> None:
    used: Used = set()
    refused: list[str] = []
    await install(api.client, KINDS)
    site = Site(name="kube-devops", namespace=api.namespace)
    await apply(api.client, *lone_access_documents(site, can_enforce=can_enforce))
    async with acting_as(api, site.namespace, OPERATOR) as client:
        manager = Manager(client.over(lambda transport: Noting(transport, used, refused)))
        manager.add("policy", policy.register)
        async with manager.running():
            await declare(api)
            await check_effects(api, can_enforce=can_enforce)
    patches = [f"PATCH {DEPLOYMENT.path(api.namespace, 'web')}"]
    assert sorted(set(refused)) == ([] if can_enforce else patches)
    rules = operator_rules(can_enforce=can_enforce)
    assert len(rules) == 7
    # These servers list by watching; older ones do not.
    assert {each for each in granted_by(rules) - used if each[1] != "list"} <= UNSEEN


async def test_two_operators_elect_a_leader_in_their_own_namespace(api: Api) -> None:
    site = Site(name="kube-devops", namespace=api.namespace)
    await install(api.client, KINDS)
    await apply(api.client, *access_documents(site))
    async with acting_as(api, site.namespace, OPERATOR) as client:
        manager = Manager(client, leases=site.namespace)
        manager.add("policy", policy.register)
        async with manager.running():
            (lease,), _ = await eventually(lambda: api.client.list(LEASE.path(site.namespace)), lambda found: found[0])
            assert lease["spec"]["holderIdentity"]
        with pytest.raises(ForbiddenError):
            await client.list(LEASE.path("default"))
