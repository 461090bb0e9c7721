"""All checks of `homeostat doctor`, in order. The support bundle contains their findings as well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import msgspec

from homeostat.cli.console.kubeconfig import kubeconfig_paths
from homeostat.cli.doctor.data import check_data
from homeostat.cli.doctor.metrics import check_metrics, read_metrics
from homeostat.cli.doctor.objects import check_objects
from homeostat.cli.doctor.operators import check_operator, is_installed, served_kinds
from homeostat.cli.doctor.postgres import check_postgres
from homeostat.cli.doctor.report import CONNECTION
from homeostat.cli.doctor.server import (
    check_certificates,
    check_clock,
    check_leases,
    check_readiness,
    check_version,
    is_plane,
)
from homeostat.cli.operators.choice import described_operators
from homeostat.client.base import Client, UnreachableError
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_endpoint
from homeostat.client.http.transport import open_transport
from homeostat.objects.errors import ApiError
from homeostat.runtime.checkup import Finding


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What is examined. Without `data` it is only a server, without a kubeconfig only a data directory."""

    data: Path | None = None
    database: Path | str | None = None
    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    operators: str = ""
    """As of `--operators`; empty for those whose kinds the server has."""
    health: str = ""
    """The URL of the health port of a process of `homeostat run`."""

    def endpoint(self) -> Endpoint:
        """`KubeconfigError` if there is none."""
        own = self.data / "kubeconfig" if self.data is not None and not self.kubeconfig else None
        return load_endpoint(
            [own] if own is not None and own.exists() else kubeconfig_paths(self.kubeconfig), context=self.context
        )


async def examine(subject: Subject, now: datetime) -> AsyncIterator[Finding]:
    if subject.data is not None:
        for each in await asyncio.to_thread(lambda: list(check_data(subject.data or Path(), subject.database, now))):
            yield each
    if isinstance(subject.database, str):
        for each in await check_postgres(subject.database, subject.data):
            yield each
    if subject.health:
        async for each in _examine_process(subject.health):
            yield each
    try:
        endpoint = subject.endpoint()
    except KubeconfigError as error:
        yield Finding(
            "kubeconfig", "SKIPPED" if subject.data or subject.database or subject.health else "FAIL", str(error)
        )
        return
    try:
        async with open_transport(endpoint) as transport:
            async for each in _examine_server(Client(transport), endpoint, subject, now):
                yield each
    except UnreachableError as error:
        yield Finding(CONNECTION, "FAIL", str(error), "start the server (homeostat up), or name another kubeconfig")
    except ApiError as error:
        yield Finding("access", "FAIL", error.message, "use other credentials (--kubeconfig, --context)")


async def _examine_process(url: str) -> AsyncIterator[Finding]:
    try:
        async with open_transport(Endpoint(server=url)) as transport:
            client = Client(transport)
            yield _renamed(await check_readiness(client), "process")
            async for each in _examine_metrics(client):
                yield _renamed(each, "process")
    except (UnreachableError, KubeconfigError) as error:
        remedy = "name the address of --health of homeostat run, and forward its port if it is in a cluster"
        yield Finding("process", "FAIL", str(error), remedy)


async def _examine_server(
    client: Client, endpoint: Endpoint, subject: Subject, now: datetime
) -> AsyncIterator[Finding]:
    version = await client.request("GET", "/version")
    yield check_version(version)
    yield await check_readiness(client)
    namespace = subject.namespace or endpoint.namespace
    yield await check_clock(client, namespace, now)
    async for each in check_certificates(endpoint, now):
        yield each
    async for each in check_leases(client, now):
        yield each
    if is_plane(version):
        async for each in _examine_metrics(client):
            yield each
    async for each in _examine_operators(client, subject, namespace, has_election=not is_plane(version)):
        yield each


async def _examine_metrics(client: Client) -> AsyncIterator[Finding]:
    samples = await read_metrics(client)
    if isinstance(samples, Finding):
        yield samples
        return
    for each in check_metrics(samples):
        yield each


async def _examine_operators(
    client: Client, subject: Subject, namespace: str, *, has_election: bool
) -> AsyncIterator[Finding]:
    served = await served_kinds(client)
    chosen = described_operators(subject.operators or "all")
    if not subject.operators:
        chosen = {name: each for name, each in chosen.items() if is_installed(each, served)}
    if not chosen:
        remedy = "to install those of all operators: homeostat crds | kubectl apply --server-side -f -"
        yield Finding("operators", "SKIPPED", "the server has no kind of an operator", remedy)
    for name, each in chosen.items():
        async for found in check_operator(client, each, served, leases=namespace if has_election else ""):
            yield _renamed(found, name)
        yield _renamed(await check_objects(client, each, served), name)


def _renamed(finding: Finding, prefix: str) -> Finding:
    return msgspec.structs.replace(finding, check=f"{prefix}: {finding.check}")
