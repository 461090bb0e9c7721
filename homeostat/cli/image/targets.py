"""The Deployments that a command names, and what the operator remembers of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import click

from homeostat.cli.console.connection import Connection
from homeostat.cli.console.failure import Failure
from homeostat.client.projection import Projection
from homeostat.client.requests import Selection
from homeostat.objects.declared import readable_status
from homeostat.objects.errors import ForbiddenError, NotFoundError
from homeostat.objects.kind import DEPLOYMENT, Kind
from homeostat.objects.views.workload import Workload
from homeostat.operators.images.api import IMAGE_UPDATE, ImageUpdate, ImageUpdateStatus
from homeostat.operators.images.engine.annotations import Tracked, label_of, tracked_of, untracked_problem
from homeostat.operators.images.engine.workloads import ALL, CRON_JOB, CronJob
from homeostat.operators.images.status import record_of
from homeostat.operators.images.world import Record


class Known:
    """The ImageUpdates of a cluster, by namespace and name."""

    def __init__(self, updates: Sequence[ImageUpdate]) -> None:
        self._updates = {(each.metadata.namespace, each.metadata.name): each for each in updates}

    def find(self, tracked: Tracked) -> ImageUpdate | None:
        return self._updates.get((tracked.namespace, tracked.record))

    def status(self, tracked: Tracked) -> ImageUpdateStatus:
        found = self.find(tracked)
        return ImageUpdateStatus() if found is None else readable_status(found, ImageUpdateStatus)

    def of(self, tracked: Tracked) -> Record:
        found, status = self.find(tracked), self.status(tracked)
        pin = found.spec.pin if found is not None else None
        return record_of(status, pin)


async def read_known(connection: Connection, namespace: str = "", *, is_required: bool = False) -> Known:
    """Nothing where the operator was never installed; `Failure` if it is required."""
    found = Projection(connection.client, IMAGE_UPDATE.kind, ImageUpdate).list(Selection(namespace))
    try:
        return Known([each async for each in found])
    except NotFoundError:
        if is_required:
            raise Failure(
                "the server has no ImageUpdates, so the operator images does not run there; install it with: "
                "homeostat deploy --operators images | kubectl apply --server-side -f -"
            ) from None
        return Known([])


class Found(NamedTuple):
    tracked: list[Tracked]
    problems: dict[str, str]
    """By `NAMESPACE/NAME`: why workloads that lack one annotation are not tracked."""


async def find_deployments(connection: Connection, namespace: str = "") -> Found:
    found = Found([], {})
    for kind in ALL:
        try:
            workloads = await _workloads(connection, kind, namespace)
        except (NotFoundError, ForbiddenError):
            # The server has no such kind, or the caller may not read it: those of others are still worth listing.
            if kind == DEPLOYMENT:
                raise
            continue
        for each in workloads:
            if (tracked := tracked_of(each, kind)) is not None:
                found.tracked.append(tracked)
            elif problem := untracked_problem(each):
                found.problems[f"{each.metadata.namespace}/{label_of(kind, each.metadata.name)}"] = problem
    return found


async def _workloads(connection: Connection, kind: Kind, namespace: str) -> list[Workload]:
    selection = Selection(namespace)
    if kind == CRON_JOB:
        return [each.workload async for each in Projection(connection.client, kind, CronJob).list(selection)]
    return [each async for each in Projection(connection.client, kind, Workload).list(selection)]


async def named_deployments(connection: Connection, names: Sequence[str]) -> list[Tracked]:
    """Those that are named, or all that are tracked; `Failure` for one that is not."""
    found = await find_deployments(connection)
    tracked = {each.key: each for each in found.tracked}
    if not names:
        return list(tracked.values())
    keys = [name if "/" in name else f"{connection.namespace}/{name}" for name in names]
    for key in keys:
        if key not in tracked:
            problem = found.problems.get(key) or (
                "it does not exist, or lacks required annotations of gitops.operator; "
                "list those that are with: homeostat image status"
            )
            raise Failure(f"{key} is not tracked: {problem}")
    return [tracked[key] for key in dict.fromkeys(keys)]


names_argument = click.argument("names", nargs=-1, required=True, metavar="NAMESPACE/NAME...")
