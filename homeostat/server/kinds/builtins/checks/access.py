"""What RBAC roles and bindings may look like."""

from __future__ import annotations

from homeostat.objects.errors import Cause, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_subdomain, path_segment
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.label_selector import check_selector
from homeostat.server.kinds.builtins.members import items, numbered, struct, text
from homeostat.server.kinds.builtins.value import check_required, check_text

_GROUP = "rbac.authorization.k8s.io"


def _check_rules(obj: JsonObject, *, is_namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    for at, rule in numbered(obj, "rules", ""):
        if not items(rule, "verbs"):
            causes.append(required(f"{at}.verbs", "verbs must contain at least one value"))
        if urls := items(rule, "nonResourceURLs"):
            causes += _check_urls(rule, urls, f"{at}.nonResourceURLs", is_namespaced=is_namespaced)
            continue
        if not items(rule, "apiGroups"):
            causes.append(required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
        if not items(rule, "resources"):
            causes.append(required(f"{at}.resources", "resource rules must supply at least one resource"))
    return causes


def _check_urls(rule: JsonObject, urls: list[object], path: str, *, is_namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    if is_namespaced:
        causes.append(invalid(path, urls, "namespaced rules cannot apply to non-resource URLs"))
    if any(items(rule, name) for name in ("apiGroups", "resources", "resourceNames")):
        causes.append(invalid(path, urls, "rules cannot apply to both regular resources and non-resource URLs"))
    return causes


def _check_role(obj: JsonObject) -> list[Cause]:
    return _check_rules(obj, is_namespaced=True)


def _check_cluster_role(obj: JsonObject) -> list[Cause]:
    causes = _check_rules(obj, is_namespaced=False)
    aggregation = obj.get("aggregationRule")
    if isinstance(aggregation, dict):
        at = "aggregationRule.clusterRoleSelectors"
        if not items(aggregation, "clusterRoleSelectors"):
            causes.append(required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
        for path, selector in numbered(aggregation, "clusterRoleSelectors", "aggregationRule"):
            if found := check_selector(selector, path):
                causes += [*found, invalid(path, selector, "invalid label selector")]
    return causes


def _check_binding(obj: JsonObject, roles: tuple[str, ...], *, is_namespaced: bool) -> list[Cause]:
    role = struct(obj, "roleRef")
    causes: list[Cause] = []
    if role and text(role, "apiGroup") != _GROUP:
        causes.append(unsupported("roleRef.apiGroup", text(role, "apiGroup"), [_GROUP]))
    if text(role, "kind") not in roles:
        causes.append(unsupported("roleRef.kind", text(role, "kind"), roles))
    causes += check_required(role, "name", "roleRef", path_segment)
    for at, subject in numbered(obj, "subjects", ""):
        causes += _check_subject(subject, at, is_namespaced=is_namespaced)
    return causes


def _check_subject(subject: JsonObject, path: str, *, is_namespaced: bool) -> list[Cause]:
    kind, name, group = text(subject, "kind"), text(subject, "name"), text(subject, "apiGroup")
    causes = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            causes += check_text(name, f"{path}.name", dns1123_subdomain)
        if group:
            causes.append(unsupported(f"{path}.apiGroup", group, [""]))
        if not is_namespaced and not text(subject, "namespace"):
            causes.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            causes.append(unsupported(f"{path}.apiGroup", group, [_GROUP]))
    else:
        causes.append(unsupported(f"{path}.kind", kind, ["Group", "ServiceAccount", "User"]))
    return causes


def _check_role_binding(obj: JsonObject) -> list[Cause]:
    return _check_binding(obj, ("ClusterRole", "Role"), is_namespaced=True)


def _check_cluster_role_binding(obj: JsonObject) -> list[Cause]:
    return _check_binding(obj, ("ClusterRole",), is_namespaced=False)


CHECKS = {
    (_GROUP, "Role"): _check_role,
    (_GROUP, "ClusterRole"): _check_cluster_role,
    (_GROUP, "RoleBinding"): _check_role_binding,
    (_GROUP, "ClusterRoleBinding"): _check_cluster_role_binding,
}
