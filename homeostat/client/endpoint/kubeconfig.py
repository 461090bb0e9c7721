"""Reads the endpoint from kubeconfig files.

Several files are merged; the first entry of a name wins. Certificates, keys and tokens are embedded or in files, whose
paths are relative to the kubeconfig. Unsupported settings (passwords, the former auth providers) are errors and not
ignored, because a command must not act as another user.
Blocks; call it before the first request.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from homeostat.client.endpoint.endpoint import Endpoint, KubeconfigError, is_address
from homeostat.client.endpoint.kube_user import impersonation_of, plugin_of
from homeostat.objects import yaml
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject

__all__ = ["Endpoint", "KubeconfigError", "load_contexts", "load_endpoint"]

_UNSUPPORTED_USER = ("auth-provider", "username", "password")


def load_endpoint(paths: Sequence[Path], *, context: str = "") -> Endpoint:
    """The endpoint of a context, by default the current one. At least one of the files must exist."""
    found, where = _files(paths), ":".join(map(str, paths))
    chosen = context or _current(found, where)
    entry, _ = _find(found, "context", chosen)
    cluster, cluster_home = _find(found, "cluster", str(entry.get("cluster") or ""))
    user, user_home = _find(found, "user", str(entry["user"])) if entry.get("user") else ({}, cluster_home)
    _refuse(user, _UNSUPPORTED_USER, where)
    certificate = _material(user, "client-certificate", user_home)
    key = _material(user, "client-key", user_home)
    if (certificate is None) != (key is None):
        raise KubeconfigError(f"{where}: a client certificate and its key go together, and one of them is missing")
    authority = _material(cluster, "certificate-authority", cluster_home)
    return Endpoint(
        server=_server(cluster, where),
        namespace=str(entry.get("namespace") or "default"),
        authority=authority,
        is_verified=not cluster.get("insecure-skip-tls-verify"),
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        proxy=_proxy(cluster, where),
        token=_token(user, user_home),
        token_file=user_home / str(user["tokenFile"]) if user.get("tokenFile") else None,
        certificate=certificate,
        key=key,
        plugin=plugin_of(user, cluster, authority, home=user_home, where=where),
        impersonation=impersonation_of(user, where),
    )


def load_contexts(paths: Sequence[Path]) -> tuple[str, list[str]]:
    """The name of the current context, empty if there is none, and the names of all contexts in order."""
    found = _files(paths)
    entries = [entry for each in found for entry in each.config.get("contexts") or () if isinstance(entry, dict)]
    names = dict.fromkeys(str(entry["name"]) for entry in entries if entry.get("name"))
    return next(_currents(found), ""), list(names)


def _files(paths: Sequence[Path]) -> list[_Named]:
    found = [_Named(path, _read(path)) for path in paths if path.exists()]
    if not found:
        raise KubeconfigError(f"there is no kubeconfig at {':'.join(map(str, paths))}")
    return found


def _currents(files: Sequence[_Named]) -> Iterator[str]:
    return (text for each in files if (text := str(each.config.get("current-context") or "")))


def _current(files: Sequence[_Named], where: str) -> str:
    if chosen := next(_currents(files), ""):
        return chosen
    raise KubeconfigError(f"{where} names no current context; choose one with --context")


@dataclass(frozen=True, slots=True)
class _Named:
    path: Path
    config: JsonObject


def _read(path: Path) -> JsonObject:
    try:
        config = yaml.load(path.read_bytes())
    except (OSError, ApiError) as error:
        raise KubeconfigError(f"cannot read the kubeconfig {path}: {error}") from error
    if not isinstance(config, dict):
        raise KubeconfigError(f"{path} is not a kubeconfig: it should be a YAML mapping")
    return config


def _find(files: Sequence[_Named], kind: str, name: str) -> tuple[JsonObject, Path]:
    """The named entry, and the directory that its paths are relative to."""
    for each in files:
        entries = each.config.get(f"{kind}s")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(kind), dict):
                return entry[kind], each.path.parent
    where = ":".join(str(each.path) for each in files)
    entries = [entry for each in files for entry in each.config.get(f"{kind}s") or () if isinstance(entry, dict)]
    known = ", ".join(dict.fromkeys(str(entry.get("name")) for entry in entries)) or "none"
    raise KubeconfigError(f'{where} has no {kind} named "{name}"; it has: {known}')


def _refuse(entry: JsonObject, fields: Sequence[str], where: str) -> None:
    for name in fields:
        if entry.get(name):
            raise KubeconfigError(f'{where} uses "{name}", which is not supported; use a certificate or a token')


def _server(cluster: JsonObject, where: str) -> str:
    server = str(cluster.get("server") or "").rstrip("/")
    if "@" in server:
        # Not shown: the text before it may be a password.
        raise KubeconfigError(f"{where}: the address of the server has a user in it; credentials go into users")
    if not is_address(server):
        raise KubeconfigError(f'{where}: "{server}" is not the address of a server; expected https://host:port')
    return server


def _proxy(cluster: JsonObject, where: str) -> str:
    proxy = str(cluster.get("proxy-url") or "")
    if proxy and not is_address(proxy):
        # Not shown: it may contain a password.
        raise KubeconfigError(
            f"{where}: this proxy-url is not supported; expected http://host:port or https://host:port"
        )
    return proxy


def _material(entry: JsonObject, name: str, home: Path) -> bytes | None:
    """The value of `name-data`, or the content of the file `name`."""
    if text := entry.get(f"{name}-data"):
        try:
            return b64decode(str(text), validate=True)
        except (binascii.Error, ValueError) as error:
            raise KubeconfigError(f"{home}: {name}-data is not base64: {error}") from error
    return _file(home / str(entry[name])) if entry.get(name) else None


def _token(user: JsonObject, home: Path) -> str:
    if user.get("tokenFile"):
        return _file(home / str(user["tokenFile"])).decode(errors="replace").strip()
    return str(user.get("token") or "")


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KubeconfigError(f"cannot read {path}, which the kubeconfig names: {error.strerror}") from error
