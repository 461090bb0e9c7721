"""`homeostat up`: runs a plane in this process until a signal ends it."""

from __future__ import annotations

import errno
import gc
import ipaddress
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from homeostat.cli.console.failure import Failure
from homeostat.cli.operators.choice import check_environments
from homeostat.cli.operators.faces.options import FaceCommand, face_options, setting_environment
from homeostat.cli.operators.faces.places import check_faces, up_choice
from homeostat.cli.operators.programs import environment_with, programs_option, refuse_programs
from homeostat.cli.plane import systemd
from homeostat.cli.plane.audit import Audit, audit_options
from homeostat.cli.plane.data_directory import new_data_option
from homeostat.cli.plane.database import database_option
from homeostat.cli.plane.simulation import Simulation, simulation_options
from homeostat.cli.plane.welcome import HOUSEKEEPING, welcome
from homeostat.edge.process.files import raise_file_limit
from homeostat.edge.process.heap import collect_in_short_steps, release_regularly, settle_heap
from homeostat.server.pki.first_credentials import IssuedAhead, issue_ahead

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from homeostat.plane import Plane, Settings
    from homeostat.runtime.description import Description

_STOP_WITHIN_S = 4.8


@click.command(cls=FaceCommand, short_help="Start the control plane.")
@new_data_option
@click.option(
    "--ephemeral",
    "is_ephemeral",
    is_flag=True,
    help="Keep everything in a temporary directory that is removed at the end, and take a free port unless --port "
    "names one.",
)
@click.option("--bind", default="127.0.0.1", show_default=True, metavar="ADDR", help="Address to listen on.")
@click.option(
    "--port",
    default=7443,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes a free one.",
)
@database_option
@click.option("--address", metavar="URL", default="", help="URL that clients use.  [default: where it listens]")
@click.option(
    "--service-cidr",
    default="10.0.0.0/16",
    show_default=True,
    metavar="CIDR",
    help="Where Services get their cluster addresses from; the same for all replicas.",
)
@click.option("--open", "is_open", is_flag=True, help="Plain HTTP without credentials; on a loopback address only.")
@click.option(
    "--operators",
    default="all",
    show_default=True,
    metavar="all|none|A,B",
    help="Operators to run; also a file (./greeter.py) or a module of your own. Housekeeping (garbage collection, "
    "deletion of namespaces and definitions) always runs beside them, except with none.",
)
@simulation_options
@programs_option
@click.option(
    "--resume-effects",
    "resumes_effects",
    is_flag=True,
    help="Let operators act again on a restored database; until then they are paused.",
)
@audit_options
@click.option("-v", "--verbose", count=True, help="Log more; twice for everything.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    data: Path,
    is_ephemeral: bool,
    bind: str,
    port: int,
    database: Path | str | None,
    address: str,
    service_cidr: str,
    is_open: bool,
    operators: str,
    simulation: Simulation,
    allows_programs: bool,
    resumes_effects: bool,
    audit: Audit,
    verbose: int,
) -> None:
    """Start the control plane and serve until Ctrl-C or SIGTERM.

    \b
    Examples:
      homeostat up
      homeostat up --data ./plane --port 7444
      homeostat up --ephemeral       # for tests: leaves nothing behind
      homeostat up --workloads simulated --nodes 5    # Pods run, without containers
      homeostat up --open            # plain HTTP for this machine, no credentials
      homeostat up --operators all,./greeter.py
      homeostat up --operators ./greeter.py   # that one and housekeeping only
      homeostat up --open --rest-port 8080    # the REST API at http://127.0.0.1:8080
      homeostat up --database postgresql://plane@db.example/plane    # replicas share a data directory
    """
    _postpone_collections(ctx)
    host = _host(bind, is_open=is_open)
    if is_ephemeral:
        data, port = _ephemeral(ctx, port)
    _check_open(database, is_open=is_open, allows_programs=allows_programs)
    ahead = None if isinstance(database, str) else _issue_ahead(ctx, data, bind=host, address=address)
    from homeostat.plane import OPERATORS, Settings

    named = _operators(operators, OPERATORS) | simulation.operators
    described = _described(named)
    environment = environment_with(allows_programs=allows_programs) | setting_environment(ctx) | simulation.environment
    settings = Settings(
        data=data.absolute(),
        bind=host,
        address=_address(address),
        service_cidr=_cidr(service_cidr),
        port=port,
        is_open=is_open,
        database=database,
        operators=named,
        environment=environment,
        resumes_effects=resumes_effects,
        faces=up_choice(face_options(ctx), described, host=host),
        audit_log=audit.log,
        audit_policy=audit.read_policy(),
    )
    _check(settings, described)
    _serve(settings, ahead, verbose)


def _postpone_collections(ctx: click.Context) -> None:
    """A start creates objects and drops hardly any, so there is no garbage to look for until the plane serves."""
    gc.disable()
    ctx.call_on_close(gc.enable)


def _issue_ahead(ctx: click.Context, data: Path, *, bind: str, address: str) -> IssuedAhead | None:
    ahead = issue_ahead(data / "pki", bind=bind, address=address)
    if ahead is not None:
        ctx.call_on_close(ahead.close)
    return ahead


def _check(settings: Settings, described: Sequence[Description]) -> None:
    """Report invalid settings of operators and faces before anything is started."""
    check_environments(described, settings.environment)
    if settings.faces is not None:
        check_faces(described, settings.environment)


