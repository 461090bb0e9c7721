"""ReplicaSets: what is kept of those that have an owner, and which changes matter."""

from __future__ import annotations

import msgspec
import pytest

from homeostat.objects.json import JsonObject, encode
from homeostat.objects.views.replica_set import ReplicaSet, is_changed_declaration, is_relinked

decode = msgspec.json.Decoder(ReplicaSet).decode


def replica_set(
    owner: tuple[str, str] | None = None, *, replicas: int = 1, version: str = "7", image: str = "nginx"
) -> ReplicaSet:
    metadata: JsonObject = {"name": "web-5d4f", "namespace": "shop", "uid": "u", "resourceVersion": version}
    if owner is not None:
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "o"}]
    metadata["annotations"] = {"deployment.kubernetes.io/revision": "1"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}}
    return decode(encode({"metadata": metadata, "spec": {"replicas": replicas, "template": template}}))


OWNED = replica_set(("Deployment", "web"))
LONE = replica_set()


def test_of_one_that_has_an_owner_only_the_name_is_kept() -> None:
    assert (OWNED.metadata.name, OWNED.metadata.namespace, OWNED.metadata.resource_version) == ("web-5d4f", "shop", "7")
    assert (OWNED.spec, OWNED.metadata.annotations, OWNED.metadata.uid) == (None, None, "")
    assert (OWNED.is_owned, OWNED.deployment, OWNED.replicas) == (True, "web", None)


def test_one_without_an_owner_is_a_workload() -> None:
    assert (LONE.is_owned, LONE.deployment, LONE.replicas) == (False, "", 1)
    assert LONE.template.spec is not None
    assert LONE.key == "replicaset/shop/web-5d4f"


LINKS = [
    pytest.param(None, OWNED, False, id="comes as its name says"),
    pytest.param(OWNED, None, False, id="goes"),
    pytest.param(None, replica_set(("Deployment", "shop")), True, id="comes with another owner"),
    pytest.param(None, LONE, True, id="comes without an owner"),
    pytest.param(LONE, OWNED, True, id="taken over"),
    pytest.param(OWNED, replica_set(("Deployment", "web"), version="8"), False, id="reports"),
    pytest.param(LONE, replica_set(("Rollout", "web")), False, id="owned by what is not patched"),
]


@pytest.mark.parametrize(("old", "new", "is_news"), LINKS)
def test_pods_are_planned_again_when_they_belong_elsewhere(
    old: ReplicaSet | None, new: ReplicaSet | None, is_news: bool
) -> None:
    assert is_relinked("web-5d4f", old, new) == is_news


JUDGED = [
    pytest.param(None, LONE, True, id="comes"),
    pytest.param(LONE, None, True, id="goes"),
    pytest.param(LONE, replica_set(replicas=2), True, id="scaled"),
    pytest.param(LONE, replica_set(version="8"), False, id="reports"),
    pytest.param(LONE, OWNED, True, id="taken over"),
    pytest.param(None, OWNED, False, id="owned comes"),
    pytest.param(OWNED, replica_set(("Deployment", "web"), replicas=3, version="8"), False, id="owned scaled"),
]


@pytest.mark.parametrize(("old", "new", "is_news"), JUDGED)
def test_one_without_an_owner_is_judged_again_when_it_says_something_else(
    old: ReplicaSet | None, new: ReplicaSet | None, is_news: bool
) -> None:
    assert is_changed_declaration(old, new) == is_news
