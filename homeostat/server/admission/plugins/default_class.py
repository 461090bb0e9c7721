"""The default StorageClass and the default IngressClass: a new claim or Ingress that says nothing of a class gets it.

The classes are read at each commit that changes one, so a claim costs one look-up.
"""

from __future__ import annotations

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.kinds.builtins.members import struct, text
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

STORAGE_CLASSES = "storageclasses.storage.k8s.io"
INGRESS_CLASSES = "ingressclasses.networking.k8s.io"
_MARKS = {
    STORAGE_CLASSES: (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ),
    INGRESS_CLASSES: ("ingressclass.kubernetes.io/is-default-class",),
}
_LEGACY_STORAGE, _LEGACY_INGRESS = "volume.beta.kubernetes.io/storage-class", "kubernetes.io/ingress.class"


class DefaultClass:
    def __init__(self, resource: str) -> None:
        self._resource, self._marks = resource, _MARKS[resource]
        self._created: dict[str, str] = {}
        """When each default class was created, by name."""
        self._name = ""

    async def follow(self, store: Store) -> None:
        await follow(store, Scope(self._resource), put=self._put, drop=self._drop)

    def _drop(self, record: Record) -> None:
        self._created.pop(record.key.name, None)
        self._choose()

    def _put(self, record: Record) -> None:
        metadata, name = struct(decode_stored(record.value), "metadata"), record.key.name
        self._created.pop(name, None)
        if any(struct(metadata, "annotations").get(each) == "true" for each in self._marks):
            self._created[name] = text(metadata, "creationTimestamp")
        self._choose()

    def _choose(self) -> None:
        """The newest; of several of one second the first by name."""
        newest = max(self._created.values(), default="")
        self._name = min((name for name, created in self._created.items() if created == newest), default="")

    def complete_claim(self, claim: JsonObject) -> None:
        """Set the class of a new claim, in place; an empty one is the wish for none."""
        self._complete(claim, "storageClassName", _LEGACY_STORAGE)

    def complete_ingress(self, ingress: JsonObject) -> None:
        """Set the class of a new Ingress, in place."""
        self._complete(ingress, "ingressClassName", _LEGACY_INGRESS)

    def _complete(self, obj: JsonObject, member: str, legacy: str) -> None:
        spec = obj.get("spec")
        if not self._name or not isinstance(spec, dict) or spec.get(member) is not None:
            return
        if legacy not in struct(obj, "metadata", "annotations"):
            spec[member] = self._name
