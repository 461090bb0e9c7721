"""The objects that a Pod refers to by name, in its own namespace. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import struct, structs, text

ENFORCED: Final = "kubernetes.io/enforce-mountable-secrets"
"""The annotation of a service account whose Pods may refer only to the Secrets that it lists."""
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
REFERRING = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
"""Volumes with a `secretRef`, of Pods and of PersistentVolumes."""


def secrets_of(spec: JsonObject) -> Iterator[str]:
    """The names of the Secrets of a Pod's spec, some of them twice."""
    for each in structs(spec, "imagePullSecrets"):
        yield text(each, "name")
    yield from _variables(spec, "secret")
    for volume in structs(spec, "volumes"):
        yield text(struct(volume, "secret"), "secretName")
        yield text(struct(volume, "azureFile"), "secretName")
        yield text(struct(volume, "csi", "nodePublishSecretRef"), "name")
        for kind in REFERRING:
            yield text(struct(volume, kind, "secretRef"), "name")
        for source in structs(struct(volume, "projected"), "sources"):
            yield text(struct(source, "secret"), "name")


def config_maps_of(spec: JsonObject) -> Iterator[str]:
    """The names of the ConfigMaps of a Pod's spec, some of them twice."""
    yield from _variables(spec, "configMap")
    for volume in structs(spec, "volumes"):
        yield text(struct(volume, "configMap"), "name")
        for source in structs(struct(volume, "projected"), "sources"):
            yield text(struct(source, "configMap"), "name")


def _variables(spec: JsonObject, kind: str) -> Iterator[str]:
    """What environment variables of the containers refer to; `kind` as it begins the fields: `secretRef`."""
    for group in CONTAINER_LISTS:
        for container in structs(spec, group):
            for each in structs(container, "envFrom"):
                yield text(struct(each, f"{kind}Ref"), "name")
            for each in structs(container, "env"):
                yield text(struct(each, "valueFrom", f"{kind}KeyRef"), "name")
