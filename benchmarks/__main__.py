"""`python -m benchmarks`: see `--help`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from benchmarks.bench import QUICK, Scale
from benchmarks.load import UnexpectedAnswerError
from benchmarks.target import Target
from benchmarks.usage import Processes
from homeostat.edge.loop import run

T = TypeVar("T")


def _run(work: Coroutine[Any, Any, T]) -> T:
    """An unexpected answer ends the command with its message, also from within a task group."""
    try:
        return run(work)
    except BaseExceptionGroup as errors:
        found: BaseException | None = errors.subgroup(UnexpectedAnswerError)
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        if found is None:
            raise
        raise found from errors


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quick", is_flag=True, help="Fewer objects and rounds: a first impression in half a minute.")
@click.option("--n", "objects", type=click.IntRange(10, 100_000), help="How many objects.  [default: 5000]")
@click.option("--json", "path", type=click.Path(path_type=Path), help="Write the figures to this file too.")
@click.option("--server", metavar="URL", help="Load this server on loopback instead of a plane of its own.")
@click.option("--token", default="", help="Bearer token for --server.")
@click.option("--pid", "pids", multiple=True, metavar="NAME=PID", help="A process of --server, for CPU and memory.")
@click.pass_context
def main(
    context: click.Context,
    quick: bool,
    objects: int | None,
    path: Path | None,
    server: str | None,
    token: str,
    pids: tuple[str, ...],
) -> None:
    """Load a plane phase by phase and compare it with a real kube-apiserver.

    \b
    Examples:
      python -m benchmarks --quick
      python -m benchmarks --json figures.json
      python -m benchmarks --server https://127.0.0.1:6443 --token T --pid apiserver=123 --pid etcd=124
      python -m benchmarks scaling
    """
    if context.invoked_subcommand is not None:
        return
    from benchmarks.compare import load_another, load_own
    from benchmarks.reference import references
    from benchmarks.report import console, show

    scale = QUICK if quick else Scale()
    if objects is not None:
        scale = msgspec.structs.replace(scale, objects=objects)
    if server is None:
        report = _run(load_own(scale, is_quick=quick))
    else:
        target, processes = _target(server, token), Processes(_pid(text) for text in pids)
        report = _run(load_another(scale, target, processes))
    show(report, references(), console())
    if path is not None:
        report.save(path)


def _target(url: str, token: str) -> Target:
    try:
        return Target.of(url, token)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _pid(text: str) -> int:
    _, _, number = text.rpartition("=")
    if not number.isdecimal():
        raise click.UsageError(f"--pid takes NAME=PID, got {text!r}")
    return int(number)


@main.command()
@click.option("--objects", "sizes", default="1000,10000,100000", show_default=True, help="Numbers of objects.")
@click.option("--watchers", "crowds", default="10,100,500,2000", show_default=True, help="Numbers of watchers.")
@click.option("--minutes", type=click.FloatRange(0.1, 120), default=20, show_default=True, help="End after this time.")
@click.option("--quick", is_flag=True, help="Fewer objects and watchers: within a minute.")
def scaling(sizes: str, crowds: str, minutes: float, quick: bool) -> None:
    """Show what an object and a watcher cost as they become many."""
    from benchmarks.scaling import show_scaling

    if quick:
        sizes, crowds = "500,2000", "10,50"
    _run(show_scaling(_numbers(sizes), _numbers(crowds), minutes=minutes))


def _numbers(text: str) -> list[int]:
    try:
        return [int(each) for each in text.split(",") if each]
    except ValueError:
        raise click.UsageError(f"expected numbers with commas between them, got {text!r}") from None


@main.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--minutes", type=click.FloatRange(0.1, 120), default=10, show_default=True, help="How long.")
def alternate(checkout: Path, minutes: float) -> None:
    """Compare this tree with another checkout, in short turns.

    \b
    Example:
      git worktree add ../before HEAD~10 && make -C ../before dev
      python -m benchmarks alternate ../before
    """
    from benchmarks.alternate import show_alternation

    _run(show_alternation(checkout.resolve(), minutes=minutes))


@main.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rounds", default=4, show_default=True, type=click.IntRange(2, 100), help="How many turns of each.")
@click.option("--profile", type=click.Path(path_type=Path), help="Keep the profiles of callgrind in this folder.")
def instructions(checkout: Path, rounds: int, profile: Path | None) -> None:
    """Compare this tree with another checkout by instructions a request, with valgrind.

    The count hardly depends on who else uses the machine.

    \b
    Example:
      git worktree add ../before HEAD~10 && make -C ../before dev
      python -m benchmarks instructions ../before
    """
    from benchmarks.instructions import show_instructions

    _run(show_instructions(checkout.resolve(), rounds=rounds, profile=profile))


@main.command()
@click.argument("checkout", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1, 100), help="How many starts of each.")
def start(checkout: Path | None, rounds: int) -> None:
    """Time the start of an empty plane with all operators, and its idle memory.

    With another checkout its starts alternate with those of this tree.
    """
    from benchmarks.start import show_starts

    show_starts(checkout.resolve() if checkout else None, rounds=rounds)


@main.command()
def cel() -> None:
    """Time expressions of rules and policies."""
    from benchmarks.cel import show_expressions

    show_expressions()


@main.command()
def store() -> None:
    """Time durable writes and the replay of the log, without a server."""
    from benchmarks.store import show_store

    _run(show_store())


@main.command()
@click.option("--quick", is_flag=True, help="Fewer objects and one server: within a minute.")
def runtime(quick: bool) -> None:
    """Measure an operator of ours against one of kopf's."""
    from benchmarks.runtime import comparison as bench

    _run(bench.show_runtime(bench.QUICK if quick else bench.FULL))


