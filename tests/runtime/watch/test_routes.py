from __future__ import annotations

from homeostat.objects.kind import POD, REPLICA_SET, Kind
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.control.operator import Request
from homeostat.runtime.watch.routes import Route, to_indexed, to_itself, to_mapped, to_owner
from tests.runtime.projections import Metadata, OwnerReference, Pod, pod, pod_cache

SET = OwnerReference("apps/v1", "ReplicaSet", "web-1", True)
OLD_SET = OwnerReference("apps/v1beta2", "ReplicaSet", "web-0", True)
FOREIGN = OwnerReference("acme.io/v1", "ReplicaSet", "other", True)
LOOSE = OwnerReference("apps/v1", "ReplicaSet", "loose", False)
NODE = OwnerReference("v1", "Node", "n1", True)
NODES = Kind("", "v1", "nodes", "Node", is_namespaced=False)
POLICIES = Kind("acme.io", "v1", "policies", "Policy", is_namespaced=True)


def owned(*owners: OwnerReference) -> Pod:
    return Pod(Metadata("web", "shop", owner_references=owners or None))


def routed(route: Route[Pod], old: Pod | None, new: Pod | None) -> list[str]:
    return [str(each) for each in route(Change("shop", "web", old, new))]


def test_a_change_is_about_the_object_itself() -> None:
    assert list(to_itself(POD)(Change("shop", "web", None, owned()))) == [Request("Pod", "shop", "web")]


def test_a_change_is_about_the_controller_of_the_kind() -> None:
    route = to_owner(REPLICA_SET)
    assert routed(route, None, owned(FOREIGN, LOOSE, NODE, SET)) == ["ReplicaSet.apps shop/web-1"]
    assert routed(route, None, owned()) == []


def test_whichever_version_the_owner_was_named_by_will_do() -> None:
    assert routed(to_owner(REPLICA_SET), None, owned(OLD_SET)) == ["ReplicaSet.apps shop/web-0"]


def test_owners_that_are_no_controller_count_on_request() -> None:
    route = to_owner(REPLICA_SET, any_owner=True)
    assert routed(route, None, owned(LOOSE, SET)) == ["ReplicaSet.apps shop/loose", "ReplicaSet.apps shop/web-1"]


def test_an_owner_without_a_namespace_has_none() -> None:
    assert routed(to_owner(NODES), None, owned(NODE)) == ["Node n1"]


def test_the_owner_before_is_reconciled_too() -> None:
    route = to_owner(REPLICA_SET)
    assert routed(route, owned(OLD_SET), owned(SET)) == ["ReplicaSet.apps shop/web-1", "ReplicaSet.apps shop/web-0"]
    assert routed(route, owned(SET), None) == ["ReplicaSet.apps shop/web-1"]


def test_a_function_names_whom_a_change_is_about() -> None:
    route: Route[Pod] = to_mapped(POLICIES, lambda each: [(each.metadata.namespace, "default")])
    assert set(routed(route, owned(), owned())) == {"Policy.acme.io shop/default"}


def test_an_index_knows_who_refers_to_what_changed() -> None:
    writer = pod_cache()
    route: Route[Pod] = to_indexed(POD, writer.cache, "node", lambda node: node.metadata.name)
    for number, name in enumerate(("a", "b", "c")):
        writer.put(pod(name, number + 1, node="n1" if name != "b" else "n2"))
    assert routed(route, None, pod("n1")) == ["Pod shop/a", "Pod shop/c"]
    assert routed(route, None, pod("n3")) == []
