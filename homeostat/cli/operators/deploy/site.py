"""The settings of a deployment: names, namespace, image and replicas. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat import __version__
from homeostat.objects.json import JsonObject

IMAGE: Final = f"homeostat:{__version__}"


class Site(msgspec.Struct, frozen=True, kw_only=True):
    name: str = "homeostat"
    """Name of the application; a label of every object."""
    namespace: str = "homeostat"
    image: str = IMAGE
    replicas: int = 2

    def labels(self, component: str) -> dict[str, str]:
        return {"app.kubernetes.io/name": self.name, "app.kubernetes.io/component": component}

    def metadata(self, name: str, component: str, *, is_namespaced: bool = True) -> JsonObject:
        place = {"namespace": self.namespace} if is_namespaced else {}
        return {"name": name, **place, "labels": self.labels(component)}

    def document(self, kind: str, name: str, component: str, **body: object) -> JsonObject:
        """`kind` includes the API version: `apps/v1/Deployment`."""
        api_version, _, kind = kind.rpartition("/")
        return {"apiVersion": api_version, "kind": kind, "metadata": self.metadata(name, component), **body}
