"""The request bodies of the attacks, each below the limit of a body (3 MiB)."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


def namespace() -> bytes:
    return _encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "soak"}})


def pod(name: str, **resources: Any) -> bytes:
    container = {"name": "main", "image": "example.com/app:1", "resources": resources}
    return _encode({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}})


def config_map(name: str, text: str) -> bytes:
    return _encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}})


def yaml_lines() -> bytes:
    return b"\n" * 2_900_000 + b"a: b"


def yaml_anchors() -> bytes:
    return b"spec:\n" + b"".join(b"  k%d: &a%d x\n" % (each, each) for each in range(100_000))


def yaml_directives() -> bytes:
    return b"".join(b"%%TAG !%d! x\n" % each for each in range(100_000)) + b"--- a"


def yaml_flow() -> bytes:
    return b"{a: [%bx]}" % (b"x," * 60_000)


def yaml_review() -> bytes:
    return b"spec:\n" + b"".join(b"  k%d: &a%d x\n" % (each, each) for each in range(6_000))


def webhooks(port: int) -> bytes:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hooks = [
        {
            "name": f"h{each}.soak.example",
            "clientConfig": {"url": f"https://127.0.0.1:{port}/{each}"},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "soak"}},
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 2,
        }
        for each in range(100)
    ]
    return _encode({"metadata": {"name": "hang"}, "webhooks": hooks})


def answering_webhook(port: int, authority: str) -> bytes:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": "answers.soak.example",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": authority},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "soak"}},
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 10,
    }
    return _encode({"metadata": {"name": "answers"}, "webhooks": [hook]})


def _answer(**response: Any) -> bytes:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return _encode({**review, "response": {"uid": "UID", "allowed": True, **response}})


def long_answer() -> bytes:
    operations = [{"op": "add", "path": f"/data/k{each}", "value": "x" * 20} for each in range(9_000)]
    return _answer(
        patchType="JSONPatch",
        patch=base64.b64encode(_encode(operations)).decode(),
        warnings=[f"w{each}" for each in range(100_000)],
        auditAnnotations={f"k{each}": "v" for each in range(60_000)},
    )


def long_denial() -> bytes:
    causes = [{"field": f"f{each}"} for each in range(100_000)]
    return _answer(allowed=False, status={"message": "x" * 500_000, "details": {"causes": causes}})


def padded_answer() -> bytes:
    return _answer() + b" " * 60_000


def long_review(number: int) -> bytes:
    attributes = {"verb": f"{number}" + "x" * 120_000, "resource": "pods", "namespace": "soak"}
    return _encode({"spec": {"resourceAttributes": attributes}})


def cel_bomb() -> tuple[bytes, bytes]:
    """A policy, and its binding to one namespace."""
    halves = "".join(f"cel.bind(v{at + 1}, [v{at}, v{at}], " for at in range(30))
    leaves = f"cel.bind(v0, [1], {halves}v30{')' * 31}"
    expressions = [f"{leaves} == {leaves}", f"'%s'.format([{leaves}]) != ''", f"[{leaves}].flatten().size() > 0"]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    name = {"name": "bomb.soak.example"}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": each} for each in expressions],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "soak"}}
    bound = {
        "policyName": name["name"],
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": selector},
    }
    return _encode({"metadata": name, "spec": spec}), _encode({"metadata": name, "spec": bound})


def repeated_keys() -> bytes:
    return b'{"metadata":{"name":"repeated"},"data":{%b"a":""}}' % (b'"a":"",' * 400_000)


def strategic_merge() -> bytes:
    entries = [{"$patch": "delete", "name": f"c{each}"} for each in range(30_000)]
    return _encode({"spec": {"containers": entries}})


def primitive_list() -> bytes:
    names = [f"example.com/f{each}" for each in range(30_000)]
    return _encode({"metadata": {"$deleteFromPrimitiveList/finalizers": names}})


def any_of_definition() -> bytes:
    branches = [{"properties": {"x": {"enum": [each]}}} for each in range(2_000)]
    item = {"type": "object", "properties": {"x": {"type": "integer"}}, "anyOf": branches}
    schema = {"type": "object", "properties": {"spec": {"type": "array", "items": item}}}
    names = {"plural": "wides", "kind": "Wide"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    spec = {"group": "soak.example", "scope": "Namespaced", "names": names, "versions": versions}
    return _encode(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "wides.soak.example"},
            "spec": spec,
        }
    )


def any_of_object() -> bytes:
    items = [{"x": -1}] * 4_000
    return _encode({"apiVersion": "soak.example/v1", "kind": "Wide", "metadata": {"generateName": "w-"}, "spec": items})


def owned() -> bytes:
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{each}", "uid": f"00000000-0000-0000-0000-{each:012d}"}
        for each in range(20_000)
    ]
    return _encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": owners}})


def json_patch_copies() -> bytes:
    steps: list[dict[str, Any]] = [{"op": "add", "path": "/data/a", "value": "x" * 1000}]
    steps += [{"op": "copy", "from": "/data", "path": f"/data/c{each}"} for each in range(24)]
    return _encode(steps)


def giant_quantity() -> bytes:
    return pod("giant", requests={"cpu": "1" * 300_000})


def long_owner(number: int) -> bytes:
    owner = {"apiVersion": "v1", "kind": f"K{number}{'x' * 1_400_000}", "name": "n", "uid": f"u{number}"}
    return _encode({"metadata": {"ownerReferences": [owner]}})


def flow_schema(number: int) -> bytes:
    rules = [
        {
            "subjects": [{"kind": "Group", "group": {"name": "system:unauthenticated"}}],
            "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": [f"r{at}"], "namespaces": ["*"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": [f"/soak/{at}/*"]}],
        }
        for at in range(20)
    ]
    spec = {
        "matchingPrecedence": 500 + number,
        "priorityLevelConfiguration": {"name": "global-default"},
        "distinguisherMethod": {"type": "ByUser"},
        "rules": rules,
    }
    return _encode({"metadata": {"name": f"soak-{number}", "labels": {"soak": ""}}, "spec": spec})


def precedence(number: int) -> bytes:
    return _encode({"spec": {"matchingPrecedence": 500 + number % 9000}})


def annotated(number: int) -> bytes:
    return _encode({"metadata": {"annotations": {"soak.example/number": str(number)}}})


RULES_ROLE = "many-rules"
GRANTER = "granter"


def rules_role() -> bytes:
    rules = [
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": [f"n{each}"]}
        for each in range(10_000)
    ]
    return _encode({"metadata": {"name": RULES_ROLE}, "rules": rules})


def role_binding(name: str, role: str, user: str, *, kind: str = "Role") -> bytes:
    group = "rbac.authorization.k8s.io"
    ref = {"apiGroup": group, "kind": kind, "name": role}
    return _encode({"metadata": {"name": name}, "roleRef": ref, "subjects": [{"kind": "User", "name": user}]})


def paths_definition() -> bytes:
    columns = [{"name": f"C{at}", "type": "string", "jsonPath": "..a..a..a"} for at in range(200)]
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "paths", "kind": "Path"}
    spec = {
        "group": "soak.example",
        "scope": "Namespaced",
        "names": names,
        "versions": [{**version, "additionalPrinterColumns": columns}],
    }
    return _encode({"metadata": {"name": "paths.soak.example"}, "spec": spec})


def paths_object() -> bytes:
    value: Any = 1
    for _ in range(60):
        value = {"a": value}
    return _encode({"apiVersion": "soak.example/v1", "kind": "Path", "metadata": {"generateName": "p-"}, "spec": value})
