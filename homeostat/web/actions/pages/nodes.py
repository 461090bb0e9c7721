"""Which processes run operators, by the Leases that they hold. Pure.

A node is a process that holds at least one of our Leases. The leader is the holder of the Lease of `actions`, until
that expires.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time, parse_time

PREFIX: Final = "homeostat-"
NODE_PREFIX: Final = "homeostat-node-"
"""Leases that a process keeps to be listed (`heartbeat.py`)."""
HOSTNAME: Final = "homeostat.dev/hostname"
PID: Final = "homeostat.dev/pid"
"""Annotations of these Leases."""
LEADS: Final = "homeostat-actions"
_STEPS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str = ""
    lease_duration_seconds: int = 15
    acquire_time: str = ""
    renew_time: str = ""


class LeaseMetadata(msgspec.Struct, frozen=True):
    name: str
    annotations: dict[str, str] = {}


class Lease(msgspec.Struct, frozen=True):
    metadata: LeaseMetadata
    spec: LeaseSpec = LeaseSpec()

    @property
    def is_held(self) -> bool:
        return bool(self.spec.holder_identity and self.spec.renew_time and self.spec.acquire_time)

    @property
    def node(self) -> str:
        return node_of(self.spec.holder_identity)

    @property
    def renewed(self) -> datetime:
        return parse_time(self.spec.renew_time)

    @property
    def expires(self) -> datetime:
        return self.renewed + timedelta(seconds=self.spec.lease_duration_seconds)


class _List(msgspec.Struct, frozen=True):
    items: list[Lease]


_list = msgspec.json.Decoder(_List)


def read_leases(data: bytes) -> list[Lease]:
    return _list.decode(data).items


def nodes_body(leases: Iterable[Lease], *, identity: str, now: datetime) -> JsonObject:
    ours = [each for each in leases if each.metadata.name.startswith(PREFIX) and each.is_held]
    lock = next((each for each in ours if each.metadata.name == LEADS), None)
    leader = lock.node if lock is not None and lock.expires > now else ""
    here, names = node_of(identity), {each.node for each in ours}
    nodes = [_node(name, [each for each in ours if each.node == name], leader, now) for name in names]
    return {
        "this_instance_id": here,
        "this_instance_is_leader": bool(here) and here == leader,
        "leader_lock": _lock(lock, now) if lock is not None else None,
        "nodes": sorted(nodes, key=lambda each: (each["first_seen"], each["node_id"])),
    }


def alone_body(*, identity: str, hostname: str, pid: int, since: datetime, now: datetime) -> JsonObject:
    """The answer of a process that leads without a Lease."""
    here = node_of(identity)
    node = {
        "node_id": here,
        "hostname": hostname,
        "pid": str(pid),
        "status": "Ready",
        "role": "leader",
        "age": age(now - since),
        "first_seen": format_time(since),
        "last_heartbeat": format_time(now),
    }
    return {"this_instance_id": here, "this_instance_is_leader": True, "leader_lock": None, "nodes": [node]}


def node_of(identity: str) -> str:
    """The part of an identity that all candidates of a process share."""
    return identity.partition("/")[0]


def _node(name: str, leases: list[Lease], leader: str, now: datetime) -> JsonObject:
    first = min(parse_time(each.spec.acquire_time) for each in leases)
    annotations = {key: value for each in leases for key, value in each.metadata.annotations.items()}
    return {
        "node_id": name,
        "hostname": annotations.get(HOSTNAME) or name.rpartition("_")[0],
        "pid": annotations.get(PID, ""),
        "status": "Ready" if any(each.expires > now for each in leases) else "NotReady",
        "role": "leader" if name == leader else "follower",
        "age": age(now - first),
        "first_seen": format_time(first),
        "last_heartbeat": format_time(max(parse_time(each.spec.renew_time) for each in leases)),
    }


def _lock(lock: Lease, now: datetime) -> JsonObject:
    return {
        "holder_id": lock.node,
        "acquired_at": format_time(parse_time(lock.spec.acquire_time)),
        "expires_at": format_time(lock.expires),
        "is_valid": lock.expires > now,
    }


def age(span: timedelta) -> str:
    """Returns the two largest units, without a second one that is 0: `3m20s`, `10m`, `3d4h`."""
    left = max(int(span.total_seconds()), 0)
    for at, (unit, seconds) in enumerate(_STEPS[:-1]):
        if left >= seconds:
            smaller, length = _STEPS[at + 1]
            rest = left % seconds // length
            return f"{left // seconds}{unit}{f'{rest}{smaller}' if rest else ''}"
    return f"{left}s"
