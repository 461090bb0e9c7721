"""Mutating policies: their place beside webhooks, scales, custom kinds, and what users may ask of the authorizer.

What they do to objects is compared with a real server in `tests/differential/mutations.py`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from homeostat.plane import Plane
from tests.api.conftest import APPLY, MERGE_PATCH, Api
from tests.api.objects import CONFIGMAPS, CRDS, DEPLOYMENTS, WIDGETS, configmap, definition
from tests.differential.mutations import BINDINGS, POLICIES, binding, merged, patched, policy
from tests.holds import measured_turns
from tests.server.admission.hooks import Hooks, configuration, patch, set_data

MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


def rules(resource: str, group: str = "", operations: tuple[str, ...] = ("*",)) -> dict[str, Any]:
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": [*operations], "resources": [resource]}
    return {"resourceRules": [rule]}


async def put_in_force(plane: Plane, name: str, *mutations: dict[str, Any], **spec: Any) -> None:
    spec.setdefault("matchConstraints", rules("configmaps", operations=("CREATE",)))
    await plane.client.create(POLICIES, policy(name, *mutations, **spec))
    await plane.client.create(BINDINGS, binding(name))


async def test_policies_come_before_webhooks_and_both_are_asked_again(plane: Plane, hooks: Hooks) -> None:
    seen = "Object{data: {'seen': string(size(object.data))}}"
    await put_in_force(plane, "counts", merged(seen), reinvocationPolicy="IfNeeded")
    await put_in_force(plane, "once", merged("Object{data: {'once': string(size(object.data))}}"))
    hook = hooks.webhook("/m", set_data("hooked", "1"), reinvocationPolicy="IfNeeded")
    await plane.client.create(MUTATING, configuration(hook))
    made = await plane.client.create(CONFIGMAPS, configmap())
    assert hooks.seen[0][1]["object"]["data"] == {"x": "1", "seen": "1", "once": "2"}
    assert hooks.paths == ["/m", "/m"]
    assert made["data"] == {"x": "1", "seen": "4", "once": "2", "hooked": "1"}


async def test_a_policy_changes_a_scale(plane: Plane) -> None:
    limited = merged("Object{spec: Object.spec{replicas: object.spec.replicas > 3 ? 3 : object.spec.replicas}}")
    await put_in_force(plane, "limit", limited, matchConstraints=rules("deployments/scale", "apps"))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await plane.client.create(
        DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    )
    api = Api(plane)
    answer = await api("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 9}}, type=MERGE_PATCH)
    assert answer.json["spec"]["replicas"] == 3
    assert (await plane.client.get(f"{DEPLOYMENTS}/d"))["spec"]["replicas"] == 3


async def test_a_policy_changes_a_custom_object_and_no_deletion(plane: Plane) -> None:
    await plane.client.create(CRDS, definition())
    await put_in_force(
        plane,
        "widgets",
        merged("Object{metadata: Object.metadata{labels: {'owner': request.operation}}}"),
        matchConstraints=rules("widgets", "example.com"),
    )
    made = await plane.client.create(
        WIDGETS, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    )
    assert list(made["metadata"]["labels"]) == ["owner"]
    await plane.client.delete(f"{WIDGETS}/w")


async def test_a_policy_asks_what_the_user_may_do(api: Api, plane: Plane) -> None:
    allowed = "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"
    await put_in_force(plane, "asks", merged(f"Object{{data: {{'may': string({allowed})}}}}"))
    role = {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}], "metadata": {"name": "r"}}
    bound = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}],
    }
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    await plane.client.create(f"{rbac}/roles", role)
    await plane.client.create(f"{rbac}/rolebindings", bound)
    mine = await plane.client.create(CONFIGMAPS, configmap("mine"))
    hers = await api("POST", CONFIGMAPS, configmap("hers"), headers={"impersonate-user": "jane"})
    assert (mine["data"]["may"], hers.json["data"]["may"]) == ("true", "false")


async def test_a_mutation_moves_no_object_to_another_namespace(api: Api, plane: Plane, hooks: Hooks) -> None:
    await put_in_force(plane, "moves", merged("Object{metadata: Object.metadata{namespace: 'kube-system'}}"))
    moved = await api("POST", CONFIGMAPS, configmap())
    assert (moved.status, moved.reason) == (400, "BadRequest")
    await plane.client.delete(f"{BINDINGS}/moves")
    operation = {"op": "replace", "path": "/metadata/namespace", "value": "none"}
    await plane.client.create(MUTATING, configuration(hooks.webhook("/m", patch(operation))))
    assert (await api("POST", CONFIGMAPS, configmap())).status == 400
    applied = await api("PATCH", f"{CONFIGMAPS}/c", configmap("c"), type=APPLY, fieldManager="m")
    assert applied.status == 400


async def test_a_mutation_that_breaks_a_scale_is_named(api: Api, plane: Plane) -> None:
    broken = patched("[JSONPatch{op: 'replace', path: '/spec/replicas', value: -1}]")
    await put_in_force(plane, "breaks", broken, matchConstraints=rules("deployments/scale", "apps"))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await plane.client.create(
        DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    )
    answer = await api("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 9}}, type=MERGE_PATCH)
    assert answer.status == 500
    assert "a mutation of policy 'breaks' cannot be applied: spec.replicas" in answer.json["message"]


async def test_who_may_not_read_parameters_writes_no_policy_of_them(api: Api, plane: Plane) -> None:
    """Otherwise a policy would copy a Secret to where its author can read it."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    written = {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}
    await plane.client.create(f"{rbac}/clusterroles", {"metadata": {"name": "author"}, "rules": [written]})
    bound = {
        "metadata": {"name": "author"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "author"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "eve"}],
    }
    await plane.client.create(f"{rbac}/clusterrolebindings", bound)
    eve = {"impersonate-user": "eve"}
    copies = policy(
        "copies",
        merged("Object{metadata: Object.metadata{annotations: {'stolen': string(params.data.password)}}}"),
        paramKind={"apiVersion": "v1", "kind": "Secret"},
    )
    refused = await api("POST", POLICIES, copies, headers=eve)
    (cause,) = refused.json["details"]["causes"]
    assert (refused.status, cause["reason"], cause["field"]) == (422, "FieldValueForbidden", "spec.paramKind")
    assert 'user "eve" must have "get" permission on all objects' in cause["message"]
    await plane.client.create(POLICIES, copies)
    refers = binding("copies", paramRef={"name": "s", "namespace": "default", "parameterNotFoundAction": "Deny"})
    unbound = await api("POST", BINDINGS, refers, headers=eve)
    assert [each["field"] for each in unbound.json["details"]["causes"]] == ["spec.paramRef"]
    assert (await api("POST", BINDINGS, binding("copies"), headers=eve)).status == 201


