"""From a command's options to a server: which kubeconfig, which namespace, and what its errors mean to a person."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar

import click

from homeostat.cli.auth.credential import refused_credential
from homeostat.cli.completion.words import complete_contexts, complete_files, complete_namespaces
from homeostat.cli.console.advice import AdvisingTransport, missing_text
from homeostat.cli.console.failure import INTERRUPTED, Failure, UnreachableFailure, print_warning
from homeostat.cli.console.kubeconfig import kubeconfig_paths, shown_paths
from homeostat.client.base import Client
from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_endpoint
from homeostat.client.http.transport import UnreachableError, open_transport
from homeostat.objects.errors import ApiError, NotFoundError

F = TypeVar("F", bound=Callable[..., Any])

_NOT_YET_VALID, _EXPIRED, _OTHER_NAME, _OTHER_ADDRESS = 9, 10, 62, 64
"""Of OpenSSL, why a certificate is not trusted."""
_DISTRUST: Final = {
    _NOT_YET_VALID: "by the clock of this machine it is not valid yet; correct the clocks of both machines",
    _EXPIRED: "renew it (a plane does so when it is restarted), or correct the clock of this machine",
    _OTHER_NAME: "use a name that is in it; a plane adds the one of --address",
    _OTHER_ADDRESS: "use an address that is in it; a plane adds that of --address",
}
_OTHER_AUTHORITY: Final = (
    "the kubeconfig trusts another authority; if this is the right server, get its kubeconfig again (a plane's: "
    "homeostat kubeconfig)"
)
_REFUSED: Final = (
    "the server refuses the client certificate of the kubeconfig; get the kubeconfig again (a plane's: homeostat "
    "kubeconfig)"
)


@dataclass(frozen=True, slots=True)
class Connection:
    client: Client
    namespace: str
    """The namespace of objects that name none themselves."""


def connected(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a command of a coroutine: add the options that choose a server, and pass the connection to it."""

    @connection_options
    @wraps(function)
    def command(*, namespace: str, context: str, kubeconfig: str, **arguments: Any) -> None:
        async def run() -> None:
            async with open_connection(kubeconfig, context=context, namespace=namespace) as connection:
                try:
                    await function(connection, **arguments)
                except NotFoundError as error:
                    raise Failure(await missing_text(connection.client, error)) from error

        with reporting_errors():
            asyncio.run(run())

    return command


def connection_options(function: F) -> F:
    """The options that choose a server, for a command that may do without one."""
    function = click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        shell_complete=complete_files,
        help="Kubeconfig.  [default: $KUBECONFIG, the data directory's, ~/.kube/config]",
    )(function)
    function = click.option(
        "--context",
        default="",
        shell_complete=complete_contexts,
        help="Context of the kubeconfig.  [default: its current one]",
    )(function)
    return click.option(
        "-n",
        "--namespace",
        default="",
        metavar="NS",
        shell_complete=complete_namespaces,
        help="Namespace.  [default: the context's]",
    )(function)


@asynccontextmanager
async def open_connection(kubeconfig: str, *, context: str, namespace: str) -> AsyncIterator[Connection]:
    """`UnreachableError` names the kubeconfig that the address is from."""
    paths = kubeconfig_paths(kubeconfig)
    endpoint = load_endpoint(paths, context=context)
    try:
        async with open_transport(endpoint, on_warning=print_warning) as transport:
            advising = AdvisingTransport(transport, lambda: refused_credential(endpoint, shown_paths(paths)))
            yield Connection(Client(advising), namespace or endpoint.namespace)
    except UnreachableError as error:
        raise UnreachableError(f"{error} (the server of {shown_paths(paths)})", was_sent=error.was_sent) from error


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Turn errors of the server and the kubeconfig into a `Failure` whose message says what to do."""
    try:
        yield
    except UnreachableError as error:
        raise UnreachableFailure(f"{error}; {remedy_of(error)}") from error
    except ApiError as error:
        raise Failure(error.message) from error
    except KubeconfigError as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def remedy_of(error: UnreachableError) -> str:
    """What to do about a server that did not answer."""
    match root_of(error):
        case ssl.SSLCertVerificationError() as distrust:
            return _DISTRUST.get(distrust.verify_code, _OTHER_AUTHORITY)
        case ssl.SSLError() as broken if "ALERT" in (broken.reason or ""):
            return _REFUSED
        case ssl.SSLError():
            return "no TLS is spoken there; check the port and https:// in the kubeconfig"
        case socket.gaierror():
            return "check the name of the server in the kubeconfig, and that this machine can resolve it"
    return "is it running? Start it (homeostat up), or choose another kubeconfig with --kubeconfig"


def root_of(error: BaseException) -> BaseException:
    """What it was raised from, and so on."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
