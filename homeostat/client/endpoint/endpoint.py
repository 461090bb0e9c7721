"""The address of a Kubernetes API and the credentials for it, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from homeostat.objects.json import JsonObject


class KubeconfigError(Exception):
    """An invalid configuration or credential; the text says which, and what to do."""


def is_address(text: str) -> bool:
    """Whether the URL is valid: http or https, with a host, and with a valid port if there is one."""
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A program that prints a credential. `cluster` describes the server for plugins that want it."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    cluster: JsonObject | None = field(default=None, repr=False)
    install_hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server and its credentials. Certificates and keys are PEM, or None.

    A plugin has precedence over a token file, and a token file over a token, because they can be renewed.
    """

    server: str
    namespace: str = "default"
    authority: bytes | None = None
    is_verified: bool = True
    tls_server_name: str = ""
    proxy: str = field(default="", repr=False)
    """An http or https proxy; it may contain a password."""
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    plugin: ExecPlugin | None = None
    impersonation: tuple[tuple[str, str], ...] = ()
    """The impersonation headers."""
