"""How Prometheus and Grafana find the operator: ServiceMonitors, and the dashboard in a ConfigMap. Pure.

The webhook's certificate is checked against the authority in its Secret, under the name of its Service.
"""

from __future__ import annotations

import msgspec

from homeostat.cli.policy.deploy.grafana import dashboard
from homeostat.cli.policy.deploy.site import NAME, OPERATOR, TLS_SECRET, WEBHOOK, Site, labels_of, metadata_of
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.admission.webhook_configuration import service_names

_INTERVAL = "15s"


def monitoring_documents(site: Site) -> list[JsonObject]:
    authority = {"secret": {"name": TLS_SECRET, "key": "ca.crt"}}
    name, _ = service_names(WEBHOOK, site.namespace)
    secure = {"scheme": "https", "tlsConfig": {"ca": authority, "serverName": name}}
    return [_monitor(site, OPERATOR, "operator", {}), _monitor(site, WEBHOOK, "webhook", secure), _dashboard(site)]


def _monitor(site: Site, name: str, component: str, access: JsonObject) -> JsonObject:
    metadata = metadata_of(name, component, site.namespace)
    metadata["labels"]["release"] = "stable"
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": labels_of(component)},
            "namespaceSelector": {"matchNames": [site.namespace]},
            "endpoints": [{"port": "metrics", "path": "/metrics", "interval": _INTERVAL, **access}],
        },
    }


def _dashboard(site: Site) -> JsonObject:
    metadata = metadata_of(f"{NAME}-dashboard", "dashboard", site.namespace)
    metadata["labels"]["grafana_dashboard"] = "1"
    text = msgspec.json.format(msgspec.json.encode(dashboard()), indent=2).decode()
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {f"{NAME}.json": text + "\n"}}
