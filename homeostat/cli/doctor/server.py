"""Checks a server: version, readiness, clock, certificates, leases."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from homeostat import __version__
from homeostat.client.base import Client
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, LEASE
from homeostat.objects.time.timestamp import parse_time
from homeostat.runtime.checkup import Finding
from homeostat.server.pki.certificate import Certificate, read_certificate, read_pem

TEXT: Final = "text/plain"
_PLANE: Final = "+homeostat-"
_OLDEST: Final = (1, 30)
_OFF: Final = timedelta(seconds=5)
_FAR_OFF: Final = timedelta(minutes=1)
SOON: Final = timedelta(days=30)
_CONNECT_WITHIN_S: Final = 10.0
_OWN: Final = "homeostat-"
_STALE_TIMES: Final = 4
"""A lease that was not renewed for so many times its duration is not renewed any more."""


def is_plane(version: JsonObject) -> bool:
    return _PLANE in version.get("gitVersion", "")


def check_version(version: JsonObject) -> Finding:
    text = version.get("gitVersion", "of unknown version")
    shown = f"Kubernetes {text}"
    if is_plane(version):
        own = text.partition(_PLANE)[2]
        if own != __version__:
            return Finding("connection", "WARN", f"plane {own}, this command {__version__}", "use the same version")
        return Finding("connection", "OK", f"{shown}: a plane")
    numbers = tuple(int("".join(filter(str.isdigit, version.get(each, ""))) or 0) for each in ("major", "minor"))
    if numbers < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        return Finding("connection", "WARN", f"{shown} is older than {oldest}", f"use Kubernetes {oldest} or newer")
    return Finding("connection", "OK", shown)


async def check_readiness(client: Client) -> Finding:
    try:
        lines = (await client.fetch("GET", "/readyz", {"verbose": "true"}, accept=TEXT)).decode().splitlines()
    except ApiError as error:
        return Finding("readiness", "FAIL", error.message, "read the log of the server; check its disk or database")
    return Finding("readiness", "OK", f"{sum(line.startswith('[+]') for line in lines)} checks passed")


async def check_clock(client: Client, namespace: str, now: datetime) -> Finding:
    """The server's clock is that of an object which it would create; nothing is stored."""
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "homeostat-doctor-"}}
    try:
        made = await client.request("POST", CONFIG_MAP.path(namespace), {"dryRun": "All"}, body=obj)
        there = parse_time(made["metadata"]["creationTimestamp"])
    except (ApiError, KeyError, ValueError) as error:
        return Finding("clock", "SKIPPED", f"cannot read the server's clock: {error}")
    return judge_clock("clock", there, now)


def judge_clock(check: str, there: datetime, now: datetime) -> Finding:
    # A timestamp has whole seconds.
    off = max(abs(there - now) - timedelta(seconds=1), timedelta())
    detail = f"differs from the server's by {off.total_seconds():.0f} s"
    remedy = "synchronise the clocks of both machines (NTP): certificates, tokens and timestamps depend on them"
    if off > _FAR_OFF:
        return Finding(check, "FAIL", detail, remedy)
    return Finding(check, "WARN", detail, remedy) if off > _OFF else Finding(check, "OK", detail)


async def check_certificates(endpoint: Endpoint, now: datetime) -> AsyncIterator[Finding]:
    address = urlsplit(endpoint.server)
    if address.scheme == "https" and not endpoint.proxy:
        try:
            served = await _served(address.hostname or "", address.port or 443)
        except (OSError, ValueError, TimeoutError) as error:
            yield Finding("server certificate", "SKIPPED", f"cannot read it: {error}")
        else:
            yield judge_certificate("server certificate", served, now, "renew it; a plane does so at a restart")
    if endpoint.certificate is not None:
        try:
            own = read_pem(endpoint.certificate)
        except ValueError as error:
            yield Finding("client certificate", "FAIL", f"invalid: {error}", "replace it in the kubeconfig")
        else:
            remedy = "get a new kubeconfig; a plane writes that of its data directory at every start"
            yield judge_certificate("client certificate", own, now, remedy)


def judge_certificate(check: str, certificate: Certificate, now: datetime, remedy: str) -> Finding:
    end = certificate.not_after
    if certificate.not_before > now:
        return Finding(check, "FAIL", f"not valid before {certificate.not_before:%Y-%m-%d %H:%M}", "check the clocks")
    if end <= now:
        return Finding(check, "FAIL", f"expired at {end:%Y-%m-%d}", remedy)
    # A short-lived one is renewed when a third of its life is left.
    soon = min(SOON, (end - certificate.not_before) / 6)
    return Finding(
        check, "WARN" if end - now < soon else "OK", f"valid until {end:%Y-%m-%d}", remedy * (end - now < soon)
    )


async def _served(host: str, port: int) -> Certificate:
    """Whoever signed it: the connection of the command itself has verified it."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with asyncio.timeout(_CONNECT_WITHIN_S):
        _, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.transport.abort()
    return read_certificate(der or b"")


async def check_leases(client: Client, now: datetime) -> AsyncIterator[Finding]:
    """The leases of our operators in all namespaces."""
    try:
        leases, _ = await client.list(LEASE.path(""))
    except ApiError as error:
        yield Finding("leases", "SKIPPED", f"cannot list leases: {error.message}")
        return
    own = [each for each in leases if each["metadata"]["name"].startswith(_OWN)]
    stale = [text for each in own if (text := _stale(each, now))]
    if stale:
        remedy = "start the operators again, or delete the lease if they were removed"
        yield Finding("leases", "WARN", f"not renewed: {', '.join(stale)}", remedy)
    elif own:
        yield Finding("leases", "OK", f"{len(own)} held and renewed, or released")
    else:
        yield Finding("leases", "OK", "none: no operator takes part in an election")


def _stale(lease: JsonObject, now: datetime) -> str:
    spec, metadata = lease.get("spec") or {}, lease["metadata"]
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return ""
    silent = now - parse_time(spec["renewTime"])
    if silent < _STALE_TIMES * timedelta(seconds=spec.get("leaseDurationSeconds") or 15):
        return ""
    return f"{metadata['namespace']}/{metadata['name']} since {silent.total_seconds():.0f} s"


def utc_now() -> datetime:
    return datetime.now(UTC)
