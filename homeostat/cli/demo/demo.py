"""`homeostat demo`: a plane with all operators and what they talk to, broken in five ways."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import shlex
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import click

from homeostat.cli.console.connection import Connection, open_connection, reporting_errors
from homeostat.cli.console.failure import Failure
from homeostat.cli.console.stop import Stop
from homeostat.cli.demo.delivery import delivering
from homeostat.cli.demo.world import World, open_world
from homeostat.cli.files.manifests import read_manifests
from homeostat.cli.objects.apply import Applying
from homeostat.cli.objects.kinds import discover
from homeostat.cli.plane.data_directory import Directory
from homeostat.cli.plane.program import path_setting
from homeostat.client.base import UnreachableError
from homeostat.objects.errors import ApiError

_MARK: Final = ".homeostat-demo"
_PR_SET_PDEATHSIG: Final = 1
_FACES_PORT: Final = 8000
_START_WITHIN_S: Final = 60.0
_STOP_WITHIN_S: Final = 8.0
_POLL_S: Final = 0.1
_PLANE: Final = (
    *("up", "--port", "0", "--workloads", "simulated", "--nodes", "2"),
    *("--images-interval", "20", "--faces-port"),
)
_KINDS: Final = (
    ("pacto.trianalab.io/v1alpha1", "Pacto"),
    ("declarest.io/v1alpha1", "SyncPolicy"),
    ("images.homeostat.dev/v1", "ImageUpdate"),
    ("devops.stochastic.io/v1", "DevOpsPolicy"),
    ("homeostat.dev/v1alpha1", "ResourceType"),
)
_MAILBOX: Final = ("resources.homeostat.dev/v1", "Mailbox")
_TOUR: Final = """
Everything runs, and five things are wrong. The link "sign in" above opens the dashboard, whose first page lists them.
For commands, in another terminal:

  export HOMEOSTAT_DATA={data} KUBECONFIG={data}/kubeconfig{path}
  homeostat get pactos,syncpolicies,imageupdates,devopspolicies,mailboxes -A

  1 contracts  orders listens on another port than its contract promises
         find  homeostat describe pacto orders -n shop
          fix  homeostat apply -f {fixes}/1-contracts.yaml
  2 sync       the topic payments was changed by hand
         find  homeostat describe syncpolicy topics -n shop
          fix  homeostat apply -f {fixes}/2-sync.yaml
  3 images     web is behind its newest commit
         find  homeostat image status -n shop
          fix  homeostat image unpin shop/web
               homeostat image update shop/web
  4 policy     mailer breaks the rules for Pods
         find  homeostat policy analyze -n shop --violations
          fix  homeostat apply -f {fixes}/4-policy.yaml
  5 actions    the mailbox support cannot be created
         find  homeostat resource history mailbox/support
          fix  homeostat resource apply -f {fixes}/5-actions.yaml --wait

