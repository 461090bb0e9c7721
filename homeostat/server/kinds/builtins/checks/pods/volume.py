"""What the volumes of a pod may look like, and which there are for containers to mount."""

from __future__ import annotations

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required
from homeostat.objects.identifiers import dns1123_label
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import numbered, struct, text
from homeostat.server.kinds.builtins.value import check_choice, check_quantity, check_required, is_integer

_MAX_MODE = 0o777
_MODE_RANGE = "must be a number between 0 and 0777 (octal), both inclusive"
# The required fields of each source.
_REQUIRED = {
    "secret": ("secretName",),
    "configMap": ("name",),
    "persistentVolumeClaim": ("claimName",),
    "hostPath": ("path",),
    "nfs": ("server", "path"),
    "csi": ("driver",),
    "iscsi": ("targetPortal", "iqn"),
    "cephfs": ("monitors",),
    "glusterfs": ("endpoints", "path"),
    "awsElasticBlockStore": ("volumeID",),
    "gcePersistentDisk": ("pdName",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "flexVolume": ("driver",),
    "image": ("reference",),
}
_SHORTEST_TOKEN_S = 600
_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_FILE_SOURCES = ("secret", "configMap", "downwardAPI", "projected")


def check_volumes(spec: JsonObject, path: str) -> tuple[set[str], list[Cause]]:
    """The names of the volumes, and what is wrong with them."""
    names: set[str] = set()
    causes: list[Cause] = []
    for at, volume in numbered(spec, "volumes", path):
        name = text(volume, "name")
        causes += check_required(volume, "name", at, dns1123_label)
        if name in names:
            causes.append(duplicate(f"{at}.name", name))
        names.add(name)
        causes += _check_source(volume, at)
    return names, causes


def _check_source(volume: JsonObject, path: str) -> list[Cause]:
    sources = [name for name, value in volume.items() if name != "name" and isinstance(value, dict)]
    if not sources:
        return [required(path, "must specify a volume type")]
    causes = [forbidden(f"{path}.{each}", "may not specify more than 1 volume type") for each in sources[1:]]
    name, source = sources[0], volume[sources[0]]
    at = f"{path}.{name}"
    causes += [required(f"{at}.{each}") for each in _REQUIRED.get(name, ()) if not source.get(each)]
    if name in _FILE_SOURCES:
        causes += _check_files(source, at)
        for each, projection in numbered(source, "sources", at):
            for kind in ("secret", "configMap"):
                causes += _check_files(struct(projection, kind), f"{each}.{kind}")
    elif name == "emptyDir" and check_quantity(source.get("sizeLimit"), f"{at}.sizeLimit"):
        causes.append(forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity"))
    elif name == "hostPath":
        causes += check_choice(source, "type", at, _PATH_TYPES)
    if name == "projected":
        causes += _check_tokens(source, at)
    if name == "hostPath" and ".." in text(source, "path").split("/"):
        causes.append(invalid(f"{at}.path", source["path"], "must not contain '..'"))
    return causes


def _check_tokens(source: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for at, projection in numbered(source, "sources", path):
        token = projection.get("serviceAccountToken")
        if not isinstance(token, dict):
            continue
        seconds, here = token.get("expirationSeconds"), f"{at}.serviceAccountToken.expirationSeconds"
        if is_integer(seconds) and token["expirationSeconds"] < _SHORTEST_TOKEN_S:
            causes.append(invalid(here, seconds, "may not specify a duration less than 10 minutes"))
        if not text(token, "path"):
            causes.append(required(f"{path}.path"))
    return causes


def _check_files(source: JsonObject, path: str) -> list[Cause]:
    causes = _check_mode(source, "defaultMode", path)
    for at, item in numbered(source, "items", path):
        causes += check_required(item, "key", at)
        file_path = text(item, "path")
        if not file_path:
            causes.append(required(f"{at}.path"))
        elif file_path.startswith("/"):
            causes.append(invalid(f"{at}.path", file_path, "must be a relative path"))
        elif ".." in file_path.split("/"):
            causes.append(invalid(f"{at}.path", file_path, "must not contain '..'"))
        causes += _check_mode(item, "mode", at)
    return causes


def _check_mode(source: JsonObject, name: str, path: str) -> list[Cause]:
    mode = source.get(name)
    if is_integer(mode) and not 0 <= source[name] <= _MAX_MODE:
        return [invalid(f"{path}.{name}", mode, _MODE_RANGE)]
    return []
