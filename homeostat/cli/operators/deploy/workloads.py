"""Components that run in a cluster, each with a Deployment, a PodDisruptionBudget and a Service. Pure.

They comply with the strictest policy of this project: probes, resources, no root, and a budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from homeostat.cli.operators.deploy.site import Site
from homeostat.objects.json import JsonObject
from homeostat.runtime.deployment import Webhook

METRICS_PORT: Final = 9090
_METRICS: Final = "metrics"
_TLS: Final = "/tls"


class Mount(msgspec.Struct, frozen=True):
    """A volume at a path; `source` is the volume's, such as `{"secret": {"secretName": ...}}`."""

    name: str
    path: str
    source: JsonObject
    is_read_only: bool = True

    def volume(self) -> JsonObject:
        return {"name": self.name, **self.source}

    def mount(self) -> JsonObject:
        only = {"readOnly": True} if self.is_read_only else {}
        return {"name": self.name, "mountPath": self.path, **only}


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """`port` serves health and metrics; `ports` are additional ports by name."""

    name: str
    """Name of its Deployment, Service, budget and service account."""
    label: str
    arguments: Sequence[str]
    port: int = METRICS_PORT
    scheme: Literal["HTTP", "HTTPS"] = "HTTP"
    cpu: str = "100m"
    memory: str = "128Mi"
    most_memory: str = "512Mi"
    ports: Mapping[str, int] = {}
    mounts: Sequence[Mount] = ()
    environment: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    """Annotations of its Pods; a change replaces the Pods."""


def operator_component(
    site: Site,
    *,
    name: str,
    operators: str,
    label: str = "operator",
    options: Sequence[str] = (),
    ports: Mapping[str, int] | None = None,
    mounts: Sequence[Mount] = (),
    environment: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Component:
    """Runs operators; `operators` is the value of `--operators`."""
    run = ["run", "--operators", operators, *options, "--leader-elect", "--lease-namespace", site.namespace]
    return Component(
        name=name,
        label=label,
        arguments=[*run, "--health", f"0.0.0.0:{METRICS_PORT}"],
        ports=ports or {},
        mounts=mounts,
        environment=environment or {},
        annotations=annotations or {},
    )


def webhook_component(site: Site, webhook: Webhook, *, name: str, label: str) -> Component:
    """Serves an admission webhook with the certificate of its Secret."""
    files = ["--tls-cert", f"{_TLS}/tls.crt", "--tls-key", f"{_TLS}/tls.key"]
    if webhook.renewal_option:
        files += [webhook.renewal_option, f"{site.namespace}/{tls_secret(name)}"]
    return Component(
        name=name,
        label=label,
        arguments=[*webhook.arguments, "--addr", f"0.0.0.0:{webhook.port}", *files],
        port=webhook.port,
        scheme="HTTPS",
        cpu="50m",
        memory="96Mi",
        most_memory="256Mi",
        mounts=[Mount("tls", _TLS, {"secret": {"secretName": tls_secret(name)}})],
    )


def tls_secret(service: str) -> str:
    return f"{service}-tls"


def workload_documents(site: Site, components: Sequence[Component], *, has_budgets: bool = True) -> list[JsonObject]:
    """Without budgets if there is a single Pod, because a budget would then block the draining of its node."""
    makers = (_deployment, _budget, _service) if has_budgets else (_deployment, _service)
    return [make(site, each) for make in makers for each in components]


def _deployment(site: Site, component: Component) -> JsonObject:
    labels = site.labels(component.label)
    selector = {"matchLabels": labels}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": selector,
    }
    volumes = [each.volume() for each in component.mounts]
    pod = {
        "serviceAccountName": component.name,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "runAsGroup": 1000,
            "fsGroup": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "containers": [_container(site, component)],
        **({"volumes": volumes} if volumes else {}),
    }
    annotations = {"annotations": dict(component.annotations)} if component.annotations else {}
    template = {"metadata": {"labels": labels, **annotations}, "spec": pod}
    spec = {"replicas": site.replicas, "selector": selector, "template": template}
    return site.document("apps/v1/Deployment", component.name, component.label, spec=spec)


def _container(site: Site, component: Component) -> JsonObject:
    def probe(path: str, delay_s: int, period_s: int) -> JsonObject:
        get = {"path": path, "port": _METRICS, "scheme": component.scheme}
        return {"httpGet": get, "initialDelaySeconds": delay_s, "periodSeconds": period_s}

    mounts = [each.mount() for each in component.mounts]
    environment = [{"name": name, "value": value} for name, value in component.environment.items()]
    ports = {_METRICS: component.port, **component.ports}
    return {
        "name": component.label,
        "image": site.image,
        "command": ["homeostat"],
        "args": list(component.arguments),
        **({"env": environment} if environment else {}),
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        "livenessProbe": probe("/healthz", 5, 10),
        "readinessProbe": probe("/readyz", 3, 5),
        "resources": {
            "requests": {"cpu": component.cpu, "memory": component.memory},
            "limits": {"memory": component.most_memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        **({"volumeMounts": mounts} if mounts else {}),
    }


def _budget(site: Site, component: Component) -> JsonObject:
    spec = {"minAvailable": 1, "selector": {"matchLabels": site.labels(component.label)}}
    return site.document("policy/v1/PodDisruptionBudget", component.name, component.label, spec=spec)


def _service(site: Site, component: Component) -> JsonObject:
    ports = {_METRICS: component.port, **component.ports}
    spec = {
        "selector": site.labels(component.label),
        "ports": [{"name": name, "port": port, "targetPort": name} for name, port in ports.items()],
    }
    return site.document("v1/Service", component.name, component.label, spec=spec)
