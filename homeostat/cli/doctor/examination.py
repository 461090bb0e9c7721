"""All checks of `homeostat doctor`, in order. The support bundle contains their findings as well."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from homeostat.cli.auth.credential import refused_credential
from homeostat.cli.console.connection import remedy_of, root_of
from homeostat.cli.console.kubeconfig import kubeconfig_paths, shown_paths
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
from homeostat.cli.doctor.webhooks import check_webhooks
from homeostat.cli.operators.choice import described_operators
from homeostat.client.base import Client, UnreachableError
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_endpoint
from homeostat.client.http.transport import open_transport
from homeostat.objects.errors import ApiError, ForbiddenError, UnauthorizedError
from homeostat.runtime.checkup import Finding

_NO_KUBECONFIG: Final = "start a plane (homeostat up), or name another with --kubeconfig and --context"


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
        paths = self.kubeconfigs()
        if self._is_of_data() and not os.access(paths[0], os.F_OK):
            raise KubeconfigError(f"no plane has started on {self.data}, so no server is checked")
        return load_endpoint(paths, context=self.context)

    def means_server(self) -> bool:
        """Whether the user asks about a server, and not only about what else was named."""
        return bool(self.kubeconfig or self.context) or not (self.data or self.database or self.health)

    def kubeconfigs(self) -> list[Path]:
        """Of a data directory its own alone: another one is that of another plane."""
        if self.data is not None and self._is_of_data():
            return [self.data / "kubeconfig"]
        return kubeconfig_paths(self.kubeconfig)

    def _is_of_data(self) -> bool:
        return self.data is not None and not (self.kubeconfig or self.context)


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
        if not subject.means_server():
            yield Finding("kubeconfig", "SKIPPED", str(error))
            return
        detail, _, remedy = str(error).partition("; ")
        # The error of a missing one says itself what to do.
        is_known = "homeostat up" in remedy
        yield Finding("kubeconfig", "FAIL", detail if is_known else str(error), remedy if is_known else _NO_KUBECONFIG)
        return
    async for each in _examine_endpoint(endpoint, subject, now):
        yield each


async def _examine_endpoint(endpoint: Endpoint, subject: Subject, now: datetime) -> AsyncIterator[Finding]:
    try:
        async with open_transport(endpoint) as transport:
            async for each in _examine_server(Client(transport), endpoint, subject, now):
                yield each
    except UnreachableError as error:
        yield Finding(CONNECTION, "FAIL", str(error), remedy_of(error))
        if isinstance(root_of(error), ssl.SSLError):
            async for each in check_certificates(endpoint, now):
                yield each
    except UnauthorizedError as error:
        advice = refused_credential(endpoint, shown_paths(subject.kubeconfigs()))
        detail, _, remedy = advice.partition("; ")
        yield Finding("access", "FAIL", f"{error.message}: {detail}", remedy)
    except ForbiddenError as error:
        yield Finding("access", "FAIL", error.message, "use other credentials (--kubeconfig, --context)")
    except ApiError as error:
        yield Finding(
            "access", "FAIL", error.message.strip(), "check the address in the kubeconfig, also http or https"
        )


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
    yield await check_webhooks(client)
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
