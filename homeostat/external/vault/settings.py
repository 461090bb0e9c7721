"""What the environment says of a Vault. Pure.

| variable | what | unless given |
|---|---|---|
| `VAULT_ADDR` | where it is; without it there is no Vault | |
| `VAULT_TOKEN` | a token, or else one of the next two | |
| `VAULT_ROLE_ID`, `VAULT_SECRET_ID` | to log in by AppRole | |
| `VAULT_KUBERNETES_ROLE` | to log in by the token of a service account | |
| `VAULT_KUBERNETES_TOKEN` | the file that it is in | where Pods have it |
| `VAULT_AUTH_MOUNT` | where the way to log in is mounted | `approle`, `kubernetes` |
| `VAULT_NAMESPACE`, `VAULT_MOUNT`, `VAULT_KV_VERSION` | whose secrets, where, of which engine | none, `secret`, 2 |
| `VAULT_CACERT` | a file with the authority to trust | the system's |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_ACCOUNT_TOKEN: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


@dataclass(frozen=True, slots=True)
class AppRole:
    role_id: str
    secret_id: str = field(repr=False)
    mount: str = "approle"


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    role: str
    token_file: Path
    mount: str = "kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    address: str
    identity: str | AppRole | ServiceAccount | None = field(repr=False)
    """A token, or how to get one. A Vault's address alone is often there for other programs."""
    namespace: str = ""
    mount: str = "secret"
    version: int = 2
    authority: Path | None = None


def vault_settings(environment: Mapping[str, str]) -> VaultSettings | None:
    """None without an address; `ValueError` where it cannot be."""
    address = environment.get("VAULT_ADDR", "").strip().rstrip("/")
    if not address:
        return None
    if not address.startswith(("http://", "https://")):
        raise ValueError("VAULT_ADDR of the environment is to be a URL of http or https")
    version = environment.get("VAULT_KV_VERSION") or "2"
    if version not in ("1", "2"):
        raise ValueError("VAULT_KV_VERSION of the environment is to be 1 or 2")
    authority = environment.get("VAULT_CACERT")
    return VaultSettings(
        address=address,
        identity=_identity(environment),
        namespace=environment.get("VAULT_NAMESPACE", ""),
        mount=(environment.get("VAULT_MOUNT") or "secret").strip("/"),
        version=int(version),
        authority=Path(authority) if authority else None,
    )


def _identity(environment: Mapping[str, str]) -> str | AppRole | ServiceAccount | None:
    if token := environment.get("VAULT_TOKEN"):
        return token
    mount = environment.get("VAULT_AUTH_MOUNT", "").strip("/")
    if role_id := environment.get("VAULT_ROLE_ID"):
        return AppRole(role_id, environment.get("VAULT_SECRET_ID", ""), mount or "approle")
    if role := environment.get("VAULT_KUBERNETES_ROLE"):
        file = environment.get("VAULT_KUBERNETES_TOKEN")
        return ServiceAccount(role, Path(file) if file else _ACCOUNT_TOKEN, mount or "kubernetes")
    return None
