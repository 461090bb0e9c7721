"""A good CustomResourceDefinition and the ways to spoil it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Edit = Callable[[dict[str, Any]], object]


def good_crd() -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "conversion": {"strategy": "None"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"size": {"type": "integer"}, "color": {"type": "string"}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    }


def spec(edit: Edit) -> Edit:
    return lambda crd: edit(crd["spec"])


def names(**changes: Any) -> Edit:
    return lambda crd: crd["spec"]["names"].update(changes)


def version(**changes: Any) -> Edit:
    return lambda crd: crd["spec"]["versions"][0].update(changes)


def second_version(**changes: Any) -> Edit:
    def edit(crd: dict[str, Any]) -> None:
        other = copy.deepcopy(crd["spec"]["versions"][0]) | {"name": "v2", "storage": False}
        crd["spec"]["versions"].append(other | changes)

    return edit


SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def scale(**changes: Any) -> Edit:
    return version(subresources={"scale": SCALE | changes})


def column(**changes: Any) -> Edit:
    return version(additionalPrinterColumns=[{"name": "N", "type": "string", "jsonPath": ".spec.color"} | changes])


def selectable(*paths: str) -> Edit:
    return version(selectableFields=[{"jsonPath": path} for path in paths])
