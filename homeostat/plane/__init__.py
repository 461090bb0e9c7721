"""The embedded control plane: store, server and in-process client in one object.

It is the only package that imports both the server half and the controller half.

async with open_plane(Settings(data=Path("data"))) as plane:
    print(plane.url)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from homeostat.plane.assembly import assemble
from homeostat.plane.background import OPERATORS_GRACE_S, host_operators, run_housekeeping, run_timers
from homeostat.plane.bootstrap import bootstrap, bootstrap_user_roles
from homeostat.plane.credentials import pki_of, prepare_credentials, renew_credentials, write_kubeconfig
from homeostat.plane.faces import faces_served
from homeostat.plane.own_service import publish_own_service
from homeostat.plane.plane import Plane
from homeostat.plane.settings import OPERATORS, Settings
from homeostat.plane.storage import PlaneStore, open_store
from homeostat.runtime.faces.listeners import FaceChoice, FaceError, Place
from homeostat.runtime.supervisor import Supervisor
from homeostat.runtime.telemetry.tracing import OFF, Tracer
from homeostat.server.pki.directory import PkiError, server_context
from homeostat.server.pki.first_credentials import IssuedAhead
from homeostat.server.pki.private_file import make_private_directory
from homeostat.store.base import StoreError

__all__ = ["OPERATORS", "FaceChoice", "FaceError", "Place", "Plane", "Settings", "open_plane"]

_KINDS_WITHIN_S = 5.0


@asynccontextmanager
async def open_plane(
    settings: Settings, *, tracer: Tracer = OFF, ahead: IssuedAhead | None = None
) -> AsyncIterator[Plane]:
    """Run a plane until the block ends; then close its watches and finish running requests.

    A first start takes the credentials that are issued `ahead`, if there are any, rather than issue them itself.
    `StoreError` if the store cannot be opened, and if it is lost for good: the caller starts the plane again.
    `FaceError` if faces cannot be served as configured.
    """
    make_private_directory(settings.data)
    store = await open_store(settings)
    try:
        if settings.resumes_effects and store.is_restored:
            await store.forget_restore()
        # Only with the store's lock: a start that is refused must not renew the certificates of the running plane. In a
        # thread, because a first start would spend most of this time waiting for the disk.
        prepared = asyncio.get_running_loop().run_in_executor(None, prepare_credentials, settings, ahead)
        try:
            async with _running(settings, prepared, store, tracer) as plane:
                yield plane
        finally:
            await asyncio.wait([prepared])
    except BaseExceptionGroup as group:
        from homeostat.runtime.control.failure_conditions import sole_error

        # Everything ends with a lost store, so its error is the one to report; likewise what keeps the plane, or a
        # face, from starting.
        lost = group.subgroup((StoreError, FaceError, PkiError, OSError))
        raise (group if lost is None else sole_error(lost)) from None
    finally:
        await store.close()


@asynccontextmanager
async def _running(
    settings: Settings, prepared: asyncio.Future[None], store: PlaneStore, tracer: Tracer
) -> AsyncIterator[Plane]:
    """`prepared` ends when the credentials are there."""
    plane = await assemble(settings, pki_of(settings), store)
    await bootstrap(store, plane.client)
    # Before the server listens: nothing that an operator guards may be written until the operator runs. Operators
    # install their definitions meanwhile, and begin to act when the ports are bound.
    supervisors = host_operators(plane, tracer)
    await bootstrap_user_roles(store, plane.client, [each.description for each in supervisors])
    # After bootstrap: an unreachable webhook must not keep a plane from starting.
    await plane.admission.follow(store)
    work = [
        store.maintain(),
        run_timers(plane),
        plane.tracking.run(plane.client),
        *(each.run() for each in supervisors),
    ]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each) for each in work]
        try:
            await asyncio.wait([prepared])
            prepared.result()
            async with _serving(plane, supervisors, partial(_begin, tasks, running)):
                yield plane
        finally:
            await asyncio.gather(*(each.stop() for each in supervisors))
            for task in running:
                task.cancel()
            # Clients inside the process stop before their watches do, so that they do not report the end as a failure.
            await asyncio.wait(running, timeout=OPERATORS_GRACE_S)
            plane.watches.close()
            await plane.server.stop(grace_s=3.0)
            await plane.conversions.close()
            await plane.admission.close()
            plane.app.authorizer.close()
            if plane.app.auditor is not None:
                await asyncio.to_thread(plane.app.auditor.log.close)


@asynccontextmanager
async def _serving(
    plane: Plane, supervisors: Sequence[Supervisor], begin: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
) -> AsyncIterator[None]:
    """Listen, and begin the work that needs the address. Returns when clients find what a plane has to offer."""
    settings, pki = plane.settings, pki_of(plane.settings)
    context = None if settings.is_open else server_context(pki)
    await plane.server.listen(settings.bind, settings.port, context)
    write_kubeconfig(plane, pki)
    published = begin(publish_own_service(plane))
    if context is not None:
        begin(renew_credentials(plane, pki, context))
    async with faces_served(plane, supervisors, context):
        await _installed(supervisors)
        await asyncio.wait([published], timeout=_KINDS_WITHIN_S)
        # Last, because nothing can make the start fail any more, and clients do not have to wait for this.
        for supervisor in supervisors:
            supervisor.begin()
        begin(run_housekeeping(plane, pki))
        yield


def _begin(
    tasks: asyncio.TaskGroup, running: list[asyncio.Task[None]], work: Coroutine[Any, Any, None]
) -> asyncio.Task[None]:
    task = tasks.create_task(work)
    running.append(task)
    return task


async def _installed(supervisors: Sequence[Supervisor]) -> None:
    """Wait for the operators' kinds, so that clients find them once the plane reports that it serves."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_KINDS_WITHIN_S):
            for supervisor in supervisors:
                await supervisor.installed()
