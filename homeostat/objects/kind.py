"""A kind of object: how it is named, and where its objects are on a server. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject

_STEPS = frozenset({".", ".."})
_is_plain = re.compile(r"[A-Za-z0-9._~-]*").fullmatch
"""Matches nearly all names; they need no quoting, and `quote` takes several times as long to find out."""


class Kind(msgspec.Struct, frozen=True):
    group: str
    version: str
    plural: str
    kind: str
    is_namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def title(self) -> str:
        """The name of the kind in messages about one object: `configmap`, `deployment.apps`."""
        return f"{self.kind.lower()}.{self.group}" if self.group else self.kind.lower()

    @property
    def full_name(self) -> str:
        """Kind and group without the version: `ConfigMap`, `Deployment.apps`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """The URL path of an object, or of the collection. No namespace means all namespaces."""
        if namespace in _STEPS or name in _STEPS:
            raise BadRequestError(f'"{name}" in namespace "{namespace}" is not a valid name of a {self.title}')
        parts = ["", "apis", self.group, self.version] if self.group else ["", "api", self.version]
        if self.is_namespaced and namespace:
            parts += ["namespaces", namespace if _is_plain(namespace) else quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            parts.append(name if _is_plain(name) else quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def new(self, name: str, **fields: Json) -> JsonObject:
        """A new object of this kind, to be created: `new("morning", spec={"text": "hello"})`."""
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name}, **fields}

    def words(self) -> set[str]:
        return {self.plural, self.singular, self.kind.lower(), *self.short_names} - {""}


NAMESPACE = Kind("", "v1", "namespaces", "Namespace", is_namespaced=False)
POD = Kind("", "v1", "pods", "Pod", is_namespaced=True)
SERVICE = Kind("", "v1", "services", "Service", is_namespaced=True)
CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap", is_namespaced=True)
SECRET = Kind("", "v1", "secrets", "Secret", is_namespaced=True)
EVENT = Kind("events.k8s.io", "v1", "events", "Event", is_namespaced=True)
LEASE = Kind("coordination.k8s.io", "v1", "leases", "Lease", is_namespaced=True)
DEPLOYMENT = Kind("apps", "v1", "deployments", "Deployment", is_namespaced=True)
STATEFUL_SET = Kind("apps", "v1", "statefulsets", "StatefulSet", is_namespaced=True)
DAEMON_SET = Kind("apps", "v1", "daemonsets", "DaemonSet", is_namespaced=True)
REPLICA_SET = Kind("apps", "v1", "replicasets", "ReplicaSet", is_namespaced=True)
JOB = Kind("batch", "v1", "jobs", "Job", is_namespaced=True)
CRON_JOB = Kind("batch", "v1", "cronjobs", "CronJob", is_namespaced=True)
DISRUPTION_BUDGET = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", is_namespaced=True)
DEFINITION = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", is_namespaced=False
)
