"""Background work of a plane: timers, expiry of Events, housekeeping, operators.

Where replicas share a database, one replica does each job: the holder of its Lease. Jobs with different Leases may run
on different replicas, which spreads the load.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING

from homeostat.edge.imports import import_in_thread
from homeostat.operators.catalog import OURS, find_operator
from homeostat.plane.admission import expect_guards, put_guards, reserve_writes
from homeostat.plane.computing import serve_computed
from homeostat.plane.plane import Plane
from homeostat.runtime.supervisor import Figures, Supervisor
from homeostat.runtime.telemetry.tracing import Tracer
from homeostat.server.access.tokens.service_account import LIBRARY
from homeostat.server.pki.directory import Pki
from homeostat.store.base import StoreError

if TYPE_CHECKING:
    from homeostat.runtime.setup import Setup

log = logging.getLogger(__name__)

OPERATORS_GRACE_S = 2.0
LEASES = "kube-system"
_TICK_S = 1.0
_EXPIRE_EVERY_S = 60.0


async def run_timers(plane: Plane) -> None:
    while True:
        await asyncio.sleep(_TICK_S)
        plane.app.deadlines.tick(asyncio.get_running_loop().time())
        await plane.watches.tick()


async def run_housekeeping(plane: Plane, pki: Pki) -> None:
    """Until cancelled. It is imported here, and in a thread: a start does not need it."""
    housekeeping = await asyncio.to_thread(import_module, "homeostat.operators.housekeeping")

    async def sign(namespace: str, secret: str, account: str, uid: str) -> str:
        await import_in_thread(LIBRARY)
        return plane.accounts.mint_for_secret(namespace, secret, account, uid)

    async def jobs() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_expire(plane))
            if "housekeeping" in plane.settings.operators:
                keepers = housekeeping.run(
                    plane.client,
                    authority=pki.authority.read_text(),
                    sign=sign,
                    service_cidr=plane.settings.service_cidr,
                )
                tasks.create_task(keepers)

    if plane.settings.is_shared:
        await _run_elected(plane, "homeostat-housekeeping", jobs)
    else:
        await jobs()


def host_operators(plane: Plane, tracer: Tracer) -> list[Supervisor]:
    directory = plane.settings.data / "operators"
    if directory.is_dir():
        # Earlier versions created it open to other users of the machine.
        directory.chmod(0o700)
    names = sorted(plane.settings.operators - {"housekeeping"})
    # Also of those that `homeostat run` may run beside this plane.
    for name in {*OURS, *names}:
        reserve_writes(plane.admission.reserved, find_operator(name))
    plane.supervisors.extend(_supervisor(plane, name, tracer) for name in names)
    plane.app.metrics.include(Figures(plane.supervisors, plane.elections))
    return plane.supervisors


def _supervisor(plane: Plane, name: str, tracer: Tracer) -> Supervisor:
    description, guards = find_operator(name), plane.admission.guards

    def ready(setup: Setup) -> None:
        put_guards(guards, setup)
        serve_computed(plane.app.backend.registry, setup)

    supervisor = Supervisor(
        plane.client,
        description,
        grace_s=OPERATORS_GRACE_S,
        leases=LEASES if plane.settings.is_shared else "",
        directory=plane.settings.data / "operators",
        environment=plane.settings.environment,
        ready=ready,
        tracer=tracer,
        is_paused=plane.are_effects_paused,
        is_held=True,
    )
    expect_guards(guards, supervisor)
    return supervisor


async def _run_elected(plane: Plane, lease: str, work: Callable[[], Awaitable[None]]) -> None:
    # Only replicas need it.
    from homeostat.runtime.leader import Election, LeadershipLostError, unique_identity

    election = Election(plane.client, LEASES, lease, unique_identity())
    plane.elections[lease] = lambda: election.is_leading
    while True:
        try:
            await election.run(work)
        except LeadershipLostError as error:
            log.warning(
                "failed to renew lease; another replica may take over", extra={"lease": lease, "reason": str(error)}
            )


async def _expire(plane: Plane) -> None:
    events = plane.app.backend.registry.find("", "v1", "events")
    assert events is not None
    while True:
        await asyncio.sleep(_EXPIRE_EVERY_S)
        try:
            from homeostat.server.expiry import expire_events

            await expire_events(plane.store, events, now=datetime.now(UTC))
        except StoreError as error:
            log.warning("failed to delete expired events", extra={"reason": str(error)})
