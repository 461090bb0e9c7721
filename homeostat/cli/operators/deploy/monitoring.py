"""ServiceMonitors, alert rules and Grafana dashboards in a ConfigMap. Pure.

A component that serves TLS has its certificate checked against the authority in its Secret, under the name of its
Service. Labels of a metric are kept (`honorLabels`): the `namespace` of an object's metric is the object's, and not
that of the Pod that reports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.operators.deploy.workloads import Component, tls_secret
from homeostat.objects.json import JsonObject

_INTERVAL = "15s"
_RELEASE = {"release": "stable"}
"""The label by which the Prometheus of the community chart selects monitors and rules."""


def monitor_documents(site: Site, components: Sequence[Component]) -> list[JsonObject]:
    return [_monitor(site, each) for each in components]


def _monitor(site: Site, component: Component) -> JsonObject:
    endpoint = {
        "port": "metrics",
        "path": "/metrics",
        "interval": _INTERVAL,
        "honorLabels": True,
        **_access(site, component),
    }
    spec = {
        "selector": {"matchLabels": site.labels(component.label)},
        "namespaceSelector": {"matchNames": [site.namespace]},
        "endpoints": [endpoint],
    }
    kind = "monitoring.coreos.com/v1/ServiceMonitor"
    return _labelled(site.document(kind, component.name, component.label, spec=spec), _RELEASE)


def _access(site: Site, component: Component) -> JsonObject:
    if component.scheme == "HTTP":
        return {}
    authority = {"secret": {"name": tls_secret(component.name), "key": "ca.crt"}}
    return {
        "scheme": "https",
        "tlsConfig": {"ca": authority, "serverName": f"{component.name}.{site.namespace}.svc"},
    }


def dashboards_document(site: Site, dashboards: Mapping[str, JsonObject], *, name: str = "") -> JsonObject:
    """Dashboards by the names of their files."""
    data = {file: (_pretty(each) + b"\n").decode() for file, each in dashboards.items()}
    made = site.document("v1/ConfigMap", name or f"{site.name}-dashboards", "dashboard", data=data)
    return _labelled(made, {"grafana_dashboard": "1"})


def _pretty(dashboard: JsonObject) -> bytes:
    return msgspec.json.format(msgspec.json.encode(dashboard), indent=2)


def alerts_document(site: Site, groups: Sequence[JsonObject]) -> JsonObject:
    made = site.document("monitoring.coreos.com/v1/PrometheusRule", site.name, "alerts", spec={"groups": groups})
    return _labelled(made, _RELEASE)


def _labelled(document: JsonObject, labels: dict[str, str]) -> JsonObject:
    document["metadata"]["labels"] |= labels
    return document
