"""Where a Kubernetes API is and who asks it: values only, whatever they were read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from homeostat.objects.json import JsonObject


class KubeconfigError(Exception):
    """A configuration or a credential that cannot be used; says which and what to do."""


def is_address(text: str) -> bool:
    """Whether it is a URL that can be connected to: http or https, with a host, and with a port that there is."""
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A program that prints a credential. `cluster` is what it is told of the server, where it wants to know."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    cluster: JsonObject | None = field(default=None, repr=False)
    install_hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server and a credential for it. Certificates and keys are PEM; None where there is none.

    A plugin comes before a token file, and a token file before a token: what can be renewed is renewed.
    """

    server: str
    namespace: str = "default"
    authority: bytes | None = None
    is_verified: bool = True
    tls_server_name: str = ""
    proxy: str = field(default="", repr=False)
    """An http or https proxy; it may have a password in it."""
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    plugin: ExecPlugin | None = None
    impersonation: tuple[tuple[str, str], ...] = ()
    """The headers that ask the server to take the request as somebody else's."""
