"""How a Git server is reached: which addresses are allowed, and what proves who we are.

The environment of each `git` is built from scratch. Nothing of the machine's configuration counts: no hooks, filters,
credential helpers, agents or templates, and no protocol but those allowed. Secrets go by the environment or by a file
that only its owner can read and that is gone afterwards; never by arguments, which everybody on the machine sees.
"""

from __future__ import annotations

import base64
import re
import shlex
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

PROTOCOLS: Final = frozenset({"https", "http", "ssh"})
_scp_like = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9._-]*:(?!/)[^\s]+", re.ASCII).fullmatch
_SAFE: Final = {
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.askPass": "",
    "core.fsmonitor": "false",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "maintenance.auto": "false",
    "protocol.version": "2",
    "transfer.fsckObjects": "true",
}
_SSH: Final = {
    "BatchMode": "yes",
    "ClearAllForwardings": "yes",
    "ConnectTimeout": "15",
    "GlobalKnownHostsFile": "/dev/null",
    "IdentitiesOnly": "yes",
    "IdentityAgent": "none",
    "PasswordAuthentication": "no",
    "ServerAliveInterval": "15",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
}


class GitError(Exception):
    reason = "GitFailed"


class GitAddressError(GitError):
    """The address, or what is given to prove who we are, cannot be used."""

    reason = "InvalidRepository"


@dataclass(frozen=True, slots=True)
class Token:
    """For http and https; forges take any user name beside a token, or the one that they document."""

    value: str = field(repr=False)
    username: str = "git"


@dataclass(frozen=True, slots=True)
class SshKey:
    """`known_hosts` are the only hosts that are trusted, in the form of OpenSSH's file."""

    private_key: str = field(repr=False)
    known_hosts: str


Access = Token | SshKey | None


@dataclass(frozen=True, slots=True)
class Remote:
    url: str
    access: Access = None
    authority: str = ""
    """The certificates to trust for https, in PEM; unless given, those that the machine trusts."""


def check_remote(remote: Remote, protocols: Collection[str] = PROTOCOLS) -> str:
    """The protocol. A password in an address would be printed by whoever prints the address, so it is refused."""
    if _scp_like(remote.url):
        protocol = "ssh"
    else:
        parts = urlsplit(remote.url)
        protocol = parts.scheme
        if not parts.netloc and protocol != "file":
            raise GitAddressError("the repository's address is not a URL with a host; write https://host/path")
        if parts.password or (parts.username and protocol != "ssh"):
            raise GitAddressError("the repository's address has credentials in it; give them as a secret")
    if protocol not in protocols:
        allowed = ", ".join(sorted(protocols))
        raise GitAddressError(f'the repository\'s address is of the protocol "{protocol}"; allowed are: {allowed}')
    _check_access(protocol, remote.access)
    return protocol


def _check_access(protocol: str, access: Access) -> None:
    match access:
        case SshKey() if protocol != "ssh":
            raise GitAddressError("an SSH key is given for an address that is not of ssh")
        case SshKey(known_hosts=hosts) if not hosts.strip():
            raise GitAddressError("there are no known hosts: whose host key shall be trusted?")
        case Token() if protocol == "ssh":
            raise GitAddressError("a token is given for an address of ssh; give an SSH key")
        case None if protocol == "ssh":
            raise GitAddressError("an address of ssh wants an SSH key and the known hosts")


@contextmanager
def reached(remote: Remote, protocols: Collection[str], scratch: Path) -> Iterator[dict[str, str]]:
    """What the environment of a `git` that talks to the server holds; files of it are gone when the block ends."""
    check_remote(remote, protocols)
    config, more = {}, {"GIT_ALLOW_PROTOCOL": ":".join(sorted(protocols))}
    with tempfile.TemporaryDirectory(prefix="access-", dir=scratch) as name:
        directory = Path(name)
        if remote.authority:
            config["http.sslCAInfo"] = str(_written(directory / "authority", remote.authority))
        match remote.access:
            case SshKey() as key:
                more["GIT_SSH_COMMAND"] = _ssh(key, directory)
            case Token(value, username):
                packed = base64.b64encode(f"{username}:{value}".encode()).decode()
                # What is sent to one host is for that host: a redirect elsewhere is not followed.
                config |= {"http.extraHeader": f"Authorization: Basic {packed}", "http.followRedirects": "false"}
        yield isolated(config) | more


def isolated(config: Mapping[str, str]) -> dict[str, str]:
    settings = {**_SAFE, **config}
    environment = {
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    for at, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return environment


def _ssh(key: SshKey, directory: Path) -> str:
    identity = _written(directory / "identity", key.private_key)
    hosts = _written(directory / "hosts", key.known_hosts)
    options = {**_SSH, "UserKnownHostsFile": str(hosts)}
    words = ["ssh", "-F", "/dev/null", "-i", str(identity)]
    return shlex.join([*words, *(f"-o{name}={value}" for name, value in options.items())])


def _written(path: Path, text: str) -> Path:
    path.touch(mode=0o600)
    # OpenSSH refuses a key whose last line has no end.
    path.write_text(text.rstrip("\n") + "\n")
    return path
