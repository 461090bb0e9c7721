"""`homeostat contract can-deploy`: do the versions that run fit this one, and this one those that need it?

Exit codes: 0 yes, 1 no, 2 wrong usage, 3 a server cannot be reached, 4 yes as far as contracts could be read.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

import click
import msgspec

from homeostat.cli.console.connection import reporting_errors
from homeostat.cli.console.failure import print_warning
from homeostat.cli.console.table import Table
from homeostat.cli.contract.fleet.fleet import Fleet, Where, fleet_options, read_fleet
from homeostat.cli.contract.session.result import failures, print_result
from homeostat.cli.contract.session.session import Session
from homeostat.cli.contract.session.settings import Settings, current_settings
from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.fleet import Obstacle, broken_by, can_deploy

REFUSED: Final = 1
UNREADABLE: Final = 4


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    contract: Contract
    where: str
    current: tuple[str, ...]
    """The versions of the service that run."""
    unmet: tuple[Obstacle, ...]
    """Dependencies of this version that what runs does not satisfy."""
    broken: tuple[Obstacle, ...]
    """Services that exclude this version."""

    def is_refused(self, *, is_strict: bool) -> bool:
        return any(each.is_required or is_strict for each in (*self.unmet, *self.broken))

    def fields(self, *, is_strict: bool) -> JsonObject:
        return {
            "service": self.contract.service.name,
            "version": self.contract.service.version,
            "running": list(self.current),
            "canDeploy": not self.is_refused(is_strict=is_strict),
            "unmet": [_fields(each) for each in self.unmet],
            "breaks": [_fields(each) for each in self.broken],
        }


@click.command(short_help="Check a version against the versions that run.")
@click.argument("ref", metavar="[BUNDLE]", default=".")
@fleet_options
@click.option("--strict", is_flag=True, help="Optional dependencies count, too.")
def command(ref: str, strict: bool, **where: Any) -> None:
    """Answer whether the version of BUNDLE can be deployed beside what runs.

    It can if each of its required dependencies runs in a version that its compatibility allows, and if no service that
    requires it excludes this version. What runs is read from the Pactos of a cluster that have a workload, by default
    of one namespace, or from a directory of contracts.

    \b
    Exit codes:
      0  it can be deployed
      1  it cannot: a required dependency is missing or incompatible, or a service would break
      2  wrong usage, or there is no such contract
      3  the cluster or the registry cannot be reached
      4  it can, but some contracts could not be read

    \b
    Examples:
      homeostat contract can-deploy billing -n shop
      homeostat contract can-deploy oci://registry.example.org/contracts/billing:2.0.0 -A
      homeostat contract can-deploy billing --contracts environments/production -o json
    """
    chosen = current_settings()
    with reporting_errors(), failures():
        answer, fleet = asyncio.run(_ask(chosen, ref, Where(**where)))
    for each in fleet.problems:
        print_warning(each)
    if chosen.output == "json":
        print_result(chosen, lambda: answer.fields(is_strict=strict), lambda: "")
    else:
        _print(answer, is_refused=answer.is_refused(is_strict=strict))
    if answer.is_refused(is_strict=strict):
        sys.exit(REFUSED)
    if fleet.problems:
        sys.exit(UNREADABLE)


async def _ask(chosen: Settings, ref: str, where: Where) -> tuple[Answer, Fleet]:
    async with Session(chosen) as session:
        contract = (await session.load(ref)).parsed.contract
    fleet = await read_fleet(where)
    service = contract.service
    others = [each.contract for each in fleet.members if each.is_running]
    running = fleet.running
    answer = Answer(
        contract=contract,
        where=fleet.where,
        current=tuple(sorted(running.get(service.name, ()))),
        unmet=tuple(can_deploy(contract, running)),
        broken=tuple(dict.fromkeys(broken_by(service.name, service.version, others))),
    )
    return answer, fleet


def _print(answer: Answer, *, is_refused: bool) -> None:
    rows = [_row(each, each.dependency, each.reason) for each in answer.unmet]
    rows += [_row(each, f"{each.service} (dependent)", "Breaks") for each in answer.broken]
    if rows:
        Table(("NEED", "SERVICE", "WANTED", "FOUND", "REASON")).print(rows)
        click.echo()
    service = answer.contract.service
    current = f"; {', '.join(answer.current)} runs" if answer.current else ""
    verdict = "cannot be deployed" if is_refused else "can be deployed"
    click.echo(f"{service.name} {service.version} {verdict} ({answer.where}{current})")


def _row(obstacle: Obstacle, service: str, reason: str) -> tuple[str, ...]:
    need = "required" if obstacle.is_required else "optional"
    return need, service, obstacle.wanted, obstacle.running or "-", reason


def _fields(obstacle: Obstacle) -> JsonObject:
    return {
        "service": obstacle.service,
        "dependency": obstacle.dependency,
        "compatibility": obstacle.wanted,
        "version": obstacle.running,
        "required": obstacle.is_required,
        "reason": obstacle.reason,
    }