@main.command()
@click.option("--quick", is_flag=True, help="Shorter phases: within two minutes.")
def replicas(quick: bool) -> None:
    """Measure crowds of writers and lag of watches by store and number of replicas, beside etcd."""
    from benchmarks.replicas import comparison as bench

    _run(bench.show_replicas(bench.QUICK if quick else bench.Load()))


@main.command()
@click.option("--quick", is_flag=True, help="Fewer files and Pods: within a minute.")
@click.option("--build-gator", is_flag=True, help="Build gatekeeper's gator first, which downloads Go modules.")
def policy(quick: bool, build_gator: bool) -> None:
    """Measure the policy operator, and its check of files beside gatekeeper's where that was built."""
    from benchmarks.policy import comparison as bench
    from benchmarks.policy import files

    if build_gator:
        files.build_gator()
    _run(bench.show_policy(bench.QUICK if quick else bench.FULL))


@main.command()
@click.option("--bundles", default=1000, show_default=True, type=click.IntRange(1, 100_000), help="How many.")
def bundles(bundles: int) -> None:
    """Time the validation of bundles of service contracts, from the shell."""
    from benchmarks.bundles import show_bundles

    show_bundles(bundles, starts=11)


@main.command()
@click.option("--quick", is_flag=True, help="Fewer Pactos: within a minute.")
def contracts(quick: bool) -> None:
    """Measure the contracts operator: many Pactos on one plane."""
    from benchmarks.contracts import comparison as bench

    _run(bench.show_contracts(bench.QUICK if quick else bench.FULL))


@main.command()
@click.option("--quick", is_flag=True, help="Fewer Deployments and files: within a minute.")
def images(quick: bool) -> None:
    """Measure the images operator: many Deployments of one manifests repository, beside full clones."""
    from benchmarks.images import comparison as bench

    # The git server of the tests is made for asyncio's own loop.
    asyncio.run(bench.show_images(bench.QUICK if quick else bench.FULL))


@main.command()
@click.option("--quick", is_flag=True, help="The operator alone: within two minutes.")
def sync(quick: bool) -> None:
    """Measure the sync operator and its commands: 10,000 resources of a REST server."""
    from benchmarks.sync import commands, operator

    if not quick:
        commands.main()
    # The git server of the tests is made for asyncio's own loop.
    asyncio.run(operator.main())


@main.command()
@click.option("--quick", is_flag=True, help="Fewer resources, half the time: within two minutes.")
def actions(quick: bool) -> None:
    """Measure the actions operator: many resources due all the time."""
    from benchmarks.actions import comparison as bench

    _run(bench.show_actions(bench.QUICK if quick else bench.FULL))


@main.command()
@click.option("--pods", default=20_000, show_default=True, type=click.IntRange(100, 100_000), help="How many.")
def workloads(pods: int) -> None:
    """Measure simulated workloads: the CPU and time of many Pods until they are available."""
    from benchmarks.workloads import show_workloads

    show_workloads(pods)


@main.command()
@click.option("--minutes", default=10.0, show_default=True, type=click.FloatRange(0.05, 24 * 60), help="How long.")
@click.option("--attacks", default="all", show_default=True, metavar="all|A,B", help="Which hostile clients.")
@click.option("--p99-ms", default=100.0, show_default=True, help="Bound of /readyz on another connection.")
@click.option("--growth-mib", default=24.0, show_default=True, help="Bound of the growth of memory.")
@click.option("--turn-ms", default=100.0, show_default=True, help="Bound of the CPU time of a turn of the event loop.")
def soak(minutes: float, attacks: str, p99_ms: float, growth_mib: float, turn_ms: float) -> None:
    """Load a plane for long, with hostile clients among honest ones, and fail if a bound is broken."""
    from benchmarks.soak.attacks import ATTACKS
    from benchmarks.soak.report import show_soak
    from benchmarks.soak.soak import Bounds, Scale
    from benchmarks.soak.soak import soak as run_soak

    names = tuple(ATTACKS) if attacks == "all" else tuple(attacks.split(","))
    if unknown := [each for each in names if each not in ATTACKS]:
        raise click.UsageError(f"unknown attack {unknown[0]!r}; there are {', '.join(ATTACKS)}")
    result = _run(run_soak(Scale(minutes * 60, names=names)))
    if not show_soak(result, Bounds(p99_ms=p99_ms, growth_mib=growth_mib, turn_ms=turn_ms)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
