"""Where the faces of operators are served, as the options of `up` and `run` say it.

Every face has options of its own, `--NAME-port` and `--no-NAME`: those of our operators stand in the help, and those of
an operator of the user's own are accepted where they are given.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence, Set
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Never, TypeVar

import click

from homeostat.cli.console.failure import Failure

if TYPE_CHECKING:
    from homeostat.edge.server import Handler
    from homeostat.runtime.description import Description
    from homeostat.runtime.faces.face import Face, Figures, Surroundings
    from homeostat.runtime.faces.hosting import ServedFace
    from homeostat.runtime.faces.listeners import FaceChoice, Listener, Place
    from homeostat.runtime.telemetry.metrics import Metrics
    from homeostat.web.admission.tls import FileCertificate

F = TypeVar("F", bound=Callable[..., Any])
_NAMES: Final = "homeostat.faces.names"
_PARAMS: Final = "homeostat.faces.params"
_WISHES: Final = "homeostat.faces.wishes"
_SHARED: Final = "faces"
_LOOPBACK: Final = "127.0.0.1"
_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_named_by = re.compile(r"--(?:no-(?P<no>[a-z][a-z0-9-]*)|(?P<port>[a-z][a-z0-9-]*)-port)(?:=.*)?", re.DOTALL).fullmatch


@dataclass(slots=True)
class Wishes:
    """What the options of a command line say of faces, by name."""

    ports: dict[str, str]
    without: set[str]


class FaceCommand(click.Command):
    """A command with the options of faces: `--NAME-port` and `--no-NAME`, where NAME is `faces` for all of them."""

    metavar = "PORT"
    told = "; 0 takes a free one.  [default: 8000, if it is free]"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_NAMES] = _names_in(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if _PARAMS not in ctx.meta:
            declared = super().get_params(ctx)
            # The help stands last.
            ctx.meta[_PARAMS] = [*declared[:-1], *self._face_options(ctx, declared), *declared[-1:]]
        found: list[click.Parameter] = ctx.meta[_PARAMS]
        return found

    def aliases(self, name: str) -> list[str]:
        """Other names for the port of a face."""
        return []

    def _face_options(self, ctx: click.Context, declared: Sequence[click.Parameter]) -> list[click.Option]:
        taken = {option for each in declared for option in each.opts}
        titles = _titles()
        names = dict.fromkeys([_SHARED, *titles, *ctx.meta.get(_NAMES, ())])
        found = [option for name in names for option in self._options(name, titles.get(name, name), taken)]
        return [each for each in found if not taken & {*each.opts}]

    def _options(self, name: str, title: str, taken: Set[str]) -> list[click.Option]:
        what = (
            "all faces (HTTP apps of operators: REST API, dashboard) without a port of their own"
            if name == _SHARED
            else f"the {title}"
        )
        aliases = [each for each in self.aliases(name) if each not in taken]
        port = click.Option(
            [f"--{name}-port", *aliases],
            metavar=self.metavar,
            help=f"Port of {what}{self.told}",
            expose_value=False,
            callback=partial(_note_port, name),
        )
        no = click.Option(
            [f"--no-{name}"],
            is_flag=True,
            help=f"Do not serve {'any face' if name == _SHARED else what}.",
            expose_value=False,
            callback=partial(_note_without, name),
        )
        return [port, no]


class RunFaceCommand(FaceCommand):
    metavar = "[ADDR:]PORT"
    told = "; 0 takes a free one."

    def aliases(self, name: str) -> list[str]:
        return [] if name == _SHARED else [f"--{name}"]


def wishes_of(ctx: click.Context) -> Wishes:
    found: Wishes = ctx.meta.setdefault(_WISHES, Wishes({}, set()))
    return found


def _note_port(name: str, ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        wishes_of(ctx).ports[name] = value


def _note_without(name: str, ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        wishes_of(ctx).without.add(name)


def _names_in(args: Sequence[str]) -> list[str]:
    found = (_named_by(each) for each in args)
    return [each["no"] or each["port"] for each in found if each is not None]


@cache
def _titles() -> dict[str, str]:
    """Of the faces of our own operators."""
    from homeostat.operators.catalog import OURS, find_operator

    return {face.name: face.title for name in OURS for face in find_operator(name).faces}


def up_choice(wishes: Wishes, operators: Iterable[Description], *, host: str) -> FaceChoice | None:
    """For a plane, which has credentials of its own; None where no face is to be served. `UsageError`.

    An option of one of our faces whose operator is not to run has nothing to do.
    """
    from homeostat.runtime.faces.listeners import Place

    faces = [face for each in operators for face in each.faces]
    idle = _titles().keys() - {face.name for face in faces}
    asked = Wishes({name: text for name, text in wishes.ports.items() if name not in idle}, wishes.without - idle)
    ports = {name: Place(host, _port(name, text)) for name, text in asked.ports.items()}
    return _choice(asked, ports, faces, host=host)


def _choice(wishes: Wishes, places: dict[str, Place], faces: Sequence[Face], *, host: str) -> FaceChoice | None:
    from homeostat.runtime.faces.listeners import FaceChoice, FaceError, arrange

    if _SHARED in wishes.without:
        if places:
            raise click.UsageError(f"--no-{_SHARED} serves no face; leave it out, or --{next(iter(places))}-port")
        return None
    shared = places.pop(_SHARED, None)
    choice = FaceChoice(host=host, shared=shared, own=places, without=frozenset(wishes.without))
    try:
        arrange(faces, choice)
    except FaceError as error:
        raise click.UsageError(str(error)) from error
    return choice


def _port(name: str, text: str) -> int:
    if text.isdecimal() and int(text) <= 65535:
        return int(text)
    raise click.UsageError(f"--{name}-port takes a port from 0 to 65535, got {text!r}")


def check_faces(operators: Iterable[Description], environment: Mapping[str, str]) -> None:
    """Settings that a face cannot be opened with are reported before anything is started."""
    from homeostat.runtime.faces.face import check_settings

    for description in operators:
        for face in description.faces:
            try:
                check_settings(face, environment)
            except ValueError as error:
                raise Failure(f"the {face.title}: {error}") from error


def credential_options(command: F) -> F:
    """How callers of faces are let in, where the process has no authority of its own."""
    options = (
        click.option(
            "--faces-open",
            "--rest-open",
            "faces_open",
            is_flag=True,
            help="Serve the faces in plain HTTP without credentials; on a loopback address only.",
        ),
        click.option(
            "--faces-cert",
            "--rest-cert",
            "faces_cert",
            type=_FILE,
            help="Certificate to serve the faces with; reloaded when it changes.",
        ),
        click.option("--faces-key", "--rest-key", "faces_key", type=_FILE, help="Key of that certificate."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class RunFaces:
    """Without files it is plain HTTP, on loopback and without credentials."""

    listeners: tuple[Listener, ...]
    files: tuple[Path, Path] | None


def run_faces(
    wishes: Wishes, operators: Iterable[Description], *, is_open: bool, cert: Path | None, key: Path | None
) -> RunFaces | None:
    """Faces beside a server of somebody else: they are served where that was asked for. `UsageError`."""
    from dataclasses import replace

    from homeostat.runtime.faces.listeners import arrange

    if not (wishes.ports or is_open or cert or key):
        return None
    places = {name: _address(name, text) for name, text in wishes.ports.items()}
    first = f"--{next(iter(wishes.ports), _SHARED)}-port"
    if is_open and (cert or key):
        raise click.UsageError("--faces-open is plain HTTP; leave it out, or --faces-cert and --faces-key")
    for host, _ in places.values():
        if is_open and not ipaddress.ip_address(host).is_loopback:
            raise click.UsageError(
                f"--faces-open lets in everyone who can connect, and {host} is not a loopback address"
            )
    if not is_open and (cert is None or key is None):
        raise click.UsageError(
            f"{first} needs --faces-cert and --faces-key for TLS; or --faces-open, for this machine alone and in "
            "plain HTTP"
        )
    faces = [face for each in operators for face in each.faces]
    choice = _choice(wishes, places, faces, host=_LOOPBACK)
    if choice is None:
        return None
    only_own = bool(choice.own) and choice.shared is None
    files = (cert, key) if cert is not None and key is not None else None
    return RunFaces(tuple(arrange(faces, replace(choice, only_own=only_own))), files)


def _address(name: str, text: str) -> Place:
    from homeostat.runtime.faces.listeners import Place

    host, _, port = text.rpartition(":")
    host = (host or _LOOPBACK).strip("[]").replace("localhost", _LOOPBACK)
    try:
        ipaddress.ip_address(host)
        is_fit = port.isdecimal() and int(port) <= 65535
    except ValueError:
        is_fit = False
    if not is_fit:
        raise click.UsageError(f"--{name}-port takes a port, or an IP address and a port as 0.0.0.0:8000; got {text!r}")
    return Place(host, int(port))


async def serve_beside(
    stack: AsyncExitStack, faces: RunFaces, surroundings: Callable[[bool, Figures], Surroundings], metrics: Metrics
) -> tuple[ServedFace, ...]:
    """Serves until the stack is closed. `surroundings` is asked for each face, and told whether callers show none."""
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
        opened = partial(_opened, around)
        serving = serve_faces(faces.listeners, opened, ssl=context, environment=os.environ)
        served = await stack.enter_async_context(serving)
    except FaceError as error:
        raise Failure(str(error)) from error
    if certificate is not None:
        await stack.enter_async_context(_followed(certificate.follow))
    return served


@asynccontextmanager
async def _opened(around: Mapping[str, Surroundings], face: Face) -> AsyncIterator[Handler]:
    from homeostat.runtime.faces.face import opener_of

    open_app = await asyncio.to_thread(opener_of, face)
    async with open_app(around[face.name]) as app:
        yield app


def face_lines(served: Iterable[ServedFace]) -> str:
    """What is served where, for people."""
    lines = []
    for each in served:
        if each.trouble:
            lines.append(f"  {each.face.title:<10}  not served: {each.trouble}\n")
        else:
            lines += [f"  {what:<10}  {each.url}{path}\n" for what, path in each.face.shown]
    return "".join(lines)


def _certificate(files: tuple[Path, Path] | None) -> FileCertificate | None:
    from homeostat.web.admission.tls import CertificateError, FileCertificate

    if files is None:
        return None
    try:
        return FileCertificate(*files)
    except CertificateError as error:
        raise Failure(str(error)) from error


@asynccontextmanager
async def _followed(follow: Callable[[], Awaitable[Never]]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(follow())
    try:
        yield
    finally:
        task.cancel()
