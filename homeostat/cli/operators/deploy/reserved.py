"""ValidatingAdmissionPolicies for the writes that operators reserve (`runtime/reserved.py`): what a plane refuses by
itself, a cluster refuses by these. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.runtime.reserved import Reserved

_VERSION: Final = "admissionregistration.k8s.io/v1"


def reserved_documents(
    reserved: Mapping[str, Sequence[Reserved]], *, prefix: str = "homeostat", labels: Mapping[str, str]
) -> list[JsonObject]:
    """A policy and its binding for each kind that decides, by name of operator."""
    documents: list[JsonObject] = []
    for operator, declared in reserved.items():
        for owner, found in groupby(sorted(declared, key=_owner), key=_owner):
            metadata = {"name": f"{prefix}-{operator}-{owner[0].partition('.')[0]}", "labels": dict(labels)}
            spec = {"policyName": metadata["name"], "validationActions": ["Deny"]}
            documents += [
                _document("ValidatingAdmissionPolicy", metadata, _policy(*owner, list(found))),
                _document("ValidatingAdmissionPolicyBinding", metadata, spec),
            ]
    return documents


def _owner(each: Reserved) -> tuple[str, bool]:
    return each.owner, each.is_owner_namespaced


def _document(kind: str, metadata: JsonObject, spec: JsonObject) -> JsonObject:
    return {"apiVersion": _VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _policy(owner: str, is_namespaced: bool, reserved: Sequence[Reserved]) -> JsonObject:
    resource, _, group = owner.partition(".")
    asked = f"authorizer.group({_text(group)}).resource({_text(resource)}).subresource('status')"
    where = ".namespace(request.namespace)" if is_namespaced else ""
    conditions = [_covers(each) for each in reserved]
    needed = f'"{resource}/status" in API group "{group}"'
    message = f"the operator writes it, and relies on it; others must be allowed to patch {needed}"
    return {
        "failurePolicy": "Fail",
        # A server adds the defaults, and the whole has one owner: without them it would differ for server-side apply.
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "resourceRules": [_rule(each) for each in reserved],
        },
        "matchConditions": [{"name": "reserved", "expression": " || ".join(conditions)}],
        "validations": [
            {"expression": f"{asked}{where}.check('patch').allowed()", "message": message, "reason": "Forbidden"}
        ],
    }


def _rule(each: Reserved) -> JsonObject:
    resource = each.resource or "*"
    return {
        "apiGroups": [each.group],
        "apiVersions": ["*"],
        "resources": [f"{resource}/{each.subresource}" if each.subresource else resource],
        "operations": ["CREATE", "UPDATE"],
        "scope": "*",
    }


def _covers(each: Reserved) -> str:
    parts = [f"request.resource.group == {_text(each.group)}"]
    if each.resource:
        parts.append(f"request.resource.resource == {_text(each.resource)}")
    if each.prefix:
        parts.append(f"object.metadata.?name.orValue('').startsWith({_text(each.prefix)})")
    return f"({' && '.join(parts)})"


def _text(value: str) -> str:
    """A string of the Common Expression Language."""
    return json.dumps(value)
