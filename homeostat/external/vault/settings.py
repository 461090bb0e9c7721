"""The settings of a Vault, from environment variables.

| variable | meaning | default |
|---|---|---|
| `VAULT_ADDR` | its URL; without it there is no Vault | |
| `VAULT_TOKEN` | a token, instead of one of the next three | |
| `VAULT_ROLE_ID`, `VAULT_SECRET_ID` | to log in by AppRole | |
| `VAULT_USERNAME`, `VAULT_PASSWORD` | to log in by user name and password | |
| `VAULT_KUBERNETES_ROLE` | to log in by the token of a service account | |
| `VAULT_KUBERNETES_TOKEN` | the file of that token | the usual path in a Pod |
| `VAULT_AUTH_MOUNT` | the mount of the login method | `approle`, `userpass`, `kubernetes` |
| `VAULT_NAMESPACE`, `VAULT_MOUNT`, `VAULT_KV_VERSION` | namespace, mount, version of the engine | none, `secret`, 2 |
| `VAULT_CACERT` | a file with the authority to trust | the system's |
| `VAULT_CLIENT_CERT`, `VAULT_CLIENT_KEY` | files with the certificate to present, and its key | none |

`HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` apply too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from homeostat.edge.proxies import Proxies, read_proxies
from homeostat.external.secrets.credentials import TlsCredentials

ACCOUNT_TOKEN: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


@dataclass(frozen=True, slots=True)
class Token:
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AppRole:
    role_id: str
    secret_id: str = field(repr=False)
    mount: str = "approle"


@dataclass(frozen=True, slots=True)
class UserPass:
    username: str
    password: str = field(repr=False)
    mount: str = "userpass"


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    role: str
    token_file: Path
    mount: str = "kubernetes"


@dataclass(frozen=True, slots=True)
class Jwt:
    """The token of a ServiceAccount itself, for the login of Kubernetes."""

    role: str
    token: str = field(repr=False)
    mount: str = "kubernetes"


Login = Token | AppRole | UserPass | ServiceAccount | Jwt


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    address: str
    login: Login | None
    """None: an address alone is often set for other programs."""
    namespace: str = ""
    mount: str = "secret"
    prefix: str = ""
    """The path below the mount that all keys are relative to."""
    version: int = 2
    tls: TlsCredentials | None = None
    proxies: Proxies = field(default_factory=Proxies)


def vault_settings(environment: Mapping[str, str]) -> VaultSettings | None:
    """None without an address; `ValueError` names the variable that is invalid."""
    address = environment.get("VAULT_ADDR", "").strip().rstrip("/")
    if not address:
        return None
    if not address.startswith(("http://", "https://")):
        raise ValueError("VAULT_ADDR must be an http or https URL")
    version = environment.get("VAULT_KV_VERSION") or "2"
    if version not in ("1", "2"):
        raise ValueError("VAULT_KV_VERSION must be 1 or 2")
    return VaultSettings(
        address=address,
        login=_login(environment),
        namespace=environment.get("VAULT_NAMESPACE", ""),
        mount=(environment.get("VAULT_MOUNT") or "secret").strip("/"),
        version=int(version),
        tls=_tls(environment),
        proxies=read_proxies(environment),
    )


def _login(environment: Mapping[str, str]) -> Login | None:
    if token := environment.get("VAULT_TOKEN"):
        return Token(token)
    mount = environment.get("VAULT_AUTH_MOUNT", "").strip("/")
    if role_id := environment.get("VAULT_ROLE_ID"):
        return AppRole(role_id, environment.get("VAULT_SECRET_ID", ""), mount or "approle")
    if username := environment.get("VAULT_USERNAME"):
        return UserPass(username, environment.get("VAULT_PASSWORD", ""), mount or "userpass")
    if role := environment.get("VAULT_KUBERNETES_ROLE"):
        file = environment.get("VAULT_KUBERNETES_TOKEN")
        return ServiceAccount(role, Path(file) if file else ACCOUNT_TOKEN, mount or "kubernetes")
    return None


def _tls(environment: Mapping[str, str]) -> TlsCredentials | None:
    names = ("VAULT_CACERT", "VAULT_CLIENT_CERT", "VAULT_CLIENT_KEY")
    authority, certificate, key = (_file(environment, each) for each in names)
    if bool(certificate) != bool(key):
        raise ValueError("set both VAULT_CLIENT_CERT and VAULT_CLIENT_KEY, or neither; one of them is not set")
    return TlsCredentials(authority=authority, certificate=certificate, key=key) if authority or key else None


def _file(environment: Mapping[str, str], name: str) -> str:
    path = environment.get(name)
    if not path:
        return ""
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} of the environment names a file that cannot be read: {path}") from error