def _cidr(given: str) -> str:
    from homeostat.server.services.ranges import AddressRange

    try:
        AddressRange(given)
    except ValueError as error:
        raise click.BadParameter(
            f"{error}; expected a range such as 10.0.0.0/16", param_hint="--service-cidr"
        ) from error
    return given


def _ephemeral(ctx: click.Context, port: int) -> tuple[Path, int]:
    """A directory that goes with the command, and a port."""
    for name in ("data", "database"):
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(
                f"--ephemeral keeps nothing, and --{name} says where to keep it; leave out one of them"
            )
    from tempfile import TemporaryDirectory

    is_named = ctx.get_parameter_source("port") is not ParameterSource.DEFAULT
    return Path(ctx.with_resource(TemporaryDirectory(prefix="homeostat-"))), port if is_named else 0


def _check_open(database: Path | str | None, *, is_open: bool, allows_programs: bool) -> None:
    """Refuse what must not be combined with `--open`."""
    if not is_open:
        return
    if isinstance(database, str):
        raise click.UsageError(
            "--open asks for no credentials, and replicas on one PostgreSQL do; leave out one of them"
        )
    refuse_programs("--open", allows_programs=allows_programs)


def _address(url: str) -> str:
    parts = urlsplit(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query):
        raise click.UsageError(f"--address takes a URL such as https://plane.example:7443, got {url!r}")
    return url.rstrip("/")


def _host(bind: str, *, is_open: bool) -> str:
    try:
        address = ipaddress.ip_address("127.0.0.1" if bind == "localhost" else bind.strip("[]"))
    except ValueError:
        raise click.UsageError(
            f"--bind takes an IP address, got {bind!r}; use 0.0.0.0 to listen on all addresses"
        ) from None
    if is_open and not address.is_loopback:
        raise click.UsageError(f"--open lets in everyone who can connect, and {bind} is not a loopback address")
    return str(address)


def _operators(text: str, known: frozenset[str]) -> frozenset[str]:
    if text in {"all", "none"}:
        return known if text == "all" else frozenset()
    wanted = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not wanted:
        raise click.UsageError("--operators names none; to run without any say none")
    if "all" in wanted:
        wanted = (wanted - {"all"}) | known
    return wanted | {HOUSEKEEPING}


def _described(names: frozenset[str]) -> list[Description]:
    """Report an unknown operator, or one with invalid kinds, before anything is started."""
    from homeostat.operators.catalog import BrokenOperatorError, UnknownOperatorError, find_operator

    try:
        return [find_operator(name) for name in sorted(names - {HOUSEKEEPING})]
    except BrokenOperatorError as error:
        raise Failure(str(error)) from error
    except UnknownOperatorError as error:
        raise click.UsageError(
            f"{error}; --operators also takes all and none (which leaves out housekeeping, too)"
        ) from error


def _serve(settings: Settings, ahead: IssuedAhead | None, verbosity: int) -> None:
    from homeostat.cli.console.logs import set_up_logging
    from homeostat.edge.loop import run
    from homeostat.plane import FaceError
    from homeostat.runtime.telemetry.settings import TelemetryError
    from homeostat.server.pki.directory import PkiError
    from homeostat.store.base import StoreError

    raise_file_limit()
    collect_in_short_steps()
    set_up_logging(verbosity)
    try:
        run(_until_stopped(settings, ahead))
    except (StoreError, PkiError, TelemetryError, FaceError) as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(_why_not_served(error, settings)) from error


async def _until_stopped(settings: Settings, ahead: IssuedAhead | None) -> None:
    from homeostat.cli.console.stop import Stop
    from homeostat.plane import open_plane
    from homeostat.runtime.background import background
    from homeostat.runtime.telemetry.settings import telemetry

    stop = Stop("the plane", within_s=_STOP_WITHIN_S)
    stop.listen()
    metrics = _PlaneMetrics()
    async with (
        telemetry(metrics, last_export_s=1.0) as tracer,
        open_plane(settings, tracer=tracer, ahead=ahead) as plane,
    ):
        metrics.plane = plane
        click.echo(welcome(plane))
        systemd.report(systemd.READY)
        settle_heap()
        gc.enable()
        async with background(release_regularly()):
            await stop.wait()
        systemd.report(systemd.STOPPING)
    stop.report_end()


class _PlaneMetrics:
    """Metrics of the plane. The exporter starts before the plane does, so there are none at first."""

    plane: Plane | None = None

    def collect(self) -> Iterable[Metric]:
        return self.plane.app.metrics.collect() if self.plane is not None else ()


def _why_not_served(error: OSError, settings: Settings) -> str:
    where = f"{settings.bind}:{settings.port}"
    if error.filename is not None:
        option = "file with --audit-log" if error.filename == str(settings.audit_log) else "directory with --data"
        return f"cannot use {error.filename}: {error.strerror}; choose another {option}"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"{settings.data} is on a full disk; free space, or choose another directory with --data"
        case errno.EADDRINUSE:
            return f"{where} is in use; stop what listens there or choose another port with --port"
        case errno.EADDRNOTAVAIL | errno.EAFNOSUPPORT:
            return f"{settings.bind} is not an address of this machine; choose another with --bind"
        case errno.EACCES:
            return f"{where} needs permissions that this user does not have; choose a port above 1023 with --port"
    return f"cannot serve at {where}: {error.strerror or error}"
