"""The scenarios of `scenarios.json`, with their markers filled in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OLD = "1" * 40
NEW = "0123456789abcdef0123456789abcdef01234567"
_MARKS = {"@OLD@": OLD, "@NEW@": NEW, "@NEW7@": NEW[:7], "@REG@": "127.0.0.1:5000", "@SLOW@": "127.0.0.1:5001"}

Scenario = dict[str, Any]


def scenarios() -> dict[str, Scenario]:
    text = (Path(__file__).parent / "scenarios.json").read_text()
    for mark, value in _MARKS.items():
        text = text.replace(mark, value)
    found: dict[str, Scenario] = json.loads(text)
    return found


def deployment(name: str, scenario: Scenario) -> dict[str, Any]:
    """The Deployment in the cluster that the scenario describes."""
    given = {
        "enabled": "true",
        "app_repository": "@GIT@/app.git",
        "manifest_repository": "@GIT@/manifests.git",
        "deployment_path": scenario["path"],
        "image_name": scenario["image_name"],
        "ssh_key_name": "ssh-key",
        "ssh_key_namespace": "images",
        **scenario["annotations"],
    }
    annotations = {f"gitops.operator.{key}": value for key, value in given.items() if value is not None}
    containers = [{"name": each, "image": image} for each, image in scenario["containers"]]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "images", "annotations": annotations},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
