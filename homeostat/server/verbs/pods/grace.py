"""The grace period of a Pod's deletion: how long its containers have to stop.

A Pod on a Node is deleted in two steps, as in Kubernetes: the request sets the time at which the Pod should be gone,
and the kubelet deletes it, with a period of 0, when its containers have stopped. Where no kubelet runs nobody would
take the second step, so the Pod is deleted at once. A kubelet runs if the Node's Lease is renewed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.objects.time.timestamp import TimestampError, format_time, parse_time
from homeostat.server.kinds.builtins.members import integer, struct, text
from homeostat.server.request.call import Call
from homeostat.store.base import Key

_LEASES: Final = "leases.coordination.k8s.io"
_NODE_LEASES: Final = "kube-node-lease"
_LEASE_S: Final = 40
_LONGEST_S: Final = 10**9
"""Some thirty years: the time of a longer period could not be written."""
_ENDED: Final = frozenset({"Succeeded", "Failed"})


def is_pending(call: Call, pod: JsonObject, asked_s: int | None) -> bool:
    """Whether an earlier request has started the deletion and this one changes nothing: it may only shorten the
    period. `asked_s` is what the request says.
    """
    metadata = pod["metadata"]
    former_s = integer(metadata, "deletionGracePeriodSeconds")
    return former_s > 0 and _grace_s(call, pod, former_s if asked_s is None else asked_s) >= former_s


def set_grace(call: Call, pod: JsonObject, asked_s: int | None) -> None:
    """Set when the Pod should be gone, counted from the first request. In place."""
    metadata, begun = pod["metadata"], call.now()
    former_s = integer(metadata, "deletionGracePeriodSeconds")
    if "deletionTimestamp" in metadata:
        if not former_s:
            return
        begun = parse_time(text(metadata, "deletionTimestamp")) - _duration(former_s)
    grace_s = _grace_s(call, pod, asked_s)
    metadata["deletionTimestamp"] = format_time(begun + _duration(grace_s))
    metadata["deletionGracePeriodSeconds"] = grace_s


def _grace_s(call: Call, pod: JsonObject, asked_s: int | None) -> int:
    """0 if the Pod is deleted at once."""
    spec = struct(pod, "spec")
    given_s = integer(spec, "terminationGracePeriodSeconds") if asked_s is None else asked_s
    if not given_s or not text(spec, "nodeName") or text(struct(pod, "status"), "phase") in _ENDED:
        return 0
    return max(given_s, 1) if _has_kubelet(call, text(spec, "nodeName")) else 0


def _has_kubelet(call: Call, node: str) -> bool:
    record = call.store.get(Key(_LEASES, _NODE_LEASES, node))
    if record is None:
        return False
    spec = struct(decode_stored(record.value), "spec")
    try:
        renewed = parse_time(text(spec, "renewTime"))
    except TimestampError:
        return False
    return call.now() < renewed + _duration(integer(spec, "leaseDurationSeconds") or _LEASE_S)


def _duration(seconds: int) -> timedelta:
    return timedelta(seconds=min(seconds, _LONGEST_S))
