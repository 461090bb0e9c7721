"""ServiceMonitors, alert rules and a Grafana dashboard in a ConfigMap. Pure.

A component that serves TLS has its certificate checked against the authority in its Secret, under the name of its
Service.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.operators.deploy.workloads import Component, tls_secret
from homeostat.objects.json import JsonObject
from homeostat.runtime.deployment import Alert

_INTERVAL = "15s"
_RELEASE = {"release": "stable"}
"""The label by which the Prometheus of the community chart selects monitors and rules."""


def monitor_documents(site: Site, components: Sequence[Component]) -> list[JsonObject]:
    return [_monitor(site, each) for each in components]


def _monitor(site: Site, component: Component) -> JsonObject:
    endpoint = {"port": "metrics", "path": "/metrics", "interval": _INTERVAL, **_access(site, component)}
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


def dashboard_document(site: Site, dashboard: JsonObject, *, name: str = "") -> JsonObject:
    text = msgspec.json.format(msgspec.json.encode(dashboard), indent=2).decode()
    data = {f"{site.name}.json": text + "\n"}
    made = site.document("v1/ConfigMap", name or f"{site.name}-dashboard", "dashboard", data=data)
    return _labelled(made, {"grafana_dashboard": "1"})


def alert_document(site: Site, groups: Iterable[tuple[str, Sequence[Alert]]]) -> JsonObject:
    """The groups by their names."""
    spec = {"groups": [{"name": name, "rules": [_rule(each) for each in alerts]} for name, alerts in groups]}
    made = site.document("monitoring.coreos.com/v1/PrometheusRule", site.name, "alerts", spec=spec)
    return _labelled(made, _RELEASE)


def _rule(alert: Alert) -> JsonObject:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.advice},
    }


def _labelled(document: JsonObject, labels: dict[str, str]) -> JsonObject:
    document["metadata"]["labels"] |= labels
    return document
