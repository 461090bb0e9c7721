"""`homeostat contract impact`: which services a change of one affects, directly and transitively.

Exit codes: 0, or 1 if more services than `--max` are affected; 2 wrong usage, 3 a server cannot be reached.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

import click
import msgspec

from homeostat.cli.console.connection import reporting_errors
from homeostat.cli.console.failure import UsageFailure, print_warning
from homeostat.cli.console.table import Table
from homeostat.cli.contract.fleet.fleet import Fleet, Where, fleet_options, read_fleet
from homeostat.cli.contract.session.result import failures, print_result
from homeostat.cli.contract.session.session import Session
from homeostat.cli.contract.session.settings import Settings, current_settings
from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.fleet import Affected, affected_by, broken_by
from homeostat.operators.contracts.engine.reference import is_oci

EXCEEDED: Final = 1
UNREADABLE: Final = 4


class Impact(msgspec.Struct, frozen=True, kw_only=True):
    service: str
    version: str
    affected: tuple[Affected, ...]
    excluded: frozenset[str]
    """Direct dependents that exclude the version."""

    @property
    def blast_radius(self) -> int:
        """The services that require this one, directly or transitively."""
        return sum(each.is_required for each in self.affected)

    def fields(self, fleet: Fleet) -> JsonObject:
        return {
            "service": self.service,
            "version": self.version,
            "blastRadius": self.blast_radius,
            "affected": [
                {
                    "service": each.service,
                    "distance": each.distance,
                    "via": each.via,
                    "required": each.is_required,
                    "excluded": each.service in self.excluded,
                    "places": fleet.places(each.service),
                }
                for each in self.affected
            ],
        }


@click.command(short_help="List the services that a change affects.")
@click.argument("service", metavar="SERVICE|BUNDLE")
@click.option("--version", "version", default="", metavar="VERSION", help="Mark dependents that exclude this version.")
@click.option("--max", "most", type=click.IntRange(0), help="Exit with 1 if more services than this require it.")
@fleet_options
def command(service: str, version: str, most: int | None, **where: Any) -> None:
    """List the services that depend on a service, directly and transitively.

    SERVICE is its name. A BUNDLE is a path with a slash, "." or an oci:// reference: then it is the service and the
    version of that contract.

    The blast radius is the number of services that require it: each dependency on the way is required. Others are
    reached over an optional dependency. Contracts are read from the Pactos of a cluster, or from a directory.

    \b
    Exit codes:
      0  listed
      1  more services than --max require it
      2  wrong usage, or no contract names the service
      3  the cluster cannot be reached
      4  some contracts could not be read

    \b
    Examples:
      homeostat contract impact billing -A
      homeostat contract impact billing --version 2.0.0 --contracts environments/production
      homeostat contract impact ./billing -n shop
      homeostat contract impact billing -A --max 5 -o json
    """
    chosen = current_settings()
    with reporting_errors(), failures():
        service, version, fleet = asyncio.run(_read(chosen, service, version, Where(**where)))
    for each in fleet.problems:
        print_warning(each)
    found = _impact(fleet, service, version)
    if chosen.output == "json":
        print_result(chosen, lambda: found.fields(fleet), lambda: "")
    else:
        _print(found, fleet)
    if most is not None and found.blast_radius > most:
        sys.exit(EXCEEDED)
    if fleet.problems:
        sys.exit(UNREADABLE)


async def _read(chosen: Settings, service: str, version: str, where: Where) -> tuple[str, str, Fleet]:
    if is_oci(service) or "/" in service or service in (".", ".."):
        async with Session(chosen) as session:
            found = (await session.load(service)).parsed.contract.service
        service, version = found.name, version or found.version
    return service, version, await read_fleet(where)


def _impact(fleet: Fleet, service: str, version: str) -> Impact:
    affected = tuple(affected_by(service, fleet.contracts))
    if not affected and not fleet.places(service):
        raise UsageFailure(f'no contract of {fleet.where} is for "{service}" or depends on it')
    excluding = broken_by(service, version, fleet.contracts) if version else []
    return Impact(
        service=service, version=version, affected=affected, excluded=frozenset(each.service for each in excluding)
    )


def _print(found: Impact, fleet: Fleet) -> None:
    rows = [
        (
            each.service,
            "required" if each.is_required else "optional",
            str(each.distance),
            each.via,
            "excludes it" if each.service in found.excluded else "",
            ", ".join(fleet.places(each.service)),
        )
        for each in found.affected
    ]
    named = f"{found.service} {found.version}".rstrip()
    if rows:
        Table(("SERVICE", "NEED", "DISTANCE", "VIA", "VERSION", "CONTRACT")).print(rows)
        click.echo()
    click.echo(f"{named}: {found.blast_radius} of {len(rows)} dependent services require it ({fleet.where})")
