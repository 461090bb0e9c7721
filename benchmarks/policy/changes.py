"""Pods that change at a steady rate, and how soon the status of their policy shows it.

The first Pod of each namespace becomes worse in one round and better in the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from benchmarks.bench import Bench
from benchmarks.runtime.changes import Change, Changes, Statuses, measure_changes
from homeostat.client.base import Client
from homeostat.operators.policy.api import DEVOPS_POLICY

_PATCH = "application/json-patch+json"
_STATUSES = Statuses(
    DEVOPS_POLICY.kind.path(""),
    key=lambda policy: str(policy["metadata"]["namespace"]),
    shown=lambda policy: policy["status"]["violations"],
)


class Rounds(NamedTuple):
    """The changes are an even number of rounds through the namespaces, so that the next try begins where one did."""

    namespaces: int
    changes: int
    per_s: int


async def measure_rounds(bench: Bench, client: Client, pid: int, rounds: Rounds) -> Changes:
    """`pid` is the operator's."""
    found, _ = await client.list(_STATUSES.path)
    usual = {_STATUSES.key(each): _STATUSES.shown(each) for each in found}
    changes = list(_changes(bench, rounds, usual))
    return await measure_changes(bench, client, pid, _STATUSES, changes, per_s=rounds.per_s)


def _changes(bench: Bench, rounds: Rounds, usual: dict[str, int]) -> Iterator[Change]:
    for at in range(rounds.changes):
        turn, number = divmod(at, rounds.namespaces)
        is_worse, namespace = turn % 2 == 0, namespace_of(number)
        image = "web:latest" if is_worse else "web:v1"
        patch = msgspec.json.encode([{"op": "replace", "path": "/spec/containers/0/image", "value": image}])
        path = f"/api/v1/namespaces/{namespace}/pods/{name_of(number)}"
        yield Change(namespace, usual[namespace] + is_worse, bench.target.request("PATCH", path, patch, type=_PATCH))


def namespace_of(number: int) -> str:
    return f"team-{number:03d}"


def name_of(number: int) -> str:
    return f"web-{number:06d}"
