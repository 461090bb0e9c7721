"""Reads the exec plugin and the impersonation of a user entry in a kubeconfig. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from homeostat.client.endpoint.endpoint import ExecPlugin, KubeconfigError
from homeostat.client.endpoint.exec_plugin import API_VERSIONS
from homeostat.objects.json import Json, JsonObject

_EXTENSION = "client.authentication.k8s.io/exec"


def plugin_of(
    user: JsonObject, cluster: JsonObject, authority: bytes | None, *, home: Path, where: str
) -> ExecPlugin | None:
    config = user.get("exec")
    if not config:
        return None
    if not isinstance(config, dict) or not config.get("command"):
        raise KubeconfigError(f"{where}: exec has no command")
    if config.get("apiVersion") not in API_VERSIONS:
        raise KubeconfigError(
            f'{where}: exec has apiVersion "{config.get("apiVersion")}"; expected {" or ".join(API_VERSIONS)}'
        )
    if config.get("interactiveMode") == "Always":
        raise KubeconfigError(f"{where}: the exec plugin wants a terminal (interactiveMode: Always) and there is none")
    command = str(config["command"])
    return ExecPlugin(
        # A bare name is searched for in PATH.
        command=str(home / command) if "/" in command else command,
        arguments=tuple(str(each) for each in _list(config, "args", where)),
        environment=tuple(_environment(config, where)),
        api_version=str(config["apiVersion"]),
        cluster=_cluster_info(cluster, authority) if config.get("provideClusterInfo") else None,
        install_hint=str(config.get("installHint") or ""),
    )


def _environment(config: JsonObject, where: str) -> Iterator[tuple[str, str]]:
    for each in _list(config, "env", where):
        if not isinstance(each, dict) or not each.get("name"):
            raise KubeconfigError(f"{where}: an entry of exec.env has no name")
        yield str(each["name"]), str(each.get("value") or "")


def _cluster_info(cluster: JsonObject, authority: bytes | None) -> JsonObject:
    info: JsonObject = {
        name: cluster[name]
        for name in ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
        if cluster.get(name)
    }
    if authority is not None:
        info["certificate-authority-data"] = b64encode(authority).decode()
    for each in cluster.get("extensions") or ():
        if isinstance(each, dict) and each.get("name") == _EXTENSION:
            info["config"] = each.get("extension")
    return info


def impersonation_of(user: JsonObject, where: str) -> tuple[tuple[str, str], ...]:
    """The impersonation headers."""
    groups, extra = _list(user, "as-groups", where), user.get("as-user-extra") or {}
    if not user.get("as"):
        if groups or extra or user.get("as-uid"):
            raise KubeconfigError(f'{where}: as-groups, as-uid and as-user-extra want "as", the user to act as')
        return ()
    if not isinstance(extra, dict):
        raise KubeconfigError(f"{where}: as-user-extra should be a mapping of names to lists")
    headers = [("Impersonate-User", str(user["as"]))]
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    headers += [("Impersonate-Group", str(group)) for group in groups]
    for name in extra:
        key = f"Impersonate-Extra-{quote(str(name), safe='')}"
        headers += [(key, str(value)) for value in _list(extra, name, where)]
    return tuple(headers)


def _list(entry: JsonObject, name: str, where: str) -> list[Json]:
    found = entry.get(name) or []
    if not isinstance(found, list):
        raise KubeconfigError(f"{where}: {name} should be a list")
    return found
