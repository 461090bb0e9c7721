"""The contracts that a question is about, with what runs of them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from homeostat.cli.console.connection import connection_options, open_connection
from homeostat.cli.console.failure import Failure, UsageFailure
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.contracts.engine.checks.verdict import REFERENCE
from homeostat.operators.contracts.engine.document.contract import Contract, Service
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.files import CONTRACT_FILE
from homeostat.operators.contracts.engine.services.instance import read_instance
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.sources.directory import Directory
from homeostat.operators.contracts.sources.errors import SourceError

F = TypeVar("F", bound=Callable[..., Any])
MAX_CONTRACTS: Final = 20_000
"""Of one directory."""


class Member(msgspec.Struct, frozen=True):
    contract: Contract
    place: str
    """Namespace and name of the Pacto, or the directory."""
    is_running: bool = True


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    members: tuple[Member, ...]
    where: str
    """What was asked, for people."""
    problems: tuple[str, ...] = ()
    """Contracts that could not be read."""

    @property
    def contracts(self) -> list[Contract]:
        return [each.contract for each in self.members]

    @property
    def running(self) -> dict[str, set[str]]:
        """Versions by service."""
        found: dict[str, set[str]] = defaultdict(set)
        for each in self.members:
            if each.is_running and each.contract.service.version:
                found[each.contract.service.name].add(each.contract.service.version)
        return found

    def places(self, service: str) -> list[str]:
        return [each.place for each in self.members if each.contract.service.name == service]


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `fleet_options`."""

    contracts: str = ""
    all_namespaces: bool = False
    namespace: str = ""
    context: str = ""
    kubeconfig: str = ""


def fleet_options(function: F) -> F:
    function = connection_options(function)
    function = click.option("-A", "--all-namespaces", is_flag=True, help="Read the whole cluster, not one namespace.")(
        function
    )
    return click.option(
        "--contracts",
        default="",
        metavar="DIRECTORY",
        help="Read the contracts below this directory instead of the Pactos of a cluster.",
    )(function)


async def read_fleet(where: Where) -> Fleet:
    if not where.contracts:
        return await _live(where)
    if where.all_namespaces or where.context or where.kubeconfig or where.namespace:
        raise click.UsageError("--contracts excludes -A, -n, --context and --kubeconfig")
    return read_directory(where.contracts)


async def _live(where: Where) -> Fleet:
    from homeostat.operators.contracts.api import PACTO

    async with open_connection(where.kubeconfig, context=where.context, namespace=where.namespace) as connection:
        namespace = "" if where.all_namespaces else connection.namespace
        try:
            objects, _ = await connection.client.list(PACTO.kind.path(namespace))
        except NotFoundError as error:
            hint = "is the operator installed? (homeostat up --operators contracts)"
            raise Failure(f"the server does not serve the kind Pacto; {hint}") from error
    place = "all namespaces" if where.all_namespaces else f"namespace {namespace}"
    return Fleet(members=tuple(map(_member, objects)), where=place)


def _member(pacto: JsonObject) -> Member:
    metadata, status = pacto.get("metadata", {}), pacto.get("status") or {}
    target = (pacto.get("spec") or {}).get("target") or {}
    namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
    found = read_instance(namespace, name, status=encode(status), target=str(target.get("serviceName") or ""))
    workload = (status.get("resources") or {}).get("workload") or {}
    contract = Contract(service=Service(name=found.service, version=found.version), dependencies=found.dependencies)
    is_running = bool(target) and found.status != REFERENCE and workload.get("exists") is not False
    return Member(contract, f"{namespace}/{name}", is_running)


def read_directory(path: str) -> Fleet:
    """The contracts in a directory and below it."""
    if not os.path.isdir(path):
        raise UsageFailure(f"there is no directory {path}")
    members: list[Member] = []
    problems: list[str] = []
    for place in _bundles(path):
        try:
            members.append(Member(load(Directory(place)).contract, place))
        except (SourceError, ParseError) as error:
            problems.append(f"{place}: {error}")
    if not members and not problems:
        raise UsageFailure(f"there is no {CONTRACT_FILE} in {path} or below it")
    return Fleet(members=tuple(members), where=path, problems=tuple(problems))


def _bundles(path: str) -> Iterator[str]:
    """Directories with a contract, in a stable order; hidden ones are skipped."""
    count = 0
    for home, directories, files in os.walk(path):
        directories[:] = sorted(each for each in directories if not each.startswith("."))
        if CONTRACT_FILE in files:
            count += 1
            if count > MAX_CONTRACTS:
                raise UsageFailure(f"{path} holds more than {MAX_CONTRACTS} contracts; name a part of it")
            yield str(Path(home))
