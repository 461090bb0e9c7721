"""Registry credentials in Docker's configuration: `.dockerconfigjson`, or `.dockercfg`, which is older. Pure.

A registry's entry is found as the kubelet finds it: by host, with `*` for a part of it, by port, and by the beginning
of the path; the longest match wins. Docker Hub's entry may have any of its names. Credential helpers are programs: an
entry that needs one is refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, TypeVar

import msgspec

from homeostat.external.secrets.credentials import LARGEST_SECRET, BasicAuth, CredentialError, SecretData

T = TypeVar("T")

_HUB: Final = "docker.io"
_HUB_NAMES: Final = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"})
_IDENTITY_USER: Final = "<token>"
"""The user name beside an identity token, by Docker's convention."""
_LONGEST_HOST: Final = 253
_MOST_PATTERNS: Final = 256
"""Hosts with wildcards in one configuration: each is compiled, in more than linear time."""
_is_pattern = re.compile(r"[*?\[]").search


class CredentialHelperError(CredentialError):
    """The credential is kept by a helper program, and we do not run it. A command on a user's machine may."""

    reason = "CredentialHelper"

    def __init__(self, message: str, helper: str) -> None:
        super().__init__(message)
        self.helper = helper
        """Without its prefix `docker-credential-`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryCredential:
    """Either a user and password, an identity token (an OAuth2 refresh token), or a token for the registry itself."""

    basic: BasicAuth | None = None
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)


class _Entry(msgspec.Struct, frozen=True):
    auth: str = ""
    username: str = ""
    password: str = ""
    identitytoken: str = ""
    registrytoken: str = ""


class _File(msgspec.Struct, frozen=True):
    auths: dict[str, _Entry] = {}
    helpers: dict[str, str] = msgspec.field(name="credHelpers", default_factory=dict)
    store: str = msgspec.field(name="credsStore", default="")


class DockerConfig:
    """`find` gives the credential for a repository; None if the configuration has none for it."""

    def __init__(self, credentials: Mapping[str, RegistryCredential], helpers: Mapping[str, str], store: str) -> None:
        self._credentials = {_normal(key): each for key, each in credentials.items()}
        self._helpers = {_normal(key): each for key, each in helpers.items()}
        self._store = store

    def __repr__(self) -> str:
        return f"DockerConfig({', '.join(sorted(self._credentials))})"

    def find(self, registry: str, repository: str = "") -> RegistryCredential | None:
        wanted = _normal(f"{registry}/{repository}" if repository else registry)
        host = wanted.partition("/")[0]
        if helper := self._helpers.get(host):
            raise _refused(registry, helper)
        matching = [key for key in self._credentials if _matches(key, wanted)]
        if matching:
            return self._credentials[max(matching, key=lambda key: (key.count("/"), "*" not in key, len(key)))]
        if self._store:
            raise _refused(registry, self._store)
        return None


def read_docker_config(data: SecretData) -> DockerConfig:
    """From the members of a Secret of type `kubernetes.io/dockerconfigjson` or `kubernetes.io/dockercfg`."""
    for name in (".dockerconfigjson", "config.json"):
        if name in data:
            return parse_docker_config(data[name], name)
    if ".dockercfg" in data:
        entries = _decoded(data[".dockercfg"], dict[str, _Entry], ".dockercfg")
        return _made(_File(auths=entries), ".dockercfg")
    raise CredentialError(
        'member ".dockerconfigjson" is missing; create the Secret with "kubectl create secret docker-registry"'
    )


def parse_docker_config(text: bytes, name: str = "config.json") -> DockerConfig:
    return _made(_decoded(text, _File, name), name)


def _decoded(text: bytes, shape: type[T], name: str) -> T:
    if len(text) > LARGEST_SECRET:
        raise CredentialError(f'"{name}" has {len(text)} bytes; at most {LARGEST_SECRET} are read')
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The error's own text may quote what it could not read.
        raise CredentialError(f'"{name}" is not Docker\'s configuration in JSON') from None


def _made(file: _File, name: str) -> DockerConfig:
    if sum(1 for key in file.auths if _is_pattern(key)) > _MOST_PATTERNS:
        raise CredentialError(f'"{name}" has more than {_MOST_PATTERNS} hosts with wildcards')
    found = {key: each for key, entry in file.auths.items() if (each := _credential(key, entry, name)) is not None}
    return DockerConfig(found, file.helpers, file.store)


def _credential(key: str, entry: _Entry, name: str) -> RegistryCredential | None:
    username, password = entry.username, entry.password
    if entry.auth and not username:
        try:
            username, _, password = base64.b64decode(entry.auth, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            # The value is a secret, even if it is a wrong one.
            raise CredentialError(f'"{name}": "auth" of {key} is not base64 of user:password') from None
        password = password.rstrip("\0")
    identity_token = entry.identitytoken
    if username == _IDENTITY_USER:
        username, password, identity_token = "", "", identity_token or password
    basic = BasicAuth(username, password) if username else None
    if basic is None and not identity_token and not entry.registrytoken:
        # With a credsStore, Docker leaves empty entries behind.
        return None
    return RegistryCredential(basic=basic, identity_token=identity_token, registry_token=entry.registrytoken)


def _normal(key: str) -> str:
    """Without scheme, the old `/v1/` or `/v2/` and slashes at the end; Docker Hub by one name."""
    bare = key.partition("://")[2] or key
    host, _, path = bare.lower().strip("/").partition("/")
    if path in ("v1", "v2"):
        path = ""
    host = _HUB if host in _HUB_NAMES else host
    return f"{host}/{path}" if path else host


def _matches(key: str, wanted: str) -> bool:
    host, _, path = key.partition("/")
    wanted_host, _, wanted_path = wanted.partition("/")
    if path and wanted_path != path and not wanted_path.startswith(f"{path}/"):
        return False
    if not _is_pattern(host) or len(host) > _LONGEST_HOST:
        return host == wanted_host
    name, _, port = host.partition(":")
    wanted_name, _, wanted_port = wanted_host.partition(":")
    parts, wanted_parts = name.split("."), wanted_name.split(".")
    return (
        port == wanted_port
        and len(parts) == len(wanted_parts)
        and all(fnmatchcase(each, part) for each, part in zip(wanted_parts, parts, strict=True))
    )


def _refused(registry: str, helper: str) -> CredentialHelperError:
    return CredentialHelperError(
        f'{registry}: the credential is kept by the helper program "docker-credential-{helper}", and programs are not '
        'run; put user and password there with "kubectl create secret docker-registry"',
        helper,
    )
