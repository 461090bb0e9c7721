from __future__ import annotations

import copy

import pytest

from homeostat.objects.errors import ForbiddenError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.server.access.authz import Authorizer
from homeostat.server.access.rbac.authorizer import Rbac
from homeostat.server.access.rbac.escalation import check_grant
from homeostat.server.access.user import SELF, User
from tests.server.access.rbac.objects import binding, granting, put, role, rule, user

RBAC = "rbac.authorization.k8s.io"
ALICE = user("alice", "devs")
GET_PODS = rule("get", "pods")


def write(
    rbac: Rbac, kind: str, obj: JsonObject, *, who: User = ALICE, namespace: str = "", old: JsonObject | None = None
) -> None:
    check_grant(Authorizer(rbac), who, kind=kind, namespace=namespace, obj=obj, old=old)


def test_a_role_of_own_permissions_may_be_written() -> None:
    write(granting("User:alice", rule("*", "pods")), "ClusterRole", role("r", rule("get list", "pods")))


def test_a_role_of_more_permissions_is_forbidden_in_kubernetes_words() -> None:
    with pytest.raises(ForbiddenError) as refused:
        write(granting("User:alice", GET_PODS), "ClusterRole", role("r", rule("get list watch", "pods secrets")))
    assert refused.value.message == (
        'clusterroles.rbac.authorization.k8s.io "r" is forbidden: '
        'user "alice" (groups=["devs" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}'
    )


def test_permissions_in_a_namespace_count_for_roles_of_that_namespace() -> None:
    rbac = granting("User:alice", GET_PODS, namespace="a")
    write(rbac, "Role", role("r", GET_PODS), namespace="a")
    with pytest.raises(ForbiddenError):
        write(rbac, "Role", role("r", GET_PODS), namespace="b")


def test_masters_may_grant_anything() -> None:
    write(Rbac(), "ClusterRole", role("r", rule("*", "*", groups="*")), who=SELF)


def test_whoever_may_escalate_a_role_may_write_anything_into_it() -> None:
    rbac = granting("User:alice", rule("escalate", "clusterroles", groups=RBAC, names="r"))
    write(rbac, "ClusterRole", role("r", rule("*", "*")))
    with pytest.raises(ForbiddenError):
        write(rbac, "ClusterRole", role("another", rule("*", "*")))


def aggregated(*rules: JsonObject) -> JsonObject:
    return role("r", *rules, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})


@pytest.mark.parametrize(("new", "old"), [(aggregated(), None), (role("r"), aggregated())], ids=["set", "taken away"])
def test_an_aggregation_rule_needs_everything(new: JsonObject, old: JsonObject | None) -> None:
    with pytest.raises(ForbiddenError, match="must have cluster-admin privileges to use the aggregationRule"):
        write(granting("User:alice", rule("*", "pods")), "ClusterRole", new, old=old)
    write(granting("User:alice", rule("*", "*", groups="*"), rule("*", urls="*")), "ClusterRole", new, old=old)


def test_a_binding_needs_the_permissions_of_its_role() -> None:
    rbac = granting("User:alice", GET_PODS)
    put(rbac, "ClusterRole", role("less", GET_PODS))
    put(rbac, "ClusterRole", role("more", rule("delete", "pods")))
    write(rbac, "ClusterRoleBinding", binding("b", "ClusterRole:less", "User:bob"))
    with pytest.raises(ForbiddenError, match="not currently held") as refused:
        write(rbac, "RoleBinding", binding("b", "ClusterRole:more", "User:bob"), namespace="a")
    assert refused.value.message.startswith('rolebindings.rbac.authorization.k8s.io "b" is forbidden')


def test_whoever_may_bind_a_role_need_not_hold_it() -> None:
    rbac = granting("User:alice", rule("bind", "clusterroles", groups=RBAC, names="more"), namespace="a")
    put(rbac, "ClusterRole", role("more", rule("delete", "pods")))
    write(rbac, "RoleBinding", binding("b", "ClusterRole:more", "User:bob"), namespace="a")
    with pytest.raises(ForbiddenError):
        write(rbac, "ClusterRoleBinding", binding("b", "ClusterRole:more", "User:bob"))


def test_a_binding_of_no_role_is_not_found_unless_it_may_be_bound_unseen() -> None:
    with pytest.raises(NotFoundError, match=r"clusterroles\.rbac\.authorization\.k8s\.io"):
        write(Rbac(), "ClusterRoleBinding", binding("b", "ClusterRole:gone", "User:bob"))
    rbac = granting("User:alice", rule("bind", "clusterroles", groups=RBAC))
    write(rbac, "ClusterRoleBinding", binding("b", "ClusterRole:gone", "User:bob"))


def test_garbage_collection_may_take_finalizers_and_owners_from_any_role() -> None:
    old = role("r", rule("*", "*"), metadata={"finalizers": ["x"], "ownerReferences": [{"name": "o"}]})
    new = copy.deepcopy(old)
    del new["metadata"]["finalizers"], new["metadata"]["ownerReferences"]
    write(Rbac(), "ClusterRole", new, old=old)
    new["metadata"]["labels"] = {"a": "b"}
    with pytest.raises(ForbiddenError):
        write(Rbac(), "ClusterRole", new, old=old)
