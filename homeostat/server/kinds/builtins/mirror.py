"""Mirror Pods: a kubelet creates one for each Pod that it runs from a file, so that the API shows it. Pure."""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import struct, text

MIRROR = "kubernetes.io/config.mirror"
"""The annotation that makes a Pod a mirror Pod."""
_FIELD = f"metadata.annotations[{MIRROR}]"


def is_mirror(pod: JsonObject) -> bool:
    return MIRROR in struct(pod, "metadata", "annotations")


def check_mirror(pod: JsonObject) -> list[Cause]:
    """A mirror Pod has a Node from the start."""
    if not is_mirror(pod) or text(struct(pod, "spec"), "nodeName"):
        return []
    value = pod["metadata"]["annotations"][MIRROR]
    return [invalid(_FIELD, value, "must set spec.nodeName if mirror pod annotation is set")]


def check_mirror_update(new: JsonObject, old: JsonObject) -> list[Cause]:
    """No Pod becomes a mirror Pod, or another one."""
    after, before = (struct(each, "metadata", "annotations").get(MIRROR) for each in (new, old))
    if after == before:
        return []
    change = "add" if before is None else "remove or update"
    return [forbidden(_FIELD, f"may not {change} mirror pod annotation"), *check_mirror(new)]