async def test_a_large_object_is_mutated_beside_the_event_loop(api: Api, plane: Plane) -> None:
    labelled = merged("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
    await put_in_force(plane, "labels", labelled, matchConstraints=rules("podtemplates"))
    variables = [{"name": f"k{at}", "value": "v"} for at in range(40_000)]
    container = {"name": "c", "image": "i", "env": variables}
    large = {"metadata": {"name": "large"}, "template": {"spec": {"containers": [container]}}}
    body = msgspec.json.encode(large)
    longest: list[float] = []
    while len(longest) < 5 and min(longest, default=1) >= 0.04:  # A busy machine takes more CPU time for the same.
        async with measured_turns() as turns:
            made = await api("POST", "/api/v1/namespaces/default/podtemplates", body, dryRun="All")
        assert made.json["metadata"]["labels"] == {"a": "b"}
        longest.append(turns.longest_s)
    assert min(longest) < 0.04, "on the loop it would take 0.07 s or more"


async def test_a_mutation_cannot_construct_more_than_a_request_could_have(plane: Plane) -> None:
    halves = "".join(f"cel.bind(v{at + 1}, [v{at}, v{at}], " for at in range(28))
    leaves = f"cel.bind(v0, ['x'], {halves}v28{')' * 29}"
    bomb = patched(f"[JSONPatch{{op: 'add', path: '/data/x', value: {leaves}}}]")
    await put_in_force(plane, "bomb", bomb)
    async with measured_turns() as turns:
        answer = await Api(plane)("POST", CONFIGMAPS, configmap())
    assert answer.status == 403
    assert "too large: it has more than 200000 values" in answer.json["message"]
    assert turns.longest_s < 0.1


async def test_an_object_that_a_webhook_makes_large_is_handled_beside_the_event_loop(
    plane: Plane, hooks: Hooks
) -> None:
    many = {f"k{at}": "x" for at in range(60_000)}
    hook = hooks.webhook("/m", patch({"op": "add", "path": "/data", "value": many}))
    await plane.client.create(MUTATING, configuration(hook))
    await Api(plane)("POST", f"{CONFIGMAPS}?dryRun=All", configmap("first"))
    async with measured_turns() as turns:
        answer = await Api(plane)("POST", CONFIGMAPS, configmap())
    assert answer.status == 201
    assert turns.longest_s < 0.1
