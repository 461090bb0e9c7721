"""Manifests of good and bad Pods, and files with them."""

from __future__ import annotations

from pathlib import Path

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject

PROBE = {"tcpSocket": {"port": 8080}}
BARE = {"name": "main", "image": "nginx:latest"}
PROBED = {"name": "main", "image": "nginx:1.25", "livenessProbe": PROBE, "readinessProbe": PROBE}


def pod(container: JsonObject, name: str = "web") -> JsonObject:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def deployment(container: JsonObject, replicas: int = 1) -> JsonObject:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    }


def write(path: Path, *objects: JsonObject) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(yaml.dump_all(list(objects)))
    return path
