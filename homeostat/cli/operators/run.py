"""`homeostat run`: runs operators in this process, on any Kubernetes API, until a signal ends it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from homeostat.cli.console.connection import reporting_errors
from homeostat.cli.console.endpoint import KUBECONFIG_HELP, chosen_endpoint, read_address, why_not_listening
from homeostat.cli.console.failure import Failure
from homeostat.cli.operators.checks import check_kinds, check_lease_namespace, warn_of_missing_namespace
from homeostat.cli.operators.choice import asleep_line, check_environments, described_operators, operators_option
from homeostat.cli.operators.faces.options import (
    RunFaceCommand,
    credential_options,
    face_options,
    setting_environment,
)
from homeostat.cli.operators.faces.places import RunFaces, check_faces, run_faces
from homeostat.cli.operators.faces.serving import face_lines, serve_beside
from homeostat.cli.operators.hosted import refuse_cluster, refuse_hosted
from homeostat.cli.operators.programs import environment_with, programs_option, refuse_programs
from homeostat.edge.process.files import raise_file_limit
from homeostat.edge.process.heap import bound_allocator, collect_in_short_steps, release_regularly

if TYPE_CHECKING:
    from homeostat.client.base import Client
    from homeostat.client.endpoint.endpoint import Endpoint
    from homeostat.runtime.description import Description
    from homeostat.runtime.faces.hosting import ServedFace
    from homeostat.runtime.manager import Manager

_GRACE_S = 20.0
_STOP_WITHIN_S = 28.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    kubeconfig: str
    context: str
    namespace: str
    named: str
    operators: dict[str, Description]
    environment: dict[str, str] = field(repr=False)
    has_election: bool
    leases: str
    is_dry_run: bool
    health: tuple[str, int] | None
    faces: RunFaces | None
    output: str | None


@click.command(cls=RunFaceCommand, short_help="Run operators on a cluster.")
@click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    help=KUBECONFIG_HELP,
)
@click.option("--context", default="", help="Context of the kubeconfig.  [default: its current one]")
@click.option(
    "-n",
    "--namespace",
    "--watch-namespace",
    default="",
    metavar="NS",
    help="Work on one namespace only.  [default: all]",
)
@operators_option
@programs_option
@click.option("--leader-elect", "has_election", is_flag=True, help="Elect a leader among replicas, by Leases.")
@click.option(
    "--lease-namespace", "leases", default="", metavar="NS", help="Namespace of the Leases.  [default: the context's]"
)
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Print what would be done, do nothing, and exit.")
@click.option(
    "--health",
    default="127.0.0.1:8081",
    show_default=True,
    metavar="ADDR:PORT|none",
    help="Where /healthz, /readyz and /metrics are.",
)
@credential_options
@click.option("-o", "--output", type=click.Choice(["json"]), help="How a dry run prints.  [default: a table]")
@click.option("-v", "--verbose", count=True, help="Log everything.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    operators: str,
    health: str,
    faces_open: bool,
    faces_cert: Path | None,
    faces_key: Path | None,
    faces_renew_secret: str,
    verbose: int,
    **options: Any,
) -> None:
    """Run operators on a Kubernetes API until Ctrl-C or SIGTERM.

    Exit codes: 0 after a signal or a dry run; 1 if a kind or namespace is missing, an operator is broken, the server
    is a plane that runs the operator itself, or a dry run fails for an object; 2 for wrong options; 3 if the server
    cannot be reached at the start. Later it waits for the server.

    \b
    Examples:
      homeostat crds | kubectl apply --server-side -f -
      homeostat run --context staging
      homeostat run --operators ./greeter.py --namespace default
      homeostat run --dry-run
      homeostat run --faces-open       # the REST API and other faces at port 8000, for this machine
      homeostat run --leader-elect --health 0.0.0.0:8081      # in a Pod, several replicas
    """
    from homeostat.cli.console.logs import set_up_logging
    from homeostat.edge.loop import run
    from homeostat.runtime.telemetry.settings import TelemetryError

    if faces_open:
        refuse_programs("--faces-open", allows_programs=options["allows_programs"])
    chosen = described_operators(operators)
    faces = run_faces(
        face_options(ctx),
        chosen.values(),
        is_open=faces_open,
        cert=faces_cert,
        key=faces_key,
        renew_secret=faces_renew_secret,
    )
    environment = {**environment_with(allows_programs=options.pop("allows_programs")), **setting_environment(ctx)}
    choice = Choice(
        named=operators, operators=chosen, environment=environment, faces=faces, health=_address(health), **options
    )
    check_environments(chosen.values(), environment)
    if faces is not None:
        check_faces(chosen.values(), environment)
    set_up_logging(1 + verbose)
    collect_in_short_steps()
    bound_allocator()
    raise_file_limit()
    try:
        with reporting_errors():
            run(_run(choice))
    except TelemetryError as error:
        raise Failure(str(error)) from error


def _address(text: str) -> tuple[str, int] | None:
    if text == "none":
        return None
    return read_address(text, option="--health", otherwise=" or none")


async def _run(choice: Choice) -> None:
    from homeostat.client.connect import open_client
    from homeostat.runtime.manager import Manager
    from homeostat.runtime.telemetry.metrics import Metrics
    from homeostat.runtime.telemetry.settings import telemetry

    endpoint = chosen_endpoint(choice.kubeconfig, choice.context)
    leases = (choice.leases or choice.namespace or endpoint.namespace) if choice.has_election else ""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(endpoint))
        metrics = Metrics()
        tracer = await stack.enter_async_context(telemetry(metrics))
        manager = Manager(
            client,
            namespace=choice.namespace,
            leases=leases,
            grace_s=_GRACE_S,
            environment=choice.environment,
            metrics=metrics,
            tracer=tracer,
        )
        await check_kinds(client, choice.operators, named=choice.named)
        await warn_of_missing_namespace(client, choice.namespace)
        asleep = await _add_operators(client, manager, choice)
        if choice.is_dry_run:
            from homeostat.cli.operators.dry_run import print_plans

            await print_plans(manager, choice.output)
        else:
            await refuse_cluster(client, choice.operators)
            await refuse_hosted(client, choice.operators, leases=leases)
            await check_lease_namespace(client, leases)
            served = await _serve_faces(stack, client, manager, choice, leases=leases, own_namespace=endpoint.namespace)
            await _operate(stack, manager, choice, endpoint, served, asleep)


async def _add_operators(client: Client, manager: Manager, choice: Choice) -> list[str]:
    """Add all operators; returns those that sleep until their first object. In a dry run none sleeps."""
    from homeostat.operators.catalog import BrokenOperatorError

    asleep = []
    for name, description in choice.operators.items():
        if not choice.is_dry_run and await _may_sleep(client, description, choice.namespace):
            manager.add_sleeping(description)
            asleep.append(name)
            continue
        module = description.load()
        try:
            manager.add(name, module.register, module.KINDS)
        except Exception as error:
            raise Failure(str(BrokenOperatorError(name, "be set up", error))) from error
    return asleep


async def _may_sleep(client: Client, description: Description, namespace: str) -> bool:
    from homeostat.objects.errors import ApiError
    from homeostat.runtime.presence import has_objects

    try:
        return bool(description.wakes) and not await has_objects(
            client, description.wakes, namespace=namespace, if_served=description.wakes_if_served
        )
    except ApiError:
        # An awake operator reports the error better than a sleeping one.
        return False


async def _serve_faces(
    stack: AsyncExitStack, client: Client, manager: Manager, choice: Choice, *, leases: str, own_namespace: str
) -> tuple[ServedFace, ...]:
    from homeostat.operators.catalog import declared_sections
    from homeostat.runtime.faces.face import Figures, Surroundings
    from homeostat.runtime.faces.private import NamespaceSecrets

    if choice.faces is None:
        return ()
    has_dashboard = choice.faces.has_dashboard

    def surroundings(is_open: bool, figures: Figures) -> Surroundings:
        return Surroundings(
            client=client,
            namespace=choice.namespace or "default",
            within=choice.namespace,
            environment=choice.environment,
            is_open=is_open,
            identity=lambda: manager.identity,
            leases=leases,
            private=NamespaceSecrets(client, choice.leases or own_namespace or "default"),
            figures=figures,
            offered=manager.offered,
            sections=declared_sections,
            has_dashboard=has_dashboard,
            operators=manager.states,
        )

    return await serve_beside(stack, choice.faces, surroundings, manager.metrics, client)


async def _operate(
    stack: AsyncExitStack,
    manager: Manager,
    choice: Choice,
    endpoint: Endpoint,
    served: tuple[ServedFace, ...],
    asleep: Sequence[str],
) -> None:
    from homeostat.cli.console.stop import Stop
    from homeostat.runtime.background import background
    from homeostat.runtime.telemetry.health import serve_health

    stop = Stop("the operators", within_s=_STOP_WITHIN_S)
    stop.listen()
    where = "none"
    if choice.health is not None:
        host, port = choice.health
        try:
            server = await stack.enter_async_context(
                serve_health(host, port, metrics=manager.metrics, ready={"operators": lambda: _not_ready(manager)})
            )
        except OSError as error:
            where = f"{host}:{port}"
            raise Failure(why_not_listening(error, where, option="--health", purpose="serve health")) from error
        where = f"http://{host}:{server.port}"
    click.echo(_welcome(choice, endpoint, where, served, asleep), err=True)
    async with background(release_regularly()), manager.running():
        await stop.wait()
    stop.report_end()


def _not_ready(manager: Manager) -> str:
    return "; ".join(manager.troubles())


def _welcome(
    choice: Choice, endpoint: Endpoint, where: str, served: tuple[ServedFace, ...], asleep: Sequence[str]
) -> str:
    lead = "by election" if choice.has_election else "from the start"
    return (
        f"Homeostat runs {', '.join(choice.operators)} on {endpoint.server}\n"
        f"  namespaces  {choice.namespace or 'all'}\n"
        f"  leads       {lead}\n"
        f"  health      {where}\n"
        f"{face_lines(served)}"
        f"{asleep_line(asleep)}"
        "  end it      Ctrl-C"
    )
