"""What the sources of volumes may look like, in Pods and in PersistentVolumes.

`check_sources` takes the first source that is given, in the order of Kubernetes, and refuses all others. Files that a
volume is made of are checked in `pods.files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from homeostat.objects.errors import Cause, forbidden, invalid, required
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, items, struct, text
from homeostat.server.kinds.builtins.value import check_choice, check_required, check_text

Check = Callable[[JsonObject, str], list[Cause]]

_MORE = "may not specify more than 1 volume type"
_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_MOST_PARTITIONS = 255
_LONGEST_DRIVER = 63
_LONGEST_TENANT = 64
_RESERVED = (".kubernetes.io", ".k8s.io")
_LONGEST_STORAGE_NAME = 1024
"""An iSCSI name has 223 bytes. The pattern of `iqn` is tried from every place, so a long text would take minutes."""
_QUALIFIED_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$"),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}


def source_of(holder: JsonObject, checks: Mapping[str, Check]) -> str:
    """The name of the source that counts: of several, the first in the order of Kubernetes."""
    given = _given(holder, checks)
    return given[0] if given else ""


def _given(holder: JsonObject, checks: Mapping[str, Check]) -> list[str]:
    found = [name for name, value in holder.items() if name in checks and isinstance(value, dict)]
    return found if len(found) < 2 else [name for name in checks if name in found]


def check_sources(holder: JsonObject, path: str, checks: Mapping[str, Check]) -> list[Cause]:
    """The causes of the volume's source; one that has none, or several, is invalid."""
    given = _given(holder, checks)
    if not given:
        return [required(path, "must specify a volume type")]
    first = given[0]
    causes = [forbidden(f"{path}.{_MISSPELT.get(each, each)}", _MORE) for each in given[1:]]
    return causes + checks[first](holder[first], f"{path}.{_NAMED.get(first, first)}")


