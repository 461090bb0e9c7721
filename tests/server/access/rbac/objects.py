"""Roles, bindings and users, as short as a table needs them."""

from __future__ import annotations

from typing import Any

from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.authz import Authorizer
from homeostat.server.access.rbac.authorizer import Rbac
from homeostat.server.access.user import AUTHENTICATED, User


def user(name: str, *groups: str) -> User:
    return User(name, groups=(*groups, AUTHENTICATED))


def rule(verbs: str, resources: str = "", *, groups: str = "core", names: str = "", urls: str = "") -> JsonObject:
    rule: JsonObject = {"verbs": verbs.split()}
    if resources:
        rule["apiGroups"] = ["" if group == "core" else group for group in groups.split()]
        rule["resources"] = resources.split()
    if names:
        rule["resourceNames"] = names.split()
    if urls:
        rule["nonResourceURLs"] = urls.split()
    return rule


def role(name: str, *rules: JsonObject, **fields: Any) -> JsonObject:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"metadata": metadata, "rules": list(rules), **fields}


def subject(text: str) -> JsonObject:
    """`User:alice`, `Group:devs`, `ServiceAccount:ns/name` or, without a namespace, `ServiceAccount:name`."""
    kind, _, name = text.partition(":")
    namespace, slash, account = name.partition("/")
    return {"kind": kind, "name": account, "namespace": namespace} if slash else {"kind": kind, "name": name}


def binding(name: str, ref: str, *subjects: str) -> JsonObject:
    """`ref` is `ClusterRole:view` or `Role:mine`."""
    kind, _, role_name = ref.partition(":")
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role_name}
    return {"metadata": {"name": name}, "roleRef": role_ref, "subjects": [subject(each) for each in subjects]}


def put(rbac: Rbac, kind: str, obj: JsonObject, namespace: str = "") -> None:
    rbac.put(kind, namespace, obj["metadata"]["name"], obj)


def granting(subject_text: str, *rules: JsonObject, namespace: str = "") -> Rbac:
    """An index in which one subject has some rules: everywhere, or in one namespace."""
    rbac = Rbac()
    put(rbac, "ClusterRole", role("held", *rules))
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    put(rbac, kind, binding("holds", "ClusterRole:held", subject_text), namespace)
    return rbac


def may(rbac: Rbac, who: User, verb: str, resource: str = "", **fields: Any) -> bool:
    """`resource` may have its subresource behind a slash."""
    resource, _, subresource = resource.partition("/")
    attributes = Attributes(who, verb, resource=resource, subresource=subresource, **fields)
    return Authorizer(rbac).authorize(attributes).is_allowed
