"""The default roles and bindings: those of Kubernetes, for the kinds that this server has.

They are written as data and expanded to objects. `admin`, `edit` and `view` are aggregated by label, so an operator's
role with `rbac.authorization.k8s.io/aggregate-to-edit: "true"` extends them.
"""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.access.rbac import GROUP
from homeostat.server.access.rule import FULL_AUTHORITY, Rule, rule_object
from homeostat.server.access.user import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, UNAUTHENTICATED

_MONITORING = "system:monitoring"
_ALL, _READ = "create delete deletecollection get list patch update watch", "get list watch"
_WRITE = "create delete deletecollection patch update"


def _on(group: str, resources: str, verbs: str) -> Rule:
    return Rule(tuple(verbs.split()), groups=(group,), resources=tuple(resources.split()))


def _at(urls: str) -> Rule:
    return Rule(("get",), urls=tuple(urls.split()))


_VIEW = (
    _on(
        "",
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers "
        "replicationcontrollers/scale serviceaccounts services services/status",
        _READ,
    ),
    _on(
        "",
        "events limitranges namespaces/status pods/status replicationcontrollers/status resourcequotas "
        "resourcequotas/status",
        _READ,
    ),
    _on("", "namespaces", _READ),
    _on("discovery.k8s.io", "endpointslices", _READ),
    _on("events.k8s.io", "events", _READ),
    _on(
        "apps",
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets "
        "replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
        _READ,
    ),
    _on("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status", _READ),
    _on("batch", "cronjobs cronjobs/status jobs jobs/status", _READ),
    _on("policy", "poddisruptionbudgets poddisruptionbudgets/status", _READ),
    _on("networking.k8s.io", "ingresses ingresses/status networkpolicies", _READ),
)
_EDIT = (
    _on("", "secrets", _READ),
    _on("", "serviceaccounts", "impersonate"),
    _on("", "pods", _WRITE),
    _on("", "pods/eviction", "create"),
    _on(
        "",
        "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
        "serviceaccounts services",
        _WRITE,
    ),
    _on("", "serviceaccounts/token", "create"),
    _on("events.k8s.io", "events", _WRITE),
    _on(
        "apps",
        "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
        _WRITE,
    ),
    _on("autoscaling", "horizontalpodautoscalers", _WRITE),
    _on("batch", "cronjobs jobs", _WRITE),
    _on("policy", "poddisruptionbudgets", _WRITE),
    _on("networking.k8s.io", "ingresses networkpolicies", _WRITE),
    _on("coordination.k8s.io", "leases", _ALL),
)
_ADMIN = (
    _on("authorization.k8s.io", "localsubjectaccessreviews", "create"),
    _on(GROUP, "rolebindings roles", _ALL),
)
_ROLES: dict[str, tuple[Rule, ...]] = {
    "cluster-admin": FULL_AUTHORITY,
    "system:aggregate-to-admin": _ADMIN,
    "system:aggregate-to-edit": _EDIT,
    "system:aggregate-to-view": _VIEW,
    "system:auth-delegator": (
        _on("authentication.k8s.io", "tokenreviews", "create"),
        _on("authorization.k8s.io", "subjectaccessreviews", "create"),
    ),
    "system:basic-user": (
        _on("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create"),
        _on("authentication.k8s.io", "selfsubjectreviews", "create"),
    ),
    "system:discovery": (
        _at("/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"),
    ),
    "system:monitoring": (_at("/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*"),),
    "system:public-info-viewer": (_at("/healthz /livez /readyz /version /version/"),),
    "system:service-account-issuer-discovery": (_at("/.well-known/openid-configuration /openid/v1/jwks"),),
}
_AGGREGATED = ("admin", "edit", "view")
_GATHERED_BY = {
    "edit": "admin",
    "view": "edit",
    "system:aggregate-to-admin": "admin",
    "system:aggregate-to-edit": "edit",
    "system:aggregate-to-view": "view",
}
_BOUND_TO = {
    "cluster-admin": (MASTERS,),
    "system:basic-user": (AUTHENTICATED,),
    "system:discovery": (AUTHENTICATED,),
    "system:monitoring": (_MONITORING,),
    "system:public-info-viewer": (AUTHENTICATED, UNAUTHENTICATED),
    "system:service-account-issuer-discovery": (SERVICE_ACCOUNTS,),
}


def default_roles() -> list[JsonObject]:
    """ClusterRoles, then ClusterRoleBindings, ordered by name; new objects at every call."""
    roles = {name: _role(name, {"rules": [rule_object(rule) for rule in rules]}) for name, rules in _ROLES.items()}
    roles |= {name: _role(name, {"aggregationRule": _selecting(name), "rules": []}) for name in _AGGREGATED}
    return [roles[name] for name in sorted(roles)] + [_binding(name, groups) for name, groups in _BOUND_TO.items()]


def _role(name: str, content: JsonObject) -> JsonObject:
    return {**_head("ClusterRole", name), **content}


def _binding(name: str, groups: tuple[str, ...]) -> JsonObject:
    return {
        **_head("ClusterRoleBinding", name),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups],
    }


def _head(kind: str, name: str) -> JsonObject:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if kind == "ClusterRole" and name in _GATHERED_BY:
        labels[_label(_GATHERED_BY[name])] = "true"
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}


def _selecting(name: str) -> JsonObject:
    return {"clusterRoleSelectors": [{"matchLabels": {_label(name): "true"}}]}


def _label(name: str) -> str:
    return f"{GROUP}/aggregate-to-{name}"
