"""The fields of built-in kinds that a field selector may name, beside `metadata.name` and `metadata.namespace`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SELECTABLE: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "Pod"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    ("", "Event"): (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("", "Namespace"): ("status.phase",),
    ("", "Secret"): ("type",),
    ("", "Node"): ("spec.unschedulable",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("", "ReplicationController"): ("status.replicas",),
    ("batch", "Job"): ("status.successful",),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("spec.signerName",),
    ("resource.k8s.io", "ResourceSlice"): ("spec.driver", "spec.nodeName"),
    ("events.k8s.io", "Event"): (
        "reason",
        "regarding.kind",
        "regarding.name",
        "regarding.namespace",
        "reportingController",
        "type",
    ),
}
BOOLEANS: Final = frozenset({"spec.hostNetwork", "spec.unschedulable"})
"""Fields that are false where they are absent."""
