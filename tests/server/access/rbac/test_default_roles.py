from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from homeostat.objects.json import JsonObject
from homeostat.server.access.rbac.authorizer import Rbac
from homeostat.server.access.rbac.default_roles import brought_up_to_date, default_roles
from homeostat.server.access.user import NOBODY, SELF, User
from tests.server.access.rbac.objects import binding, may, put, user


@pytest.fixture(scope="module")
def rbac() -> Rbac:
    """The default roles; in namespace `a`, viewer, editor and owner have `view`, `edit` and `admin`."""
    made = Rbac()
    for obj in default_roles():
        put(made, obj["kind"], obj, obj["metadata"].get("namespace", ""))
    for role, name in (("view", "viewer"), ("edit", "editor"), ("admin", "owner")):
        put(made, "RoleBinding", binding(name, f"ClusterRole:{role}", f"User:{name}"), "a")
    return made


VIEWER, EDITOR, OWNER = user("viewer"), user("editor"), user("owner")
SCHEDULER, MANAGER = user("system:kube-scheduler"), user("system:kube-controller-manager")
JOBS = user("system:serviceaccount:kube-system:job-controller")
LEASES = {"group": "coordination.k8s.io", "namespace": "kube-system"}
RBAC = "rbac.authorization.k8s.io"
CASES: dict[str, tuple[User, str, str, dict[str, str], bool]] = {
    "a viewer reads pods": (VIEWER, "list", "pods", {"namespace": "a"}, True),
    "a viewer reads its namespace only": (VIEWER, "list", "pods", {"namespace": "b"}, False),
    "a viewer reads no secrets": (VIEWER, "get", "secrets", {"namespace": "a"}, False),
    "a viewer writes nothing": (VIEWER, "update", "configmaps", {"namespace": "a"}, False),
    "an editor reads what a viewer reads": (EDITOR, "get", "pods/status", {"namespace": "a"}, True),
    "an editor reads secrets": (EDITOR, "get", "secrets", {"namespace": "a"}, True),
    "an editor writes deployments": (EDITOR, "patch", "deployments", {"group": "apps", "namespace": "a"}, True),
    "an editor scales": (EDITOR, "update", "deployments/scale", {"group": "apps", "namespace": "a"}, True),
    "an editor makes tokens": (EDITOR, "create", "serviceaccounts/token", {"namespace": "a"}, True),
    "an editor writes no roles": (EDITOR, "create", "roles", {"group": RBAC, "namespace": "a"}, False),
    "an editor writes no quota": (EDITOR, "update", "resourcequotas", {"namespace": "a"}, False),
    "an admin does what an editor does": (OWNER, "delete", "jobs", {"group": "batch", "namespace": "a"}, True),
    "an admin writes roles": (OWNER, "create", "rolebindings", {"group": RBAC, "namespace": "a"}, True),
    "an admin writes no cluster roles": (OWNER, "create", "clusterroles", {"group": RBAC}, False),
    "anybody known asks about themselves": (
        user("x"), "create", "selfsubjectaccessreviews", {"group": "authorization.k8s.io"}, True,
    ),
    "anybody known discovers": (user("x"), "get", "", {"path": "/apis/apps/v1"}, True),
    "anybody known sees no metrics": (user("x"), "get", "", {"path": "/metrics"}, False),
    "nobody sees the version": (NOBODY, "get", "", {"path": "/version"}, True),
    "nobody discovers nothing": (NOBODY, "get", "", {"path": "/apis"}, False),
    "monitoring sees metrics": (user("m", "system:monitoring"), "get", "", {"path": "/metrics"}, True),
    "service accounts see keys": (user("s", "system:serviceaccounts"), "get", "", {"path": "/openid/v1/jwks"}, True),
    "the scheduler binds": (SCHEDULER, "create", "pods/binding", {"namespace": "a"}, True),
    "the scheduler locks its lease": (
        SCHEDULER, "update", "leases", {**LEASES, "name": "kube-scheduler"}, True,
    ),
    "the scheduler reads no secrets": (SCHEDULER, "get", "secrets", {"namespace": "a"}, False),
    "controllers get accounts of their own": (MANAGER, "create", "serviceaccounts/token", {"namespace": "a"}, True),
    "the job controller makes pods": (JOBS, "create", "pods", {"namespace": "a"}, True),
    "the job controller makes no deployments": (JOBS, "create", "deployments", {"group": "apps"}, False),
    "nodes get nothing by their group": (user("n", "system:nodes"), "get", "pods", {"namespace": "a"}, False),
    "masters do anything": (SELF, "delete", "nodes", {}, True),
}  # fmt: skip


@pytest.mark.parametrize(("who", "verb", "resource", "fields", "expected"), CASES.values(), ids=CASES)
def test_the_default_roles_mean_what_they_mean_in_kubernetes(
    rbac: Rbac, who: User, verb: str, resource: str, fields: dict[str, str], expected: bool
) -> None:
    assert may(rbac, who, verb, resource, **fields) is expected


