"""Serves the faces of operators beside `homeostat run`, and prints where faces are served."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Never

from homeostat.cli.console.failure import Failure
from homeostat.runtime.background import background

if TYPE_CHECKING:
    from homeostat.cli.operators.faces.places import RunFaces
    from homeostat.client.base import Client
    from homeostat.edge.server import Handler
    from homeostat.runtime.faces.face import Face, Figures, First, Surroundings
    from homeostat.runtime.faces.hosting import ServedFace
    from homeostat.runtime.telemetry.metrics import Metrics
    from homeostat.web.certificates.files import FileCertificate

log = logging.getLogger(__name__)
_ADDRESSES: Final = 2
_WIDTH: Final = 96
_COLUMN: Final = 11
"""A longer name would push its address out of the column."""


async def serve_beside(
    stack: AsyncExitStack,
    faces: RunFaces,
    surroundings: Callable[[bool, Figures], Surroundings],
    metrics: Metrics,
    client: Client,
) -> tuple[ServedFace, ...]:
    """Serve until the stack is closed. `surroundings` is called for each face; its first argument says whether callers
    need no credentials. The certificate is reloaded when it changes, and renewed before it expires.
    """
    from homeostat.runtime.faces.face import Figures
    from homeostat.runtime.faces.hosting import serve_faces
    from homeostat.runtime.faces.listeners import FaceError

    certificate = _certificate(faces.files)
    around = {
        face.name: surroundings(certificate is None, Figures(metrics.register))
        for listener in faces.listeners
        for face in listener.faces
    }
    context = certificate.context if certificate is not None else None
    try:
        opened, first = partial(_opened, around), partial(_first_of, around)
        serving = serve_faces(faces.listeners, opened, ssl=context, environment=os.environ, first_of=first)
        served = await stack.enter_async_context(serving)
    except FaceError as error:
        raise Failure(str(error)) from error
    if certificate is not None:
        await stack.enter_async_context(beside(certificate.follow, "reload of the certificate"))
        await _renew(stack, faces, certificate, metrics, client)
    return served


async def _renew(
    stack: AsyncExitStack, faces: RunFaces, certificate: FileCertificate, metrics: Metrics, client: Client
) -> None:
    from homeostat.cli.webhook.renewal import renewal_of
    from homeostat.cli.webhook.storage import DirectoryStorage
    from homeostat.runtime.control.recorder import Recorder
    from homeostat.web.certificates.metrics import CertificateMetrics

    assert faces.files is not None
    recorder = Recorder(client, "homeostat-faces")
    renewal = renewal_of(client, certificate, faces.secret or DirectoryStorage(*faces.files), recorder)
    metrics.register(CertificateMetrics(renewal, prefix="faces_certificate"))
    await stack.enter_async_context(background(recorder.run()))
    await stack.enter_async_context(beside(renewal.run, "renewal of the certificate"))


def _first_of(around: Mapping[str, Surroundings], face: Face) -> First | None:
    from homeostat.runtime.faces.face import first_of

    return first_of(face, around[face.name])


@asynccontextmanager
async def _opened(around: Mapping[str, Surroundings], face: Face) -> AsyncIterator[Handler]:
    from homeostat.runtime.faces.face import opener_of

    open_app = await asyncio.to_thread(opener_of, face)
    async with open_app(around[face.name]) as app:
        yield app


def face_lines(served: Iterable[ServedFace]) -> str:
    """Lines of the start message: of each port two addresses and the paths of the rest, and what is not served."""
    pages = dict[str, list[tuple[str, str]]]()
    missing = dict[str, list[str]]()
    for each in served:
        if each.trouble:
            missing.setdefault(each.trouble, []).extend([what for what, _ in each.face.shown] or [each.face.title])
        else:
            pages.setdefault(each.url, []).extend(each.face.shown)
    lines = "".join(_port_lines(url, shown) for url, shown in pages.items())
    return lines + "".join(_lines("not served", f"{', '.join(what)}: {why}") for why, what in missing.items())


def _port_lines(url: str, pages: list[tuple[str, str]]) -> str:
    lined = [page for page in pages[:_ADDRESSES] if page is pages[0] or len(page[0]) <= _COLUMN]
    lines = "".join(f"  {what:<{_COLUMN}} {url}{path}\n" for what, path in lined)
    rest = ", ".join(f"{what} {path}" for what, path in pages[len(lined) :])
    return lines + _lines("same port", rest)


def _lines(name: str, text: str) -> str:
    wrapped = wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join(f"  {'' if n else name:<10}  {line}\n" for n, line in enumerate(wrapped))


def _certificate(files: tuple[Path, Path] | None) -> FileCertificate | None:
    from homeostat.web.certificates.files import CertificateError, FileCertificate

    if files is None:
        return None
    try:
        return FileCertificate(*files)
    except CertificateError as error:
        raise Failure(str(error)) from error


@asynccontextmanager
async def beside(run: Callable[[], Awaitable[Never]], work: str) -> AsyncIterator[None]:
    """Runs meanwhile. An unexpected error is logged; faces are served on without this work."""
    task = asyncio.ensure_future(run())
    task.add_done_callback(partial(_log_failure, work))
    try:
        yield
    finally:
        task.cancel()


def _log_failure(work: str, task: asyncio.Future[Never]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("background work stopped unexpectedly; restart the process", extra={"work": work}, exc_info=error)
