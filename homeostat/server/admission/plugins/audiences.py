"""The audiences for which a Pod needs tokens: those of its projected volumes, and of the CSI drivers of its volumes."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.kinds.builtins.members import struct, structs, text
from homeostat.store.base import Key, Store

_DRIVERS = "csidrivers.storage.k8s.io"


class MissingVolumeError(Exception):
    """An object on the way from a volume of the Pod to its CSI driver does not exist."""


def needs_audience(store: Store, pod: JsonObject, audience: str) -> bool:
    """Raises `MissingVolumeError` if no volume is known to need it, and an object is missing that could say more."""
    missing: list[str] = []
    for volume in structs(struct(pod, "spec"), "volumes"):
        if audience in _projected(volume):
            return True
        try:
            driver = _driver_of(store, pod, volume)
            if driver and audience in _requested(_read(store, Key(_DRIVERS, "", driver))):
                return True
        except MissingVolumeError as error:
            missing.append(str(error))
    if missing:
        raise MissingVolumeError(missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]")
    return False


def _projected(volume: JsonObject) -> Iterator[str]:
    for source in structs(struct(volume, "projected"), "sources"):
        if isinstance(token := source.get("serviceAccountToken"), dict):
            yield text(token, "audience")


def _requested(driver: JsonObject) -> Iterator[str]:
    for each in structs(struct(driver, "spec"), "tokenRequests"):
        yield text(each, "audience")


def _driver_of(store: Store, pod: JsonObject, volume: JsonObject) -> str:
    """Empty for a volume that has none."""
    claim = text(struct(volume, "persistentVolumeClaim"), "claimName")
    if struct(volume, "ephemeral", "volumeClaimTemplate"):
        claim = f"{pod['metadata']['name']}-{text(volume, 'name')}"
    if not claim:
        return text(struct(volume, "csi"), "driver")
    bound = _read(store, Key("persistentvolumeclaims", pod["metadata"]["namespace"], claim))
    name = text(struct(bound, "spec"), "volumeName")
    return text(struct(_read(store, Key("persistentvolumes", "", name)), "spec", "csi"), "driver")


_KINDS = {
    "persistentvolumeclaims": "persistentvolumeclaim",
    "persistentvolumes": "persistentvolume",
    _DRIVERS: "csidriver.storage.k8s.io",
}


def _read(store: Store, key: Key) -> JsonObject:
    record = store.get(key)
    if record is None:
        raise MissingVolumeError(f'{_KINDS[key.resource]} "{key.name}" not found')
    return decode_stored(record.value)
