"""The built-in plugins complete what mutating webhooks leave."""

from __future__ import annotations

from tests.api.conftest import Api
from tests.server.admission.hooks import CONFIGMAP_RULE, MUTATING, Hooks, configuration, patch

PODS = "/api/v1/namespaces/default/pods"
RULE = {**CONFIGMAP_RULE, "operations": ["CREATE"], "resources": ["pods"]}
INJECTED = patch(
    {"op": "add", "path": "/spec/containers/-", "value": {"name": "sidecar", "image": "b"}},
    {"op": "remove", "path": "/spec/priority"},
    {"op": "replace", "path": "/spec/tolerations", "value": []},
)


async def test_a_container_that_a_webhook_adds_gets_the_defaults_of_the_limit_range(api: Api, hooks: Hooks) -> None:
    limits = {"limits": [{"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": "1"}}]}
    body = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "bounds"}, "spec": limits}
    assert (await api("POST", "/api/v1/namespaces/default/limitranges", body)).status == 201
    await api("POST", MUTATING, configuration(hooks.webhook("/m", INJECTED, rules=[RULE])))
    spec = {"containers": [{"name": "main", "image": "a"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    created = await api("POST", PODS, pod)
    assert created.status == 201, created.json
    found = created.json["spec"]
    assert [each["resources"]["limits"] for each in found["containers"]] == [{"cpu": "500m"}] * 2
    assert (found["priority"], len(found["tolerations"])) == (0, 2)
    [volume] = found["volumes"]
    assert [[mount["name"] for mount in each["volumeMounts"]] for each in found["containers"]] == [[volume["name"]]] * 2


async def test_a_pod_needs_no_default_account_and_any_other_account_has_to_exist(api: Api) -> None:
    def pod(name: str, **spec: str) -> dict[str, object]:
        containers = [{"name": "main", "image": "a"}]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": containers, **spec},
        }

    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert (await api("GET", f"{accounts}/default")).status == 404
    spec = (await api("POST", PODS, pod("a"))).json["spec"]
    assert (spec["serviceAccountName"], spec["volumes"][0]["name"][:-5]) == ("default", "kube-api-access-")
    refused = await api("POST", PODS, pod("b", serviceAccountName="web"))
    assert refused.status == 403
    assert 'error looking up service account default/web: serviceaccount "web" not found' in refused.json["message"]
    await api("POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}})
    assert (await api("POST", PODS, pod("b", serviceAccountName="web"))).status == 201


async def test_a_new_claim_without_a_class_gets_the_newest_default_class(api: Api) -> None:
    classes, claims = "/apis/storage.k8s.io/v1/storageclasses", "/api/v1/namespaces/default/persistentvolumeclaims"
    default = {"storageclass.kubernetes.io/is-default-class": "true"}

    async def class_of(**spec: str) -> object:
        body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
        metadata = {"generateName": "c-"}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": body}
        created = await api("POST", claims, claim)
        assert created.status == 201, created.json
        return created.json["spec"].get("storageClassName")

    assert await class_of() is None
    for name, marks in (("b", default), ("a", default), ("0", {})):
        metadata = {"name": name, "annotations": marks}
        body = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, "provisioner": "p"}
        assert (await api("POST", classes, body)).status == 201
    assert [await class_of(), await class_of(storageClassName=""), await class_of(storageClassName="x")] == [
        "a",
        "",
        "x",
    ]
    await api("DELETE", f"{classes}/a")
    assert await class_of() == "b"
    await api("DELETE", f"{classes}/b")
    assert await class_of() is None


async def test_a_new_ingress_without_a_class_gets_the_newest_default_class(api: Api) -> None:
    group = "/apis/networking.k8s.io/v1"
    default = {"ingressclass.kubernetes.io/is-default-class": "true"}

    async def create(path: str, kind: str, name: str, marks: dict[str, str], spec: dict[str, object]) -> object:
        metadata = {"name": name, "annotations": marks}
        body = {"apiVersion": "networking.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}
        created = await api("POST", f"{group}/{path}", body)
        assert created.status == 201, created.json
        return created.json["spec"].get("ingressClassName")

    for name, marks in (("a", {}), ("b", default)):
        await create("ingressclasses", "IngressClass", name, marks, {"controller": "example.com/ingress"})
    backend: dict[str, object] = {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
    cases: tuple[tuple[str, dict[str, str], dict[str, object], str | None], ...] = (
        ("plain", {}, {}, "b"),
        ("named", {}, {"ingressClassName": "a"}, "a"),
        ("old", {"kubernetes.io/ingress.class": "nginx"}, {}, None),
    )
    for name, marks, spec, expected in cases:
        assert await create("namespaces/default/ingresses", "Ingress", name, marks, backend | spec) == expected