_NAMED = {"gcePersistentDisk": "persistentDisk"}
"""Sources that Kubernetes names otherwise in its causes."""
_MISSPELT = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""And those that it names so where they are one too many."""


def needs(*names: str) -> Check:
    """A source of which these fields must be set."""

    def check(source: JsonObject, path: str) -> list[Cause]:
        return [required(f"{path}.{each}") for each in names if not source.get(each)]

    return check


def check_no_steps_back(value: str, path: str) -> list[Cause]:
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def check_descending(value: str, path: str) -> list[Cause]:
    """A relative path that stays below where it starts."""
    causes = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return causes + check_no_steps_back(value, path)


def _check_host_path(source: JsonObject, path: str) -> list[Cause]:
    if not text(source, "path"):
        return [required(f"{path}.path")]
    causes = check_no_steps_back(text(source, "path"), f"{path}.path")
    return causes + check_choice(source, "type", path, _PATH_TYPES)


def check_local(source: JsonObject, path: str) -> list[Cause]:
    if not text(source, "path"):
        return [required(f"{path}.path")]
    return check_no_steps_back(text(source, "path"), f"{path}.path")


def _check_repository(source: JsonObject, path: str) -> list[Cause]:
    causes = check_required(source, "repository", path)
    return causes + check_descending(text(source, "directory"), f"{path}.directory")


def _check_disk(member: str) -> Check:
    def check(source: JsonObject, path: str) -> list[Cause]:
        causes = check_required(source, member, path)
        partition = integer(source, "partition")
        if not 0 <= partition <= _MOST_PARTITIONS:
            message = f"must be between 0 and {_MOST_PARTITIONS}, inclusive"
            causes.append(invalid(f"{path}.partition", partition, message))
        return causes

    return check


def _check_nfs(source: JsonObject, path: str) -> list[Cause]:
    causes = needs("server", "path")(source, path)
    if not text(source, "path").startswith("/"):
        causes.append(invalid(f"{path}.path", text(source, "path"), "must be an absolute path"))
    return causes


def _check_lun(lun: int, path: str) -> list[Cause]:
    return [] if 0 <= lun <= 255 else [invalid(path, lun, "must be between 0 and 255, inclusive")]


def _check_iscsi(source: JsonObject, path: str) -> list[Cause]:
    causes = check_required(source, "targetPortal", path)
    if text(source, "iqn"):
        causes += _check_storage_name(text(source, "iqn"), f"{path}.iqn")
    else:
        causes.append(required(f"{path}.iqn"))
    causes += _check_lun(integer(source, "lun"), f"{path}.lun")
    is_authenticated = source.get("chapAuthDiscovery") is True or source.get("chapAuthSession") is True
    if is_authenticated and source.get("secretRef") is None:
        causes.append(required(f"{path}.secretRef"))
    if isinstance(initiator := source.get("initiatorName"), str):
        causes += _check_storage_name(initiator, f"{path}.initiatorname")
    return causes


def _check_storage_name(name: str, path: str) -> list[Cause]:
    pattern = _QUALIFIED_NAMES.get(name[:3])
    if pattern is None:
        return [invalid(path, name, "must be valid format starting with iqn, eui, or naa")]
    is_valid = len(name) <= _LONGEST_STORAGE_NAME and pattern.search(name)
    return [] if is_valid else [invalid(path, name, "must be valid format")]


def check_persistent_iscsi(source: JsonObject, path: str) -> list[Cause]:
    causes = _check_iscsi(source, path)
    if isinstance(reference := source.get("secretRef"), dict):
        causes += check_required(reference, "name", f"{path}.secretRef")
    return causes


def _check_flocker(source: JsonObject, path: str) -> list[Cause]:
    name, uid = text(source, "datasetName"), text(source, "datasetUUID")
    causes: list[Cause] = []
    if not name and not uid:
        causes.append(required(path, "one of datasetName and datasetUUID is required"))
    elif name and uid:
        message = "datasetName and datasetUUID can not be specified simultaneously"
        causes.append(invalid(path, "resource", message))
    if "/" in name:
        causes.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return causes


def _check_cinder(source: JsonObject, path: str) -> list[Cause]:
    return check_required(source, "volumeID", path) + _check_secret(source, path, "name")


def _check_persistent_cinder(source: JsonObject, path: str) -> list[Cause]:
    return check_required(source, "volumeID", path) + _check_secret(source, path, "name", "namespace")


def _check_secret(source: JsonObject, path: str, *names: str) -> list[Cause]:
    reference = source.get("secretRef")
    return needs(*names)(reference, f"{path}.secretRef") if isinstance(reference, dict) else []


def _check_quobyte(source: JsonObject, path: str) -> list[Cause]:
    registry, causes = text(source, "registry"), []
    message = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        causes.append(required(f"{path}.registry", message))
    elif len(text(source, "tenant")) > _LONGEST_TENANT:
        told = f"must be a UUID and may not exceed a length of {_LONGEST_TENANT} characters"
        causes.append(required(f"{path}.tenant", told))
    elif not all(_is_address(each) for each in registry.split(",")):
        causes.append(invalid(f"{path}.registry", registry, message))
    return causes + check_required(source, "volume", path)


def _is_address(pair: str) -> bool:
    """Whether it is `host:port`, the host in brackets if it has colons itself."""
    return re.fullmatch(r"(\[[^][]*\]|[^][:]*):[^][:]*", pair) is not None


def _check_channel(source: JsonObject, path: str) -> list[Cause]:
    names, ids, at = items(source, "targetWWNs"), items(source, "wwids"), f"{path}.targetWWNs"
    causes: list[Cause] = []
    if not names and not ids:
        causes.append(required(at, "must specify either targetWWNs or wwids, but not both"))
    elif names and ids:
        causes.append(invalid(at, names, "targetWWNs and wwids can not be specified simultaneously"))
    if names and source.get("lun") is None:
        causes.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif names:
        causes += _check_lun(integer(source, "lun"), f"{path}.lun")
    return causes


def _check_flex(source: JsonObject, path: str) -> list[Cause]:
    causes = check_required(source, "driver", path)
    for name in struct(source, "options"):
        if f".{name.partition('/')[0].lower()}".endswith(_RESERVED):
            message = "kubernetes.io and k8s.io namespaces are reserved"
            causes.append(invalid(f"{path}.options[{name}]", name, message))
    return causes


def _check_azure_disk(source: JsonObject, path: str) -> list[Cause]:
    causes = needs("diskName", "diskURI")(source, path)
    causes += check_choice(source, "cachingMode", path, ("None", "ReadOnly", "ReadWrite"))
    causes += check_choice(source, "kind", path, ("Dedicated", "Managed", "Shared"))
    start = "/subscriptions/" if text(source, "kind") == "Managed" else "https://"
    if source.get("kind") is not None and not text(source, "diskURI").startswith(start):
        message = f"Unsupported value: it must start with {start}"
        causes.append(Cause("FieldValueNotSupported", message, f"{path}.diskURI"))
    return causes


def _check_persistent_azure_file(source: JsonObject, path: str) -> list[Cause]:
    causes = needs("secretName", "shareName")(source, path)
    return causes + ([required(f"{path}.secretNamespace")] if source.get("secretNamespace") == "" else [])


def _check_persistent_gluster(source: JsonObject, path: str) -> list[Cause]:
    causes = needs("endpoints", "path")(source, path)
    if isinstance(namespace := source.get("endpointsNamespace"), str):
        causes += check_text(namespace, f"{path}.endpointsNamespace", dns1123_label)[:1]
    return causes


def _check_storage_os(*names: str) -> Check:
    def check(source: JsonObject, path: str) -> list[Cause]:
        causes = check_required(source, "volumeName", path, dns1123_label)
        if namespace := text(source, "volumeNamespace"):
            causes += check_text(namespace, f"{path}.volumeNamespace", dns1123_label)
        return causes + _check_secret(source, path, *names)

    return check


def _check_driver(source: JsonObject, path: str) -> list[Cause]:
    driver, at = text(source, "driver"), f"{path}.driver"
    causes = [] if driver else [required(at)]
    if len(driver) > _LONGEST_DRIVER:
        causes.append(Cause("FieldValueTooLong", f"Too long: may not be more than {_LONGEST_DRIVER} bytes", at))
    return causes + check_text(driver.lower(), at, dns1123_subdomain)


def _check_csi(source: JsonObject, path: str) -> list[Cause]:
    causes = _check_driver(source, path)
    if isinstance(reference := source.get("nodePublishSecretRef"), dict):
        if name := text(reference, "name"):
            causes += check_text(name, f"{path}.name", dns1123_subdomain)
        else:
            causes.append(required(f"{path}.nodePublishSecretRef.name"))
    return causes


_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _check_persistent_csi(source: JsonObject, path: str) -> list[Cause]:
    causes = _check_driver(source, path) + check_required(source, "volumeHandle", path)
    for name in _SECRETS:
        if isinstance(reference := source.get(name), dict):
            causes += check_required(reference, "name", f"{path}.{name}", dns1123_subdomain)
            causes += check_required(reference, "namespace", f"{path}.{name}", dns1123_label)
    return causes


SOURCES: dict[str, Check] = {
    "hostPath": _check_host_path,
    "gitRepo": _check_repository,
    "gcePersistentDisk": _check_disk("pdName"),
    "awsElasticBlockStore": _check_disk("volumeID"),
    "nfs": _check_nfs,
    "iscsi": _check_iscsi,
    "glusterfs": needs("endpoints", "path"),
    "flocker": _check_flocker,
    "persistentVolumeClaim": needs("claimName"),
    "rbd": needs("monitors", "image"),
    "cinder": _check_cinder,
    "cephfs": needs("monitors"),
    "quobyte": _check_quobyte,
    "fc": _check_channel,
    "flexVolume": _check_flex,
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": _check_azure_disk,
    "storageos": _check_storage_os("name"),
    "scaleIO": needs("gateway", "system", "volumeName"),
    "csi": _check_csi,
}
"""Sources of Pods that name something outside; those that hold files are in `pods.volume`."""

PERSISTENT: dict[str, Check] = {
    **{name: SOURCES[name] for name in ("hostPath", "gcePersistentDisk", "awsElasticBlockStore")},
    "glusterfs": _check_persistent_gluster,
    **{name: SOURCES[name] for name in ("flocker", "nfs", "rbd", "quobyte", "cephfs")},
    "iscsi": check_persistent_iscsi,
    "cinder": _check_persistent_cinder,
    **{name: SOURCES[name] for name in ("fc", "flexVolume")},
    "azureFile": _check_persistent_azure_file,
    **{
        name: SOURCES[name]
        for name in ("vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO")
    },
    "local": check_local,
    "storageos": _check_storage_os("name", "namespace"),
    "csi": _check_persistent_csi,
}
"""Sources of PersistentVolumes, in the order of Kubernetes."""
