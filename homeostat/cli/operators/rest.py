"""Where `homeostat run` serves the REST API of resources, and with what."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TypeVar

import click

from homeostat.cli.console.failure import Failure

if TYPE_CHECKING:
    from homeostat.client.base import Client
    from homeostat.runtime.telemetry.metrics import Metrics
    from homeostat.web.admission.tls import FileCertificate

F = TypeVar("F", bound=Callable[..., Any])
REST_OPTIONS = ("rest", "rest_open", "rest_cert", "rest_key")
_OPERATOR = "actions"
_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class RestChoice:
    """Without files it is plain HTTP, on loopback and without credentials."""

    host: str
    port: int
    files: tuple[Path, Path] | None


def rest_options(command: F) -> F:
    options = (
        click.option("--rest", default="", metavar="[ADDR:]PORT", help="Serve the REST API of resources there."),
        click.option("--rest-open", is_flag=True, help="The REST API in plain HTTP without credentials, on loopback."),
        click.option("--rest-cert", type=_FILE, help="Certificate of the REST API; read anew when it changes."),
        click.option("--rest-key", type=_FILE, help="Key of that certificate."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def read_rest(options: Mapping[str, Any], operators: Iterable[str]) -> RestChoice | None:
    """From the options of `rest_options`; `UsageError` where they make no sense."""
    where, is_open, cert, key = (options[name] for name in REST_OPTIONS)
    if not where:
        if is_open or cert or key:
            raise click.UsageError("--rest-open, --rest-cert and --rest-key go with --rest, which is missing")
        return None
    if _OPERATOR not in operators:
        raise click.UsageError(f"--rest is for the resources of the operator {_OPERATOR}, which is not to run")
    host, port = _address(where)
    if is_open and (cert or key):
        raise click.UsageError("--rest-open is plain HTTP; leave it out, or --rest-cert and --rest-key")
    if is_open and not ipaddress.ip_address(host).is_loopback:
        raise click.UsageError(f"--rest-open lets in everyone who can connect, and {host} is not a loopback address")
    if not is_open and not (cert and key):
        raise click.UsageError(
            "--rest wants --rest-cert and --rest-key for TLS; or --rest-open, for this machine alone and in plain HTTP"
        )
    return RestChoice(host, port, None if is_open else (cert, key))


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = (host or "127.0.0.1").strip("[]").replace("localhost", "127.0.0.1")
    try:
        ipaddress.ip_address(host)
        is_fit = port.isdecimal() and int(port) <= 65535
    except ValueError:
        is_fit = False
    if not is_fit:
        raise click.UsageError(f"--rest takes a port, or an IP address and a port as 0.0.0.0:8000; got {text!r}")
    return host, int(port)


async def serve_beside(
    stack: AsyncExitStack,
    client: Client,
    rest: RestChoice,
    *,
    namespace: str,
    environment: Mapping[str, str],
    identity: str,
    leases: str,
    metrics: Metrics,
) -> str:
    """Serves until the stack is closed; returns the address."""
    from homeostat.web.actions.serving import serve_rest
    from homeostat.web.kit.metrics import RestFigures

    figures = RestFigures()
    metrics.register(figures)

    certificate = _certificate(rest)
    try:
        server = await stack.enter_async_context(
            serve_rest(
                client,
                namespace=namespace or "default",
                environment=environment,
                is_open=certificate is None,
                host=rest.host,
                port=rest.port,
                ssl=certificate.context if certificate is not None else None,
                identity=lambda: identity,
                leases=leases,
                figures=figures,
            )
        )
    except OSError as error:
        raise Failure(_why(error, f"{rest.host}:{rest.port}")) from error
    except ValueError as error:
        raise Failure(f"the REST API: {error}") from error
    if certificate is not None:
        await stack.enter_async_context(_followed(certificate.follow))
    host = f"[{rest.host}]" if ":" in rest.host else rest.host
    return f"{'http' if certificate is None else 'https'}://{host}:{server.port}/api/v1"


def _certificate(rest: RestChoice) -> FileCertificate | None:
    from homeostat.web.admission.tls import CertificateError, FileCertificate

    if rest.files is None:
        return None
    try:
        return FileCertificate(*rest.files)
    except CertificateError as error:
        raise Failure(str(error)) from error


@asynccontextmanager
async def _followed(follow: Callable[[], Awaitable[Never]]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(follow())
    try:
        yield
    finally:
        task.cancel()


def _why(error: OSError, where: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use; choose another with --rest"
    return f"cannot serve the REST API at {where}: {error.strerror or error}; choose another with --rest"