Before a fix, homeostat diff -f FILE shows what it changes. Ctrl-C ends the demo and removes {folder}.
"""


@click.command(short_help="Run a plane to look around in, broken in five ways.")
@click.option(
    "--directory",
    type=Directory(),
    default=Path("homeostat-demo"),
    show_default=True,
    help="Where everything is kept while the demo runs; removed at the end.",
)
@click.option(
    "--faces-port",
    type=click.IntRange(0, 65535),
    default=None,
    help=f"Port of the dashboard; 0 takes a free one.  [default: {_FACES_PORT}, or a free one if that is in use]",
)
def command(directory: Path, faces_port: int | None) -> None:
    """Run a plane with all five operators, a git server, a registry and a REST API, all on this machine.

    Five things are wrong on purpose, one for each operator. Find and fix them in the dashboard or by commands. It
    needs git. Ctrl-C ends the demo and leaves nothing behind.

    \b
    Examples:
      homeostat demo
      homeostat demo --directory /tmp/demo --faces-port 8080
    """
    if shutil.which("git") is None:
        raise Failure("the demo needs git, and there is none on PATH; install it")
    if faces_port and not is_free(faces_port):
        raise Failure(f"127.0.0.1:{faces_port} is in use; choose another port with --faces-port, 0 takes a free one")
    with _prepared(directory.absolute()) as folder, reporting_errors():
        if faces_port is None:
            faces_port = _FACES_PORT if is_free(_FACES_PORT) else 0
        click.echo(f"Setting up the demo in {folder} ...", err=True)
        asyncio.run(_run(folder, faces_port))
    click.echo(f"Stopped the demo; removed {folder}", err=True)


def is_free(port: int) -> bool:
    with socket.socket() as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            asked.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def _prepared(folder: Path) -> Iterator[Path]:
    """An empty directory, removed at the end; one that an earlier demo left behind is replaced."""
    mark = folder / _MARK
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise Failure(f"{folder} is not empty, and the demo removes its directory; choose another with --directory")
    if mark.exists():
        with _locked(mark):
            shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(mark):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(mark: Path) -> Iterator[None]:
    """Refuse if another process holds the mark. The kernel releases it if the process dies."""
    with mark.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(
                f"another demo runs in {mark.parent}; stop it with Ctrl-C, or choose another directory with --directory"
            ) from None
        yield


async def _run(folder: Path, faces_port: int) -> None:
    """Until a signal or the end of the plane. Ctrl-C ends the plane too, so what fails after a signal is no error."""
    stop = Stop("the demo", within_s=_STOP_WITHIN_S)
    stop.listen()
    shown, asked = asyncio.ensure_future(_show(folder, faces_port)), asyncio.ensure_future(stop.wait())
    await asyncio.wait({shown, asked}, return_when=asyncio.FIRST_COMPLETED)
    if asked.done():
        shown.cancel()
        await asyncio.gather(shown, return_exceptions=True)
    else:
        asked.cancel()
        await shown


async def _show(folder: Path, faces_port: int) -> None:
    """Until the plane ends."""
    async with open_world(folder) as world:
        files = world.write_story(folder / "story")
        await _publish(world, folder / "story" / "contract")
        kubeconfig = folder / "plane" / "kubeconfig"
        async with _plane(folder / "plane", faces_port) as process:
            await _serving(process, kubeconfig)
            async with open_connection(str(kubeconfig), context="", namespace="shop") as connection:
                await _apply(connection, files)
                places = {"data": kubeconfig.parent, "fixes": folder / "story" / "fixes", "folder": folder}
                quoted = {name: shlex.quote(str(path)) for name, path in places.items()}
                click.echo(_TOUR.format_map({**quoted, "path": path_setting()}))
                async with delivering(world.git, connection.client):
                    await process.wait()


async def _publish(world: World, bundle: Path) -> None:
    from homeostat.cli.contract.publish.push import command as push

    target = f"oci://127.0.0.1:{world.port}/contracts/orders"
    await asyncio.to_thread(push.main, [target, "-p", str(bundle)], standalone_mode=False)


@asynccontextmanager
async def _plane(data: Path, faces_port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    command = (*_program(), *_PLANE, str(faces_port), "--data", str(data))
    process = await asyncio.create_subprocess_exec(*command, preexec_fn=_end_with_parent)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _end_with_parent() -> None:
    """Of the plane: the kernel ends it with a demo that is killed, on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _program() -> tuple[str, ...]:
    """The command that was typed, so that the plane prints it; else the module, as in a zipped application."""
    typed = shutil.which(sys.argv[0])
    return (typed,) if typed and Path(typed).name == "homeostat" else (sys.executable, "-m", "homeostat.cli.main")


async def _serving(process: asyncio.subprocess.Process, kubeconfig: Path) -> None:
    """Wait until the plane serves, with the kinds of its operators."""
    deadline = time.monotonic() + _START_WITHIN_S
    while not await asyncio.to_thread(kubeconfig.exists) or not await _has_kinds(kubeconfig):
        if process.returncode is not None:
            raise Failure(f"the plane ended with {process.returncode}; its output above says why")
        if time.monotonic() >= deadline:
            raise Failure(f"the plane did not serve within {_START_WITHIN_S:g} s; its output above says why")
        await asyncio.sleep(_POLL_S)


async def _has_kinds(kubeconfig: Path) -> bool:
    try:
        async with open_connection(str(kubeconfig), context="", namespace="") as connection:
            kinds = await discover(connection.client)
    except (ApiError, UnreachableError):
        return False
    return all(kinds.find(*each) is not None for each in _KINDS)


async def _apply(connection: Connection, files: list[Path]) -> None:
    """Apply the files in their order; a type becomes a kind before its resources are applied."""
    for path in files:
        run = Applying(connection, await discover(connection.client), patience_s=10.0)
        for obj in read_manifests((str(path),)):
            await run.apply(obj)
            if obj["kind"] == "ResourceType":
                await _resource_kind(connection)
        run.refusals.exit_if_any()


async def _resource_kind(connection: Connection) -> None:
    deadline = time.monotonic() + _START_WITHIN_S
    while (await discover(connection.client)).find(*_MAILBOX) is None:
        if time.monotonic() >= deadline:
            raise Failure(f"the server has no kind Mailbox after {_START_WITHIN_S:g} s; see: homeostat get types")
        await asyncio.sleep(_POLL_S)
