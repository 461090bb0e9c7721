from __future__ import annotations

import pytest

from homeostat.server.access.rbac import Rbac
from homeostat.server.access.roles import default_roles
from homeostat.server.access.user import NOBODY, SELF, User
from tests.server.access.rbac_objects import binding, may, put, user


@pytest.fixture(scope="module")
def rbac() -> Rbac:
    """The default roles; in namespace `a`, viewer, editor and owner have `view`, `edit` and `admin`."""
    made = Rbac()
    for obj in default_roles():
        put(made, obj["kind"], obj)
    for role, name in (("view", "viewer"), ("edit", "editor"), ("admin", "owner")):
        put(made, "RoleBinding", binding(name, f"ClusterRole:{role}", f"User:{name}"), "a")
    return made


VIEWER, EDITOR, OWNER = user("viewer"), user("editor"), user("owner")
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
    "masters do anything": (SELF, "delete", "nodes", {}, True),
}  # fmt: skip


@pytest.mark.parametrize(("who", "verb", "resource", "fields", "expected"), CASES.values(), ids=CASES)
def test_the_default_roles_mean_what_they_mean_in_kubernetes(
    rbac: Rbac, who: User, verb: str, resource: str, fields: dict[str, str], expected: bool
) -> None:
    assert may(rbac, who, verb, resource, **fields) is expected


def test_masters_have_a_role_too() -> None:
    bindings = [obj for obj in default_roles() if obj["kind"] == "ClusterRoleBinding"]
    assert ("cluster-admin", "system:masters") in {
        (obj["roleRef"]["name"], subject["name"]) for obj in bindings for subject in obj["subjects"]
    }


def test_every_binding_names_a_role_that_is_there() -> None:
    objects = default_roles()
    roles = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "ClusterRole"}
    assert {obj["roleRef"]["name"] for obj in objects if obj["kind"] == "ClusterRoleBinding"} <= roles


def test_each_call_makes_new_objects() -> None:
    first = default_roles()
    first[0]["metadata"]["labels"].clear()
    assert default_roles()[0]["metadata"]["labels"]


def test_an_operators_role_extends_the_gathered_ones() -> None:
    rbac = Rbac()
    for obj in default_roles():
        put(rbac, obj["kind"], obj)
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    rule = {"verbs": ["get"], "apiGroups": ["x.io"], "resources": ["things"]}
    put(rbac, "ClusterRole", {"metadata": {"name": "things", "labels": label}, "rules": [rule]})
    put(rbac, "ClusterRoleBinding", binding("b", "ClusterRole:admin", "User:alice"))
    assert may(rbac, user("alice"), "get", "things", group="x.io", namespace="any")