def namespace_of(obj: JsonObject) -> str:
    return str(obj["metadata"].get("namespace", ""))


def place_of(obj: JsonObject) -> tuple[str, str, str]:
    return obj["kind"], namespace_of(obj), obj["metadata"]["name"]


def test_masters_have_a_role_too() -> None:
    bindings = [obj for obj in default_roles() if obj["kind"] == "ClusterRoleBinding"]
    assert ("cluster-admin", "system:masters") in {
        (obj["roleRef"]["name"], subject["name"]) for obj in bindings for subject in obj.get("subjects", ())
    }


def test_every_binding_names_a_role_that_is_there() -> None:
    objects = default_roles()
    roles = {place_of(obj) for obj in objects if "roleRef" not in obj}
    bound = {(obj["roleRef"]["kind"], namespace_of(obj), obj["roleRef"]["name"]) for obj in objects if "roleRef" in obj}
    assert bound <= roles


def test_each_call_makes_new_objects() -> None:
    first = default_roles()
    first[0]["metadata"]["labels"].clear()
    assert default_roles()[0]["metadata"]["labels"]


def test_an_operators_role_extends_the_gathered_ones() -> None:
    rbac = Rbac()
    for obj in default_roles():
        put(rbac, obj["kind"], obj, obj["metadata"].get("namespace", ""))
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    rule = {"verbs": ["get"], "apiGroups": ["x.io"], "resources": ["things"]}
    put(rbac, "ClusterRole", {"metadata": {"name": "things", "labels": label}, "rules": [rule]})
    put(rbac, "ClusterRoleBinding", binding("b", "ClusterRole:admin", "User:alice"))
    assert may(rbac, user("alice"), "get", "things", group="x.io", namespace="any")


def default(kind: str, name: str) -> JsonObject:
    return next(each for each in default_roles() if each["kind"] == kind and each["metadata"]["name"] == name)


def changed(kind: str, name: str, *path: str, value: Any) -> tuple[JsonObject, JsonObject]:
    """An object that a user changed, and its default."""
    wanted = default(kind, name)
    found = deepcopy(wanted)
    *parents, last = path
    member = found
    for parent in parents:
        member = member[parent]
    member[last] = value
    return found, wanted


def test_a_default_that_lacks_nothing_is_not_written() -> None:
    assert [each for each in default_roles() if brought_up_to_date(deepcopy(each), each) is not None] == []


def test_lacking_rules_are_added_and_further_ones_stay() -> None:
    further = {"verbs": ["get"], "apiGroups": ["x.io"], "resources": ["things"]}
    found, wanted = changed("ClusterRole", "system:auth-delegator", "rules", value=[further])
    updated = brought_up_to_date(found, wanted)
    assert updated is not None
    assert updated["rules"] == [further, *wanted["rules"]]
    assert brought_up_to_date(updated, wanted) is None


def test_a_further_rule_alone_is_no_reason_to_write() -> None:
    rules = default("ClusterRole", "system:auth-delegator")["rules"]
    wider = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    for value in (rules[::-1], wider, [*rules, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]):
        assert brought_up_to_date(*changed("ClusterRole", "system:auth-delegator", "rules", value=value)) is None


def test_lacking_subjects_selectors_labels_and_annotations_are_added() -> None:
    alice = {"apiGroup": RBAC, "kind": "User", "name": "alice"}
    found, wanted = changed("ClusterRoleBinding", "cluster-admin", "subjects", value=[alice])
    assert (brought_up_to_date(found, wanted) or {})["subjects"] == [alice, *wanted["subjects"]]
    mine = {"matchLabels": {"mine": "true"}}
    found, wanted = changed("ClusterRole", "view", "aggregationRule", "clusterRoleSelectors", value=[mine])
    selectors = wanted["aggregationRule"]["clusterRoleSelectors"]
    assert (brought_up_to_date(found, wanted) or {})["aggregationRule"]["clusterRoleSelectors"] == [mine, *selectors]
    found, wanted = changed("ClusterRole", "view", "metadata", "labels", value={"mine": "true"})
    labels = (brought_up_to_date(found, wanted) or {})["metadata"]["labels"]
    assert labels == {"mine": "true", **wanted["metadata"]["labels"]}


def test_the_rules_of_an_aggregated_role_are_not_compared() -> None:
    assert brought_up_to_date(*changed("ClusterRole", "view", "rules", value=[{"verbs": ["x"]}])) is None


def test_a_binding_to_another_role_is_replaced_by_its_default() -> None:
    other = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
    found, wanted = changed("ClusterRoleBinding", "cluster-admin", "roleRef", value=other)
    assert brought_up_to_date(found, wanted) is wanted


def test_an_object_that_is_protected_is_never_changed() -> None:
    off = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    for kind, name in (("ClusterRole", "view"), ("ClusterRoleBinding", "system:public-info-viewer")):
        found, wanted = changed(kind, name, "metadata", "annotations", value=off)
        assert brought_up_to_date({**found, "subjects": [], "rules": []}, wanted) is None
