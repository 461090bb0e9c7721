"""Access to a Git server: which URLs are allowed, and how credentials are passed to `git`.

The environment of each `git` is built from scratch. It uses nothing of the machine's configuration: no hooks, filters,
credential helpers, agents or templates, and only the allowed protocols. Secrets are passed in the environment, or in a
file that only its owner can read and that is removed afterwards; never as arguments, which every local user can see.
The rule for addresses holds for every connection: HTTP goes through a relay of this process (`relay.py`), and ssh gets
an address instead of a name, as does the way to a proxy.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from homeostat.external.addresses import RefusedAddressError
from homeostat.external.dial import reachable_address, reason_of
from homeostat.external.git.errors import GitAddressError, UnreachableError
from homeostat.external.git.relay import Relay
from homeostat.external.secrets.credentials import BasicAuth, BearerToken, SshKey

PROTOCOLS: Final = frozenset({"https", "http", "ssh"})
ORIGIN: Final = "origin"
"""The name of the remote in each command: the URL is in the environment, not in the arguments."""
_scp_like = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*:(?!/)[^\s]+", re.ASCII).fullmatch
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
    "push.recurseSubmodules": "no",
    "push.followTags": "false",
    "transfer.fsckObjects": "true",
}
_SSH: Final = {
    "BatchMode": "yes",
    "ClearAllForwardings": "yes",
    "ConnectTimeout": "15",
    "GlobalKnownHostsFile": "/dev/null",
    "IdentitiesOnly": "yes",
    "IdentityAgent": "none",
    "KbdInteractiveAuthentication": "no",
    "PasswordAuthentication": "no",
    "ServerAliveInterval": "15",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
}
_SSH_PORT: Final = 22
_PROXY_PORTS: Final = {"http": 1080, "https": 443}
_ANSWER: Final = "HOMEOSTAT_ASKPASS_ANSWER"
_ASKPASS: Final = f'#!/bin/sh\nprintf "%s\\n" "${_ANSWER}"\n'


Access = BasicAuth | BearerToken | SshKey | None
"""Forges accept any user name with a token as the password, or the one they document."""


@dataclass(frozen=True, slots=True)
class Remote:
    url: str
    access: Access = None
    authority: str = ""
    """The certificates to trust for https, in PEM. Empty: those of the system."""
    proxy: str = field(default="", repr=False)
    """For http and https: `http://[user:password@]host:port`."""
    accepts_any_host: bool = False
    """For ssh: accept any host key. Somebody on the path can then read and change everything."""
    identity: str = ""
    """Names the owner of the credentials in the cache key. Empty: a hash of them, so a new token starts a new cache."""

    @property
    def key(self) -> str:
        """The cache key: remotes with another URL or other credentials never share a cache."""
        match self.access:
            case BasicAuth() | BearerToken() as access:
                who = access.header
            case SshKey(private_key):
                who = f"ssh\0{private_key}"
            case None:
                who = "anonymous"
        named = f"name\0{self.identity}" if self.identity else who
        return hashlib.sha256(f"{self.url}\0{named}".encode()).hexdigest()[:32]

    @property
    def secrets(self) -> list[str]:
        """Values that no text may hold."""
        found = [urlsplit(self.proxy).password or ""] if self.proxy else []
        match self.access:
            case BasicAuth(password=password) as access:
                found += [password, access.header.partition(" ")[2]]
            case BearerToken(token):
                found.append(token)
            case SshKey(passphrase=passphrase):
                found.append(passphrase)
        return [each for each in found if each]


def without_password(url: str) -> str:
    """For people: a URL with a password is refused, and it is printed all the same."""
    scheme, colon, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not colon or not at or (scheme == "ssh" and ":" not in user):
        return url
    return f"{scheme}://***@{host}{slash}{path}"


def check_remote(remote: Remote, protocols: Collection[str] = PROTOCOLS) -> str:
    """The protocol. A password in a URL is refused, because URLs are printed."""
    if any(ord(each) < 33 for each in remote.url):
        raise GitAddressError("the repository's URL contains a space or a control character")
    protocol = "ssh" if _scp_like(remote.url) else _check_url(remote.url)
    if protocol not in protocols:
        allowed = ", ".join(sorted(protocols))
        raise GitAddressError(f'the repository\'s URL has the protocol "{protocol}"; allowed are: {allowed}')
    _check_access(protocol, remote)
    return protocol


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise GitAddressError("the repository's URL is invalid; write https://host/path") from error
    if not parts.netloc and parts.scheme != "file":
        raise GitAddressError("the repository's URL has no host; write https://host/path")
    if parts.password or (parts.username and parts.scheme != "ssh"):
        raise GitAddressError("the repository's URL contains credentials; give them as a secret")
    if (parts.hostname or "").startswith("-") or (parts.username or "").startswith("-"):
        raise GitAddressError("the repository's URL has a host or a user that starts with a dash")
    return parts.scheme


def _check_access(protocol: str, remote: Remote) -> None:
    match remote.access:
        case SshKey() if protocol != "ssh":
            raise GitAddressError("an SSH key is given for a URL that is not ssh; give a token")
        case SshKey(known_hosts=hosts) if not hosts.strip() and not remote.accepts_any_host:
            raise GitAddressError(
                "known hosts are required for ssh URLs; give them in the form of OpenSSH's known_hosts"
            )
        case BasicAuth() | BearerToken() if protocol == "ssh":
            raise GitAddressError("a token is given for an ssh URL; give an SSH key")
        case BearerToken(token) if _is_multiline(token):
            raise GitAddressError("the token contains a line break")
        case BasicAuth(username) if ":" in username:
            raise GitAddressError("the user name contains a colon, which basic authentication cannot carry")
        case None if protocol == "ssh":
            raise GitAddressError("an ssh URL requires an SSH key and the known hosts")
    if remote.proxy and protocol == "ssh":
        raise GitAddressError("a proxy is given for an ssh URL; proxies are for http and https")


def _is_multiline(text: str) -> bool:
    return any(ord(each) < 32 for each in text)


@dataclass(frozen=True, slots=True)
class Connected:
    """The environment of a `git` that connects to the server. Without a relay, `git` uses a proxy, ssh or files."""

    environment: dict[str, str] = field(repr=False)
    relay: Relay | None = None

    def check(self) -> None:
        """Raises why no connection was made, which `git` itself reports as a failed proxy only."""
        if self.relay is not None and self.relay.refusal:
            raise GitAddressError(self.relay.refusal)
        if self.relay is not None and self.relay.failure:
            raise UnreachableError(f"{self.relay.failure}; check the URL")


@asynccontextmanager
async def connected(remote: Remote, protocols: Collection[str], scratch: Path) -> AsyncIterator[Connected]:
    """Its files are removed at the end of the block. `GitAddressError` for an address that the rule refuses."""
    protocol = check_remote(remote, protocols)
    config = await _pinned_proxy(remote.proxy) if remote.proxy else {"http.proxy": ""}
    more = {"GIT_ALLOW_PROTOCOL": ":".join(sorted(protocols))}
    relay = Relay() if protocol in ("http", "https") and not remote.proxy else None
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="access-", dir=scratch)))
        if relay is not None:
            await stack.enter_async_context(relay.running())
            config["http.proxy"] = relay.url
        if remote.authority:
            config["http.sslCAInfo"] = str(write_private(directory / "authority", remote.authority))
        match remote.access:
            case SshKey() as key:
                pinned = await _pinned(remote.url)
                more |= _ssh(key, directory, pinned, accepts_any_host=remote.accepts_any_host)
            case BasicAuth() | BearerToken() as access:
                # Credentials are for one host: a redirect to another is not followed.
                config |= {"http.extraHeader": f"Authorization: {access.header}", "http.followRedirects": "false"}
        yield Connected(isolated(remote, config) | more, relay)


def isolated(remote: Remote, config: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a `git` that must not connect: a missing object is an error instead of a fetch."""
    origin = {f"remote.{ORIGIN}.url": remote.url, f"remote.{ORIGIN}.promisor": "true"}
    settings = {**_SAFE, **origin, **(config or {})}
    environment = {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    for at, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return environment


async def _pinned(url: str) -> dict[str, str]:
    """Options with which ssh connects to an address that was judged, and looks up the host key by name."""
    host, port = _ssh_target(url)
    address = await _judged_address(host, port)
    return {"HostName": address, "HostKeyAlias": host if port == _SSH_PORT else f"[{host}]:{port}", "CheckHostIP": "no"}


async def _pinned_proxy(proxy: str) -> dict[str, str]:
    """The settings of `git` for a proxy at an address that was judged: objects can declare proxies."""
    parts = urlsplit(proxy)
    try:
        host, port = parts.hostname or "", parts.port or _PROXY_PORTS.get(parts.scheme, 1080)
    except ValueError as error:
        raise GitAddressError("the proxy's URL has an invalid port") from error
    address = await _judged_address(host, port)
    literal = f"[{address}]" if ":" in address else address
    if parts.scheme == "https":  # its certificate is for the name
        return {"http.proxy": proxy, "http.curloptResolve": f"{host}:{port}:{literal}"}
    user, at, _ = parts.netloc.rpartition("@")
    return {"http.proxy": urlunsplit(parts._replace(netloc=f"{user}{at}{literal}:{port}"))}


async def _judged_address(host: str, port: int) -> str:
    try:
        return await reachable_address(host, port)
    except RefusedAddressError as error:
        raise GitAddressError(str(error.strerror)) from error
    except OSError as error:
        raise UnreachableError(f"cannot connect to {host}:{port}: {reason_of(error)}; check the URL") from error


def ssh_server(url: str) -> str:
    """`host:port` of an ssh URL; empty for others."""
    if not _scp_like(url) and urlsplit(url).scheme != "ssh":
        return ""
    host, port = _ssh_target(url)
    return f"{host}:{port}"


def _ssh_target(url: str) -> tuple[str, int]:
    if _scp_like(url):
        return url.partition(":")[0].rpartition("@")[2], _SSH_PORT
    parts = urlsplit(url)
    try:
        return parts.hostname or "", parts.port or _SSH_PORT
    except ValueError as error:
        raise GitAddressError("the repository's URL has an invalid port") from error


def _ssh(key: SshKey, directory: Path, pinned: Mapping[str, str], *, accepts_any_host: bool) -> dict[str, str]:
    identity = write_private(directory / "identity", key.private_key)
    hosts = write_private(directory / "hosts", key.known_hosts)
    options, more = {**_SSH, **pinned, "UserKnownHostsFile": str(hosts)}, {}
    if accepts_any_host:
        options |= {"StrictHostKeyChecking": "no", "UserKnownHostsFile": "/dev/null"}
    if key.passphrase:
        askpass = write_private(directory / "askpass", _ASKPASS, mode=0o700)
        # In batch mode ssh does not even call the askpass program.
        options |= {"BatchMode": "no", "NumberOfPasswordPrompts": "1"}
        more = {"SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force", _ANSWER: key.passphrase}
    words = ["ssh", "-F", "/dev/null", "-i", str(identity)]
    command = shlex.join([*words, *(f"-o{name}={value}" for name, value in options.items())])
    return {"GIT_SSH_COMMAND": command, "GIT_SSH_VARIANT": "ssh", **more}


def write_private(path: Path, text: str, *, mode: int = 0o600) -> Path:
    path.touch(mode=mode)
    # OpenSSH refuses a key without a newline at its end.
    path.write_text(text.rstrip("\n") + "\n")
    return path
