"""The APIServices of the built-in groups, with the priorities by which Kubernetes orders groups and versions. Pure.

Housekeeping creates those of custom groups. A plane does not forward requests to other API servers, so an APIService
with a `service` is stored and is never available.
"""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.json import JsonObject

COLLECTION = "/apis/apiregistration.k8s.io/v1/apiservices"
_PRIORITIES = """
v1 - 18000 1
v1 apps 17800 15
v1 events.k8s.io 17750 15
v1 authentication.k8s.io 17700 15
v1 authorization.k8s.io 17600 15
v1 autoscaling 17500 15
v2 autoscaling 17500 30
v1 batch 17400 15
v1 certificates.k8s.io 17300 15
v1 networking.k8s.io 17200 15
v1 policy 17100 15
v1 rbac.authorization.k8s.io 17000 15
v1 storage.k8s.io 16800 15
v1 admissionregistration.k8s.io 16700 15
v1beta1 admissionregistration.k8s.io 16700 12
v1 apiextensions.k8s.io 16700 15
v1 scheduling.k8s.io 16600 15
v1 coordination.k8s.io 16500 15
v1 node.k8s.io 16300 15
v1 discovery.k8s.io 16200 15
v1 resource.k8s.io 16200 21
v1 flowcontrol.apiserver.k8s.io 16100 21
"""


def built_in_services() -> Iterator[JsonObject]:
    for line in _PRIORITIES.strip().splitlines():
        version, word, group_priority, version_priority = line.split()
        group = "" if word == "-" else word
        spec: JsonObject = {"group": group} if group else {}
        spec |= {
            "version": version,
            "groupPriorityMinimum": int(group_priority),
            "versionPriority": int(version_priority),
        }
        metadata = {
            "name": f"{version}.{group}",
            "labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"},
        }
        yield {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}
