"""The Secrets that annotations name, each read once a pass and turned into credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from homeostat.client.base import Client, UnreachableError
from homeostat.external.git.access import Remote
from homeostat.external.git.commit import GpgSigning, Signing, SshSigning
from homeostat.external.secrets.credentials import (
    BasicAuth,
    CredentialError,
    SecretData,
    SshKey,
    read_basic,
    read_bearer,
    read_ssh_key,
)
from homeostat.external.secrets.docker_config import DockerConfig, read_docker_config
from homeostat.external.secrets.kubernetes import NamespaceStore, StoredSecret
from homeostat.external.secrets.secrets import SecretError
from homeostat.objects.errors import ApiError
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.world import Problem

_SSH_KEYS: Final = ("ssh-privatekey", "identity")

T = TypeVar("T")


class SecretName(NamedTuple):
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class MissingSecretError(Exception):
    """There is no such Secret, or it does not have what is needed; the text names it."""


class UnreadableSecretError(MissingSecretError):
    """It is not known whether there is such a Secret."""


class Secrets:
    """Of one pass."""

    def __init__(self, client: Client, memory: Memory) -> None:
        self._client, self._memory = client, memory

    async def read(self, name: SecretName) -> SecretData:
        return (await self.find(name)).data

    async def find(self, name: SecretName) -> StoredSecret:
        return await self._memory.once(("secret", name), lambda: self._find(name))

    async def remote(self, name: SecretName, url: str, known_hosts: str) -> Remote:
        """How to reach a repository: with a key over ssh, with user and password or a token over http."""
        data = await self.read(name)
        # One identity for each Secret: another one must not read what this one has cached.
        identity = f"secret\0{name}"
        if _is_ssh(url):
            key = _parsed(name, lambda: read_ssh_key(data))
            hosts = f"{known_hosts}\n{key.known_hosts}"
            return Remote(url, SshKey(key.private_key, hosts, key.passphrase), identity=identity)
        return Remote(url, _parsed(name, lambda: _http_access(data)), identity=identity)

    async def signing(self, name: SecretName) -> Signing:
        """The key that commits are signed with, where the Secret of the repository has one."""
        text = (await self.read(name)).get("signing-key", b"").decode(errors="replace")
        if not text.strip():
            return None
        return GpgSigning(text) if "BEGIN PGP PRIVATE KEY" in text else SshSigning(text)

    async def registries(self, name: SecretName) -> DockerConfig:
        data = await self.read(name)
        return _parsed(name, lambda: read_docker_config(data))

    async def text(self, name: SecretName, member: str) -> str:
        data = await self.read(name)
        return _parsed(name, lambda: read_bearer(data, member)).token

    async def _find(self, name: SecretName) -> StoredSecret:
        try:
            return await NamespaceStore(self._client, name.namespace).find(name.name)
        except KeyError:
            raise MissingSecretError(f"there is no Secret {name}; create it or correct the annotation") from None
        except (SecretError, ApiError, UnreachableError) as error:
            raise UnreadableSecretError(f"cannot read the Secret {name}: {error}") from error


def _http_access(data: SecretData) -> BasicAuth | None:
    """A key for ssh alone is of no use here: then the repository has to be readable without credentials."""
    if data.get("password") and not any(each in data for each in _SSH_KEYS):
        return read_basic({"username": b"git", **data})
    if data.get("token"):
        return BasicAuth("git", read_bearer(data).token)
    if any(each in data for each in _SSH_KEYS):
        return None
    raise CredentialError('expected the member "ssh-privatekey", or "username" and "password", or "token"')


def _is_ssh(url: str) -> bool:
    return url.startswith("ssh://") or "://" not in url


def _parsed(name: SecretName, parse: Callable[[], T]) -> T:
    try:
        return parse()
    except CredentialError as error:
        raise MissingSecretError(f"the Secret {name}: {error}") from error


def secret_problem(error: MissingSecretError) -> Problem:
    return Problem(str(error), "SecretMissing")
