"""Where and how operators are to run in a cluster: what their manifests are made of. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat import __version__
from homeostat.objects.json import JsonObject

IMAGE: Final = f"homeostat:{__version__}"


class Site(msgspec.Struct, frozen=True, kw_only=True):
    name: str = "homeostat"
    """Of the application, on every object."""
    namespace: str = "homeostat"
    image: str = IMAGE
    replicas: int = 2

    def labels(self, component: str) -> dict[str, str]:
        return {"app.kubernetes.io/name": self.name, "app.kubernetes.io/component": component}

    def metadata(self, name: str, component: str, *, is_namespaced: bool = True) -> JsonObject:
        place = {"namespace": self.namespace} if is_namespaced else {}
        return {"name": name, **place, "labels": self.labels(component)}

    def document(self, kind: str, name: str, component: str, **body: object) -> JsonObject:
        """`kind` with its API version before it: `apps/v1/Deployment`."""
        api_version, _, kind = kind.rpartition("/")
        return {"apiVersion": api_version, "kind": kind, "metadata": self.metadata(name, component), **body}
