"""What runs in a cluster: the operator and its webhook, each with a Service and a budget for disruptions. Pure.

They keep the rules that they judge others by: probes, resources, no root, and a budget.
"""

from __future__ import annotations

from homeostat.cli.policy.deploy.site import METRICS_PORT, OPERATOR, TLS_SECRET, WEBHOOK, Site, labels_of, metadata_of
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.admission.webhook_configuration import PORT

_TLS = "/tls"


def workload_documents(site: Site) -> list[JsonObject]:
    return [
        _deployment(site, OPERATOR, "operator", _operator(site), []),
        _deployment(site, WEBHOOK, "webhook", _webhook(site), [{"name": "tls", "secret": {"secretName": TLS_SECRET}}]),
        *(_budget(site, name, component) for name, component in _COMPONENTS),
        _service(site, OPERATOR, "operator", METRICS_PORT),
        _service(site, WEBHOOK, "webhook", PORT),
    ]


_COMPONENTS = ((OPERATOR, "operator"), (WEBHOOK, "webhook"))


def _operator(site: Site) -> JsonObject:
    arguments = ["run", "--operators", "policy", "--leader-elect", "--lease-namespace", site.namespace]
    return {
        **_container(site, "operator", METRICS_PORT, "HTTP"),
        "args": [*arguments, "--health", f"0.0.0.0:{METRICS_PORT}"],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
    }


def _webhook(site: Site) -> JsonObject:
    files = ["--tls-cert", f"{_TLS}/tls.crt", "--tls-key", f"{_TLS}/tls.key"]
    return {
        **_container(site, "webhook", PORT, "HTTPS"),
        "args": ["policy", "webhook", "serve", "--addr", f"0.0.0.0:{PORT}", *files],
        "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [{"name": "tls", "mountPath": _TLS, "readOnly": True}],
    }


def _container(site: Site, name: str, port: int, scheme: str) -> JsonObject:
    def probe(path: str, delay_s: int, period_s: int) -> JsonObject:
        get = {"path": path, "port": "metrics", "scheme": scheme}
        return {"httpGet": get, "initialDelaySeconds": delay_s, "periodSeconds": period_s}

    return {
        "name": name,
        "image": site.image,
        "command": ["homeostat"],
        "ports": [{"name": "metrics", "containerPort": port}],
        "livenessProbe": probe("/healthz", 5, 10),
        "readinessProbe": probe("/readyz", 3, 5),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _deployment(site: Site, name: str, component: str, container: JsonObject, volumes: list[JsonObject]) -> JsonObject:
    selector = {"matchLabels": labels_of(component)}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": selector,
    }
    pod = {
        "serviceAccountName": name,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "runAsGroup": 1000,
            "fsGroup": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "containers": [container],
        **({"volumes": volumes} if volumes else {}),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata_of(name, component, site.namespace),
        "spec": {
            "replicas": site.replicas,
            "selector": selector,
            "template": {"metadata": {"labels": labels_of(component)}, "spec": pod},
        },
    }


def _budget(site: Site, name: str, component: str) -> JsonObject:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata_of(name, component, site.namespace),
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels_of(component)}},
    }


def _service(site: Site, name: str, component: str, port: int) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata_of(name, component, site.namespace),
        "spec": {
            "selector": labels_of(component),
            "ports": [{"name": "metrics", "port": port, "targetPort": "metrics"}],
        },
    }
