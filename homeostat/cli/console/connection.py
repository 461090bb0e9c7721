"""From a command's options to a server: which kubeconfig, which namespace, and what its errors mean to a person."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from homeostat.cli.console.failure import INTERRUPTED, Failure, UnreachableFailure, print_warning
from homeostat.cli.console.permissions import HintingTransport
from homeostat.cli.plane.data_directory import default_data
from homeostat.client.base import Client
from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_endpoint
from homeostat.client.http.transport import UnreachableError, open_transport
from homeostat.objects.errors import ApiError, UnauthorizedError


@dataclass(frozen=True, slots=True)
class Connection:
    client: Client
    namespace: str
    """The namespace of objects that name none themselves."""


def connected(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a command of a coroutine: add the options that choose a server, and pass the connection to it."""

    @click.option("-n", "--namespace", default="", metavar="NS", help="Namespace.  [default: the context's]")
    @click.option("--context", default="", help="Context of the kubeconfig.  [default: its current one]")
    @click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="Kubeconfig.  [default: $KUBECONFIG, the data directory's, ~/.kube/config]",
    )
    @wraps(function)
    def command(*, namespace: str, context: str, kubeconfig: str, **arguments: Any) -> None:
        async def run() -> None:
            endpoint = load_endpoint(kubeconfig_paths(kubeconfig), context=context)
            async with open_transport(endpoint, on_warning=print_warning) as transport:
                connection = Connection(Client(HintingTransport(transport)), namespace or endpoint.namespace)
                await function(connection, **arguments)

        with reporting_errors():
            asyncio.run(run())

    return command


def kubeconfig_paths(named: str) -> list[Path]:
    """The first that applies: the option, KUBECONFIG, the file of the data directory, ~/.kube/config."""
    if named:
        return _existing([Path(named).expanduser()], "--kubeconfig")
    if listed := os.environ.get("KUBECONFIG"):
        return _existing([Path(each) for each in listed.split(os.pathsep) if each], "KUBECONFIG")
    own, usual = default_data() / "kubeconfig", Path("~/.kube/config").expanduser()
    if own.exists():
        return [own]
    if usual.exists():
        return [usual]
    raise KubeconfigError(
        f"there is no kubeconfig at {own} or {usual}; start a plane (homeostat up), or name a kubeconfig with "
        "--kubeconfig or KUBECONFIG"
    )


def _existing(paths: list[Path], source: str) -> list[Path]:
    """`KubeconfigError` if none of the files exists."""
    if any(path.exists() for path in paths):
        return paths
    raise KubeconfigError(
        f"{source} names {os.pathsep.join(map(str, paths))}, which does not exist; start the plane that writes it "
        f"(homeostat up), or correct {source}; without it, the kubeconfig of the data directory is used"
    )


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Turn errors of the server and the kubeconfig into a `Failure` whose message says what to do."""
    try:
        yield
    except UnreachableError as error:
        raise UnreachableFailure(f"{error}; is it running? (homeostat up)") from error
    except ApiError as error:
        raise Failure(error_text(error)) from error
    except KubeconfigError as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def error_text(error: ApiError) -> str:
    """An error of the API as one line, with what to do about it where that is known."""
    if isinstance(error, UnauthorizedError):
        return f"{error.message}: the server does not accept this credential; choose another with --context"
    return error.message
