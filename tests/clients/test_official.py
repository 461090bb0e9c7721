"""The official Python client of Kubernetes: typed, dynamic and custom objects, watches, leader election."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

from tests.served import ServedPlane

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def api(plane: ServedPlane) -> Iterator[Any]:
    with config.new_client_from_config(config_file=str(plane.kubeconfig)) as api:
        yield api


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


def config_map(name: str, **data: str) -> Any:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "web"}), data=data)


def deployment() -> Any:
    container = client.V1Container(name="web", image="web:1", ports=[client.V1ContainerPort(container_port=80)])
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": "web"}), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(
        replicas=2, selector=client.V1LabelSelector(match_labels={"app": "web"}), template=template
    )
    return client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)


def test_a_typed_object_is_made_read_replaced_listed_and_deleted(core: Any, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, config_map("c", mode="fast"))
    assert made.metadata.uid
    made.data["mode"] = "slow"
    core.replace_namespaced_config_map("c", namespace, made)
    assert core.read_namespaced_config_map("c", namespace).data == {"mode": "slow"}
    listed = core.list_namespaced_config_map(namespace, label_selector="app=web")
    assert [item.metadata.name for item in listed.items] == ["c"]
    core.delete_namespaced_config_map("c", namespace)
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_config_map("c", namespace)
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")


def test_a_stale_object_is_a_conflict(core: Any, namespace: str) -> None:
    old = core.create_namespaced_config_map(namespace, config_map("c", mode="fast"))
    core.patch_namespaced_config_map("c", namespace, {"data": {"mode": "slow"}})
    with pytest.raises(ApiException) as refused:
        core.replace_namespaced_config_map("c", namespace, old)
    assert refused.value.status == 409


def test_a_patch_of_a_built_in_kind_merges_lists_by_their_keys(api: Any, namespace: str) -> None:
    apps = client.AppsV1Api(api)
    apps.create_namespaced_deployment(namespace, deployment())
    sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}}}
    patched = apps.patch_namespaced_deployment("web", namespace, sidecar)
    assert sorted(each.name for each in patched.spec.template.spec.containers) == ["proxy", "web"]
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 5}]
    assert apps.patch_namespaced_deployment("web", namespace, operations).spec.replicas == 5


def test_scale_and_status_are_subresources(api: Any, namespace: str) -> None:
    apps = client.AppsV1Api(api)
    apps.create_namespaced_deployment(namespace, deployment())
    scale = apps.read_namespaced_deployment_scale("web", namespace)
    scale.spec.replicas = 7
    apps.replace_namespaced_deployment_scale("web", namespace, scale)
    apps.patch_namespaced_deployment_status("web", namespace, {"status": {"replicas": 7}})
    stored = apps.read_namespaced_deployment("web", namespace)
    assert (stored.spec.replicas, stored.status.replicas) == (7, 7)


def test_a_watch_follows_changes_from_a_list_on(core: Any, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, config_map("c", mode="fast"))
    listed = core.list_namespaced_config_map(namespace)
    core.patch_namespaced_config_map("c", namespace, {"data": {"mode": "slow"}})
    core.delete_namespaced_config_map("c", namespace)
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=listed.metadata.resource_version,
        label_selector="app=web",
        timeout_seconds=1,
    )
    assert [(event["type"], event["object"].data["mode"]) for event in stream] == [
        ("MODIFIED", "slow"),
        ("DELETED", "slow"),
    ]


def test_a_list_is_read_in_pages(core: Any, namespace: str) -> None:
    for number in range(5):
        core.create_namespaced_config_map(namespace, config_map(f"c{number}"))
    names, token = [], None
    while token != "":
        page = core.list_namespaced_config_map(namespace, limit=2, _continue=token, label_selector="app=web")
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue or ""
    assert names == ["c0", "c1", "c2", "c3", "c4"]


def test_custom_objects_are_written_patched_and_scaled(api: Any, namespace: str, gardens: str) -> None:
    custom = client.CustomObjectsApi(api)
    where = (gardens, "v1", namespace, "gardens")
    garden = {"apiVersion": f"{gardens}/v1", "kind": "Garden", "metadata": {"name": "g"}, "spec": {"replicas": 1}}
    custom.create_namespaced_custom_object(*where, garden)
    custom.patch_namespaced_custom_object(*where, "g", {"spec": {"soil": "loam"}})
    custom.patch_namespaced_custom_object_status(*where, "g", {"status": {"replicas": 1}})
    stored = custom.get_namespaced_custom_object(*where, "g")
    assert stored["spec"] == {"replicas": 1, "soil": "loam"}
    assert stored["status"] == {"replicas": 1}
    assert custom.get_namespaced_custom_object_scale(*where, "g")["spec"] == {"replicas": 1}
    assert len(custom.list_namespaced_custom_object(*where)["items"]) == 1
    custom.delete_namespaced_custom_object(*where, "g")


def test_the_dynamic_client_finds_kinds_and_applies(api: Any, namespace: str, gardens: str) -> None:
    found = dynamic.DynamicClient(api)
    kind = found.resources.get(api_version=f"{gardens}/v1", kind="Garden")
    garden = {"apiVersion": f"{gardens}/v1", "kind": "Garden", "metadata": {"name": "g"}, "spec": {"beds": 1}}
    applied = kind.server_side_apply(body=garden, name="g", namespace=namespace, field_manager="tests")
    assert applied.metadata.managedFields[0].manager == "tests"
    with pytest.raises(ApiException) as refused:
        kind.server_side_apply(
            body={**garden, "spec": {"beds": 2}}, name="g", namespace=namespace, field_manager="others"
        )
    assert refused.value.status == 409
    changed = kind.patch(
        body={"spec": {"beds": 3}}, name="g", namespace=namespace, content_type="application/merge-patch+json"
    )
    assert changed.spec.beds == 3
    kind.delete(name="g", namespace=namespace)
    assert kind.get(namespace=namespace).items == []


def test_one_of_two_candidates_leads(plane: ServedPlane, namespace: str) -> None:
    config.load_kube_config(config_file=str(plane.kubeconfig))
    first, second = (candidate(name, namespace) for name in ("first", "second"))
    assert first.try_acquire_or_renew() is True
    assert second.try_acquire_or_renew() is False
    assert first.try_acquire_or_renew() is True


def candidate(name: str, namespace: str) -> Any:
    terms = electionconfig.Config(
        ConfigMapLock("lock", namespace, name),
        lease_duration=17,
        renew_deadline=15,
        retry_period=5,
        onstarted_leading=lambda: None,
        onstopped_leading=None,
    )
    return leaderelection.LeaderElection(terms)
