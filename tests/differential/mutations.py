"""The part of the conversation that is about policies: mutations, what they may be, and authorizers in expressions."""

from __future__ import annotations

from typing import Any

from tests.differential.step import MERGE, TABLE, Step, account, api, cm

_GROUP = "admissionregistration.k8s.io"
_BETA, _V1 = f"/apis/{_GROUP}/v1beta1", f"/apis/{_GROUP}/v1"
POLICIES, BINDINGS = f"{_BETA}/mutatingadmissionpolicies", f"{_BETA}/mutatingadmissionpolicybindings"
_CM = "/api/v1/namespaces/mutated/configmaps"
_THERE = {"matchLabels": {"kubernetes.io/metadata.name": "mutated"}}
"""Policies that applied elsewhere would change other parts of the conversation."""


def _rule(*operations: str, resource: str = "configmaps", group: str = "") -> dict[str, Any]:
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": [*operations], "resources": [resource]}
    return {"resourceRules": [rule], "namespaceSelector": _THERE}


def merged(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patched(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(name: str, *mutations: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Of new ConfigMaps in the namespace `mutated`, unless it says otherwise."""
    spec = {"matchConstraints": _rule("CREATE"), "reinvocationPolicy": "Never", "mutations": [*mutations], **spec}
    return api("MutatingAdmissionPolicy", f"{_GROUP}/v1beta1", name, spec=spec)


def binding(name: str, **spec: Any) -> dict[str, Any]:
    return api("MutatingAdmissionPolicyBinding", f"{_GROUP}/v1beta1", name, spec={"policyName": name, **spec})


_LABELLED = "Object{metadata: Object.metadata{labels: {'by': 'policy'}}}"
_WORKS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "merge": ([merged("Object{metadata: Object.metadata{labels: {'m': 'x'}}, data: Object.data{k: 'v'}}")], {}),
    "merge-map": ([merged("Object{data: {'k': object.data.x + '!'}}")], {}),
    "patch": (
        [
            patched(
                "[JSONPatch{op: 'test', path: '/data/x', value: '1'},"
                " JSONPatch{op: 'add', path: '/metadata/annotations', value: {}},"
                " JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('e.com/k'), value: 'v'}]"
            )
        ],
        {},
    ),
    "patch-untested": (
        [
            patched(
                "[JSONPatch{op: 'test', path: '/data/x', value: 'z'},"
                " JSONPatch{op: 'add', path: '/data/n', value: 'v'}]"
            )
        ],
        {},
    ),
    "patch-nowhere": ([patched("[JSONPatch{op: 'add', path: '/data/n/m/o', value: 'v'}]")], {}),
    "patch-unknown": ([patched("[JSONPatch{op: 'put', path: '/data/n', value: 'v'}]")], {}),
    "patch-type": ([patched("[JSONPatch{op: 'replace', path: '/data', value: 'v'}]")], {}),
    "patch-object": ([patched("[JSONPatch{op: 'add', path: '/data', value: Object.data{q: 'v'}}]")], {}),
    "patch-copy": ([patched("[JSONPatch{op: 'copy', from: '/data/x', path: '/data/y'}]")], {}),
    "move": ([patched("[JSONPatch{op: 'replace', path: '/metadata/namespace', value: 'diff'}]")], {}),
    "move-nowhere": ([merged("Object{metadata: Object.metadata{namespace: 'none'}}")], {}),
    "unplace": ([patched("[JSONPatch{op: 'remove', path: '/metadata/namespace'}]")], {}),
    "rename": ([merged("Object{metadata: Object.metadata{name: 'renamed'}}")], {}),
    "two": ([merged("Object{data: {'y': '2'}}"), merged("Object{data: {'z': object.data.y + '3'}}")], {}),
    "name": ([merged("Object{metadata: Object.wrong{labels: {'m': 'x'}}}")], {}),
    "field": ([merged("Object{nothing: 'x'}")], {}),
    "type": ([merged("Object{data: 5}")], {}),
    "key": ([merged("Object{data: Object.data{a: object.data.none}}")], {}),
    "ignored": (
        [merged("Object{data: Object.data{a: object.data.none}}"), merged(_LABELLED)],
        {"failurePolicy": "Ignore"},
    ),
    "atomic": (
        [merged("Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{uid: 'a'}]}}")],
        {},
    ),
    "kind": ([merged("Object{kind: 'x'}")], {}),
    "optional": ([merged("Object{?data: has(object.none) ? optional.of({'a': '1'}) : optional.none()}")], {}),
    "variable": (
        [merged("Object{data: {'v': variables.twice}}")],
        {"variables": [{"name": "twice", "expression": "object.data.x + object.data.x"}]},
    ),
    "namespace": ([merged("Object{data: {'n': namespaceObject.metadata.name, 'o': request.operation}}")], {}),
    "allowed": (
        [
            merged(
                "Object{data: {'a': string(authorizer.group('').resource('pods').namespace('n').check('x').allowed()),"
                " 'b': string(authorizer.path('/healthz').check('get').allowed())}}"
            ),
            merged(
                "Object{data: {'c': string(authorizer.serviceAccount('diff', 'x').group('').resource('pods')"
                ".subresource('log').name('p').check('get').allowed()),"
                " 'd': string(authorizer.requestResource.check('create').allowed())}}"
            ),
            merged(
                "Object{data: {'e': authorizer.group('').resource('pods').labelSelector('a=b').check('x').reason(),"
                " 'f': string(authorizer.serviceAccount('diff', 'x').path('/healthz').check('get').errored())}}"
            ),
        ],
        {},
    ),
    "expensive": (
        [merged("Object{data: {'a': string([1,2,3,4].all(i, authorizer.path('/x').check('get').allowed()))}}")],
        {},
    ),
}

_LATER = {
    "move-later": merged("Object{metadata: Object.metadata{namespace: 'diff'}}"),
    "rename-later": merged("Object{metadata: Object.metadata{name: 'renamed'}}"),
}
"""Of updates."""


def _conditions(name: str) -> list[dict[str, str]]:
    return [{"name": "named", "expression": f"object.metadata.name == 'to-{name}'"}]


_VALIDATING = {
    "matchConstraints": _rule("CREATE"),
    "matchConditions": [{"name": "named", "expression": "object.metadata.name == 'to-validate'"}],
    "validations": [
        {
            "expression": "authorizer.serviceAccount('diff', 'x').group('').resource('nodes').check('get').allowed()",
            "messageExpression": "'denied: ' + object.metadata.name",
        }
    ],
}

MUTATION_SETUP = [
    Step("namespace of policies", "POST", "/api/v1/namespaces", api("Namespace", "v1", "mutated")),
    account("mutated"),
    *(
        Step(f"policy {name}", "POST", POLICIES, policy(name, *mutations, matchConditions=_conditions(name), **spec))
        for name, (mutations, spec) in _WORKS.items()
    ),
    *(Step(f"binding {name}", "POST", BINDINGS, binding(name)) for name in _WORKS),
    Step(
        "policy that asks",
        "POST",
        f"{_V1}/validatingadmissionpolicies",
        api("ValidatingAdmissionPolicy", f"{_GROUP}/v1", "asks", spec=_VALIDATING),
    ),
    Step(
        "binding that asks",
        "POST",
        f"{_V1}/validatingadmissionpolicybindings",
        api(
            "ValidatingAdmissionPolicyBinding",
            f"{_GROUP}/v1",
            "asks",
            spec={"policyName": "asks", "validationActions": ["Deny"]},
        ),
    ),
    # Applied in the order of their names; the first is applied again after the second.
    Step(
        "policy again",
        "POST",
        POLICIES,
        policy(
            "again-1",
            merged("Object{data: {'first': has(object.data.second) ? 'after' : 'before'}}"),
            matchConditions=_conditions("again"),
            reinvocationPolicy="IfNeeded",
        ),
    ),
    Step(
        "policy between",
        "POST",
        POLICIES,
        policy("again-2", merged("Object{data: {'second': 'x'}}"), matchConditions=_conditions("again")),
    ),
    Step("binding again", "POST", BINDINGS, binding("again-1")),
    Step("binding between", "POST", BINDINGS, binding("again-2")),
    Step("parameter", "POST", _CM, cm("parameter", {"value": "from a parameter"})),
    Step(
        "policy of parameters",
        "POST",
        POLICIES,
        policy(
            "parameters",
            merged("Object{data: {'p': params.data.value}}"),
            matchConditions=_conditions("parameters"),
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        ),
    ),
    Step(
        "binding of parameters",
        "POST",
        BINDINGS,
        binding("parameters", paramRef={"name": "parameter", "parameterNotFoundAction": "Deny"}),
    ),
    Step(
        "policy of Deployments",
        "POST",
        POLICIES,
        policy(
            "deployments",
            merged(
                "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers:"
                " object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name,"
                " imagePullPolicy: 'Never',"
                " env: [Object.spec.template.spec.containers.env{name: 'A', value: 'b'}]})}}}}"
            ),
            matchConstraints=_rule("CREATE", "UPDATE", resource="deployments", group="apps"),
            matchConditions=[{"name": "named", "expression": "object.metadata.name == 'mutated'"}],
        ),
    ),
    Step("binding of Deployments", "POST", BINDINGS, binding("deployments")),
    *(
        Step(
            f"policy {name}",
            "POST",
            POLICIES,
            policy(name, mutation, matchConstraints=_rule("UPDATE"), matchConditions=_conditions(name)),
        )
        for name, mutation in _LATER.items()
    ),
    *(Step(f"binding {name}", "POST", BINDINGS, binding(name)) for name in _LATER),
    *(Step(f"object to {name}", "POST", _CM, cm(f"to-{name}")) for name in (*_LATER, "delete")),
    Step(
        "policy of all operations",
        "POST",
        POLICIES,
        policy(
            "all-operations",
            merged(_LABELLED),
            matchConstraints=_rule("*"),
            matchConditions=[{"name": "named", "expression": "request.name == 'to-delete'"}],
        ),
    ),
    Step("binding of all operations", "POST", BINDINGS, binding("all-operations")),
]

_DEPLOYMENT = api(
    "Deployment",
    "apps/v1",
    "mutated",
    spec={
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [
                    {"name": "one", "image": "i", "env": [{"name": "B", "value": "c"}]},
                    {"name": "two", "image": "i"},
                ]
            },
        },
    },
)

MUTATION_STEPS = [
    *(
        Step(f"mutated by {name}", "POST", f"{_CM}?dryRun=All", cm(f"to-{name}"), is_late=True)
        for name in (*_WORKS, "validate", "again", "parameters")
    ),
    *(
        Step(f"{name} by update", "PUT", f"{_CM}/to-{name}?dryRun=All", cm(f"to-{name}", {"x": "2"}), is_late=True)
        for name in _LATER
    ),
    Step("deletion mutated", "DELETE", f"{_CM}/to-delete?dryRun=All", is_late=True),
    Step("policy of deletions", "POST", POLICIES, policy("bad", merged(_LABELLED), matchConstraints=_rule("DELETE"))),
    Step("mutated without parameters", "DELETE", f"{_CM}/parameter"),
    Step("mutated by parameters that are gone", "POST", f"{_CM}?dryRun=All", cm("to-parameters"), is_late=True),
    Step(
        "Deployment mutated",
        "POST",
        "/apis/apps/v1/namespaces/mutated/deployments?dryRun=All",
        _DEPLOYMENT,
        is_late=True,
    ),
    Step("policy of nothing", "POST", POLICIES, api("MutatingAdmissionPolicy", f"{_GROUP}/v1beta1", "bad")),
    Step(
        "policy of bad mutations",
        "POST",
        POLICIES,
        policy(
            "bad",
            {"patchType": "X"},
            {"patchType": "JSONPatch", "applyConfiguration": {"expression": "1"}},
            {"patchType": "ApplyConfiguration"},
            merged(""),
            {},
            reinvocationPolicy="Often",
            failurePolicy="X",
        ),
    ),
    Step(
        "policy of bad expressions",
        "POST",
        POLICIES,
        policy(
            "bad",
            patched("1"),
            merged("Object{spec: Object.spec{a: 1}, b: nope}"),
            merged("{'a': 1}"),
            patched("[JSONPatch{op: 1}]"),
            patched("[]"),
            patched("object.x"),
            merged("object"),
            merged("Foo{}"),
            merged("Object.x{}"),
            patched("[JSONPatch{op: 'add', path: 'a', value: Object.spec{x: 1}}, Object{}]"),
            variables=[
                {"name": "a", "expression": "Object{}"},
                {"name": "b", "expression": "jsonpatch.escapeKey('a')"},
            ],
        ),
    ),
    Step(
        "policy whose message asks",
        "POST",
        f"{_V1}/validatingadmissionpolicies",
        api(
            "ValidatingAdmissionPolicy",
            f"{_GROUP}/v1",
            "bad",
            spec={
                "matchConstraints": _rule("CREATE"),
                "validations": [
                    {
                        "expression": "authorizer.none()",
                        "messageExpression": "authorizer.path('/x').check('get').reason()",
                    }
                ],
            },
        ),
    ),
    Step("binding of nothing", "POST", BINDINGS, api("MutatingAdmissionPolicyBinding", f"{_GROUP}/v1beta1", "bad")),
    Step("policy table", "GET", f"{POLICIES}/parameters", accept=TABLE),
    Step("binding table", "GET", f"{BINDINGS}/parameters", accept=TABLE),
    Step("policy changed", "PATCH", f"{POLICIES}/two", {"spec": {"failurePolicy": "Ignore"}}, MERGE),
    Step("discovery of v1beta1 admission", "GET", _BETA),
    Step("discovery of admission", "GET", f"/apis/{_GROUP}"),
    Step("APIService of v1beta1 admission", "GET", f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.{_GROUP}"),
    *(Step(f"binding {name} deleted", "DELETE", f"{BINDINGS}/{name}") for name in ("two", "again-1", "deployments")),
]
