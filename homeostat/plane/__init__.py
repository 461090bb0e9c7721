"""The embedded control plane: store, server and in-process client in one object. The one place where both halves meet.

async with open_plane(Settings(data=Path("data"))) as plane:
    print(plane.url)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

from homeostat.client.base import Client
from homeostat.edge.reply import Reply
from homeostat.edge.server import serve
from homeostat.objects.errors import AlreadyExistsError, error_of, status_of
from homeostat.objects.json import JsonObject, encode
from homeostat.plane.assembly import assemble
from homeostat.plane.background import OPERATORS_GRACE_S, host_operators, keep_house, tick
from homeostat.plane.credentials import prepare_credentials, renew_credentials, write_kubeconfig
from homeostat.plane.faces import faces_served
from homeostat.plane.plane import Plane
from homeostat.plane.settings import OPERATORS, Settings
from homeostat.plane.storage import KeptStore, open_store
from homeostat.runtime.control.failure_conditions import sole_error
from homeostat.runtime.faces.listeners import FaceChoice, FaceError, Place
from homeostat.runtime.supervisor import Supervisor
from homeostat.runtime.telemetry.tracing import OFF, Tracer
from homeostat.server.app import refusal
from homeostat.server.bootstrap import first_objects
from homeostat.server.pki.directory import Pki, server_context
from homeostat.server.pki.private_file import make_private_directory
from homeostat.store.base import StoreError

__all__ = ["OPERATORS", "FaceChoice", "FaceError", "Place", "Plane", "Settings", "open_plane"]

_KINDS_WITHIN_S = 5.0


@asynccontextmanager
async def open_plane(settings: Settings, *, tracer: Tracer = OFF) -> AsyncIterator[Plane]:
    """A plane that serves until the block is left; then watches are closed and running requests finished.

    `StoreError` where the store cannot be had, and when it is lost for good: whoever runs the plane starts it again.
    `FaceError` where faces cannot be served as they were asked for.
    """
    make_private_directory(settings.data)
    store = await open_store(settings)
    try:
        # Behind the store's lock: a start that is refused must not renew what the running plane shows.
        pki = prepare_credentials(settings)
        async with _running(settings, pki, store, tracer) as plane:
            yield plane
    except BaseExceptionGroup as group:
        # Of all that ends with it, the store's end is what there is to tell, or what was missing from the start.
        lost = group.subgroup((StoreError, FaceError))
        raise (group if lost is None else sole_error(lost)) from None
    finally:
        await store.close()


@asynccontextmanager
async def _running(settings: Settings, pki: Pki, store: KeptStore, tracer: Tracer) -> AsyncIterator[Plane]:
    plane = await assemble(settings, pki, store)
    await _bootstrap(plane.client)
    # Only now: a webhook that is away must not keep a plane from starting.
    await plane.admission.follow(store)
    # Before it serves: what operators guard is not written until they are there.
    supervisors = host_operators(plane, tracer)
    context = None if settings.is_open else server_context(pki)
    plane.server = await serve(
        plane.app.handle,
        host=settings.bind,
        port=settings.port,
        ssl=context,
        limits=settings.limits,
        refuse=_refuse,
    )
    write_kubeconfig(plane, pki)
    work = [store.maintain(), tick(plane), keep_house(plane, pki), *(each.run() for each in supervisors)]
    if context is not None:
        work.append(renew_credentials(plane, pki, context))
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each) for each in work]
        try:
            async with faces_served(plane, supervisors, context) as plane.faces:
                await _installed(supervisors)
                yield plane
        finally:
            await asyncio.gather(*(each.stop() for each in supervisors))
            for task in running:
                task.cancel()
            # Whoever watches from inside ends before the watches do, and takes their end for no failure.
            await asyncio.wait(running, timeout=OPERATORS_GRACE_S)
            plane.watches.close()
            await plane.server.stop(grace_s=3.0)
            await plane.admission.close()


async def _installed(supervisors: Sequence[Supervisor]) -> None:
    """Who is told that the plane serves should find the operators' kinds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_KINDS_WITHIN_S):
            for supervisor in supervisors:
                await supervisor.installed()


async def _bootstrap(client: Client) -> None:
    async def ensure(path: str, obj: JsonObject) -> None:
        try:
            await client.create(path, obj)
        except AlreadyExistsError:
            return

    await asyncio.gather(*(ensure(path, obj) for path, obj in first_objects()))


def _refuse(code: int, message: str) -> Reply:
    error = error_of({"code": code, "message": message})
    if error.code == code:
        return refusal(error)
    # HTTP has refusals that Kubernetes has no error for.
    reason = HTTPStatus(code).phrase.replace(" ", "")
    return Reply(code, encode({**status_of(error), "reason": reason, "code": code}))
