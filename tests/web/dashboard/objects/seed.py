"""Objects to show: some of each sort, with hostile texts and secrets in them."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject

HOSTILE = "</pre></textarea><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
PODS, CONFIG_MAPS, SECRETS = (f"/api/v1/namespaces/shop/{each}" for each in ("pods", "configmaps", "secrets"))
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
DEFINITION: JsonObject = {
    "metadata": {"name": "lamps.light.example"},
    "spec": {
        "group": "light.example",
        "scope": "Namespaced",
        "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "shortNames": ["lp"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": HOSTILE, "type": "string", "description": HOSTILE, "jsonPath": ".spec.text"},
                    {"name": "Watts", "type": "integer", "jsonPath": ".spec.watts"},
                ],
            }
        ],
    },
}
CONDITION: JsonObject = {"type": "Ready", "status": "False", "reason": "Dark", "message": HOSTILE}


async def seed(client: Client) -> None:
    await client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [
                {"name": "web", "image": "web:1", "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "A"}]}
            ]
        },
    }
    deployment = await client.create(
        DEPLOYMENTS,
        {
            "metadata": {"name": "web", "annotations": {"note": HOSTILE}},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        },
    )
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": deployment["metadata"]["uid"]}
    await client.create(
        CONFIG_MAPS, {"metadata": {"name": "owned", "ownerReferences": [owner]}, "data": {"a": HOSTILE}}
    )
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"password":"aHVudGVyMg=="}}'}
    secret = {"password": "hunter2", "user": "app"}
    await client.create(SECRETS, {"metadata": {"name": "db", "annotations": applied}, "stringData": secret})
    event = {
        "metadata": {"name": "web.1", "namespace": "shop"},
        "involvedObject": {**owner, "namespace": "shop"},
        "reason": "Scaled",
        "message": HOSTILE,
        "type": "Warning",
        "count": 3,
        "lastTimestamp": "2026-11-17T10:00:00Z",
    }
    await client.create("/api/v1/namespaces/shop/events", event)


async def seed_lamps(client: Client) -> None:
    """Of a custom kind, as soon as it is served."""
    await client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    for name, watts in (("hall", 60), ("porch", 9), ("attic", 100)):
        body = {"apiVersion": "light.example/v1", "kind": "Lamp", "metadata": {"name": name}}
        path = "/apis/light.example/v1/namespaces/shop/lamps"
        await client.create(path, {**body, "spec": {"text": HOSTILE, "watts": watts}})
    status = {"status": {"conditions": [CONDITION]}}
    await client.merge("/apis/light.example/v1/namespaces/shop/lamps/hall/status", status)


async def bind(client: Client, user: str, role: str) -> None:
    binding = {
        "metadata": {"name": f"{user}-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
    }
    await client.create(f"{ROLES}/clusterrolebindings", binding)


async def seed_revisions(client: Client, *images: str) -> None:
    """ReplicaSets of the Deployment `web`, as its controller would have left them: the last one is the newest."""
    web = await client.get(f"{DEPLOYMENTS}/web")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"]}
    for number, image in enumerate(images, start=1):
        labels = {"app": "web", "pod-template-hash": f"h{number}"}
        template = {**web["spec"]["template"], "metadata": {"labels": labels}}
        template["spec"] = {**template["spec"], "containers": [{**template["spec"]["containers"][0], "image": image}]}
        notes = {"deployment.kubernetes.io/revision": str(number), "kubernetes.io/change-cause": f"{HOSTILE} {number}"}
        owners = [{**owner, "controller": True}]
        metadata = {"name": f"web-h{number}", "labels": labels, "annotations": notes, "ownerReferences": owners}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        await client.create("/apis/apps/v1/namespaces/shop/replicasets", {"metadata": metadata, "spec": spec})
