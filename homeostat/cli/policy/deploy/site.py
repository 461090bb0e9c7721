"""Where and how the policy operator is to run in a cluster: what its manifests are made of. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat import __version__
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.admission.webhook_configuration import SERVICE

NAME: Final = "kube-devops"
OPERATOR: Final = f"{NAME}-operator"
WEBHOOK: Final = SERVICE
TLS_SECRET: Final = f"{SERVICE}-tls"
METRICS_PORT: Final = 9090


class Site(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str = NAME
    image: str = f"homeostat:{__version__}"
    replicas: int = 2
    can_enforce: bool = True
    """Whether the operator may change workloads; without it, policies that enforce can only tell."""


def labels_of(component: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": component}


def metadata_of(name: str, component: str, namespace: str = "") -> JsonObject:
    """Without a namespace for what has none."""
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "labels": labels_of(component)}
