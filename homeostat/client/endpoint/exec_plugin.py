"""Exec plugins (client.authentication.k8s.io): programs that print a credential.

The program runs without a shell and without a terminal, in the environment of this process plus the variables of the
kubeconfig, because such programs find their configuration by HOME, PATH and variables of their vendor. It gets the
request in KUBERNETES_EXEC_INFO, has a time limit, and prints one ExecCredential.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from homeostat.client.endpoint.endpoint import ExecPlugin, KubeconfigError
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.time.timestamp import TimestampError, parse_time

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_LONGEST_COMPLAINT = 200


@dataclass(frozen=True, slots=True)
class Issued:
    """The credential of a plugin. `expires_at` is in seconds since 1970; None if it does not expire."""

    token: str = field(default="", repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    expires_at: float | None = None


async def run_plugin(plugin: ExecPlugin, *, environ: Mapping[str, str], timeout_s: float = 60.0) -> Issued:
    """Runs the program, and kills it at the time limit; `KubeconfigError` if it prints no credential."""
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(plugin, environ),
        )
    except OSError as error:
        raise _failed(plugin, f"cannot be started: {error.strerror}") from error
    try:
        async with asyncio.timeout(timeout_s):
            printed, complaint = await process.communicate()
    except TimeoutError as error:
        raise _failed(plugin, f"gave no credential in {timeout_s:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        lines = complaint.decode(errors="replace").strip().splitlines() or ["no word on standard error"]
        raise _failed(plugin, f"ended with {process.returncode}: {lines[-1][:_LONGEST_COMPLAINT]}")
    return parse_credential(printed, plugin)


def _environment(plugin: ExecPlugin, environ: Mapping[str, str]) -> dict[str, str]:
    spec: JsonObject = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    asked = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return {**environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": encode(asked).decode()}


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status


_decoder = msgspec.json.Decoder(_ExecCredential)


def parse_credential(printed: bytes, plugin: ExecPlugin) -> Issued:
    try:
        found = _decoder.decode(printed)
        status = found.status
        moment = parse_time(status.expiration_timestamp) if status.expiration_timestamp else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # The text may contain the credential; the errors of msgspec do not quote it.
        raise _failed(plugin, f"printed no ExecCredential: {error}") from error
    except TimestampError as error:
        raise _failed(plugin, "printed an expirationTimestamp that is not a time") from error
    if (found.kind, found.api_version) != ("ExecCredential", plugin.api_version):
        raise _failed(plugin, f"printed {found.api_version} {found.kind}; expected {plugin.api_version} ExecCredential")
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise _failed(plugin, "printed a certificate without its key, or a key without its certificate")
    if not status.token and not status.client_certificate_data:
        raise _failed(plugin, "printed neither a token nor a certificate")
    return Issued(
        status.token,
        status.client_certificate_data.encode() or None,
        status.client_key_data.encode() or None,
        moment.timestamp() if moment else None,
    )


def _failed(plugin: ExecPlugin, words: str) -> KubeconfigError:
    hint = f"; {plugin.install_hint.strip()}" if plugin.install_hint else ""
    return KubeconfigError(f'the credential plugin "{plugin.command}" {words}{hint}')
