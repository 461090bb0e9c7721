"""lightkube: typed objects by dataclasses, strategic merge as the default patch, apply and watch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

from tests.served import ServedPlane

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def client(plane: ServedPlane, namespace: str) -> Iterator[Any]:
    settings = KubeConfig.from_file(str(plane.kubeconfig))
    with Client(settings, namespace=namespace, field_manager="tests") as client:
        yield client


def config_map(name: str, label: str = "web", **data: str) -> Any:
    return ConfigMap(metadata=ObjectMeta(name=name, labels={"app": label}), data=data)


def deployment() -> Any:
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=[Container(name="web", image="web:1")])
    )
    spec = DeploymentSpec(replicas=2, selector=LabelSelector(matchLabels={"app": "web"}), template=template)
    return Deployment(metadata=ObjectMeta(name="web"), spec=spec)


def test_an_object_is_made_read_replaced_and_deleted(client: Any) -> None:
    made = client.create(config_map("c", mode="fast"))
    made.data["mode"] = "slow"
    client.replace(made)
    assert client.get(ConfigMap, name="c").data == {"mode": "slow"}
    client.delete(ConfigMap, name="c")
    with pytest.raises(ApiError) as refused:
        client.get(ConfigMap, name="c")
    assert (refused.value.status.code, refused.value.status.reason) == (404, "NotFound")


def test_a_list_is_chosen_by_labels_and_fields_and_read_in_chunks(client: Any) -> None:
    for number in range(5):
        client.create(config_map(f"c{number}", label="even" if number % 2 == 0 else "odd"))

    def names(**selectors: Any) -> list[str]:
        return [found.metadata.name for found in client.list(ConfigMap, chunk_size=2, **selectors)]

    assert names(labels={"app": "even"}) == ["c0", "c2", "c4"]
    assert names(labels={"app": ["even", "odd"]}) == ["c0", "c1", "c2", "c3", "c4"]
    assert names(fields={"metadata.name": "c3"}) == ["c3"]


def test_a_patch_is_strategic_by_default(client: Any) -> None:
    client.create(deployment())
    sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}}}
    patched = client.patch(Deployment, "web", sidecar)
    assert sorted(each.name for each in patched.spec.template.spec.containers) == ["proxy", "web"]
    assert client.patch(Deployment, "web", {"spec": {"replicas": 3}}, patch_type=PatchType.MERGE).spec.replicas == 3
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 4}]
    assert client.patch(Deployment, "web", operations, patch_type=PatchType.JSON).spec.replicas == 4


def test_apply_owns_fields_and_meets_other_owners(client: Any) -> None:
    client.apply(config_map("c", mode="fast"))
    with pytest.raises(ApiError) as refused:
        client.apply(config_map("c", mode="slow"), field_manager="others")
    assert refused.value.status.code == 409
    taken = client.apply(config_map("c", mode="slow"), field_manager="others", force=True)
    assert taken.data == {"mode": "slow"}


def test_a_status_and_a_scale_are_subresources(client: Any) -> None:
    client.create(deployment())
    client.patch(Deployment.Status, "web", {"status": {"replicas": 2}}, patch_type=PatchType.MERGE)
    client.patch(Deployment.Scale, "web", {"spec": {"replicas": 5}}, patch_type=PatchType.MERGE)
    stored = client.get(Deployment, "web")
    assert (stored.spec.replicas, stored.status.replicas) == (5, 2)


def test_a_watch_sees_each_change(client: Any) -> None:
    client.create(config_map("c", mode="fast"))
    events = client.watch(ConfigMap, labels={"app": "web"}, server_timeout=5)
    event, found = next(events)
    assert (event, found.data["mode"]) == ("ADDED", "fast")
    client.patch(ConfigMap, "c", {"data": {"mode": "slow"}})
    event, found = next(events)
    assert (event, found.data["mode"]) == ("MODIFIED", "slow")
    client.delete(ConfigMap, "c")
    event, found = next(events)
    assert (event, found.metadata.name) == ("DELETED", "c")
    events.close()


def test_wait_ends_when_the_conditions_hold(client: Any) -> None:
    client.create(deployment())
    status = {"status": {"conditions": [{"type": "Available", "status": "True"}]}}
    client.patch(Deployment.Status, "web", status, patch_type=PatchType.MERGE)
    assert client.wait(Deployment, "web", for_conditions=["Available"]).metadata.name == "web"


def test_a_custom_kind_is_a_generic_object(client: Any, gardens: str) -> None:
    garden_kind = create_namespaced_resource(gardens, "v1", "Garden", "gardens")
    client.create(garden_kind(metadata=ObjectMeta(name="g"), spec={"beds": 1}))
    client.patch(garden_kind, "g", {"spec": {"soil": "loam"}}, patch_type=PatchType.MERGE)
    assert client.get(garden_kind, "g")["spec"] == {"beds": 1, "soil": "loam"}


def test_all_of_a_kind_are_deleted_together(client: Any) -> None:
    for number in range(3):
        client.create(config_map(f"c{number}"))
    client.deletecollection(ConfigMap)
    assert [each.metadata.name for each in client.list(ConfigMap, labels={"app": "web"})] == []
