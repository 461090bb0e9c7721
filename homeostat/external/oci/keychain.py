"""Registry credentials of a user's machine: Docker's configuration with its credential helpers, Podman's, and the
token of GitHub's command line. Files are read, and programs run, when a credential is first needed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from homeostat.external.oci.auth import Keychain
from homeostat.external.secrets.credentials import LARGEST_SECRET, BasicAuth, CredentialError
from homeostat.external.secrets.docker_config import (
    CredentialHelperError,
    DockerConfig,
    RegistryCredential,
    parse_docker_config,
)

_GITHUB: Final = ("ghcr.io", "docker.pkg.github.com")
_GITHUB_USER: Final = "x-access-token"
_HUB_KEY: Final = "https://index.docker.io/v1/"
_IDENTITY_USER: Final = "<token>"
_HELPER_S: Final = 30.0
_MOST_KNOWN: Final = 1024
_LARGEST_OUTPUT: Final = 64 << 10


class Chain:
    """The first credential that one of the keychains has. A repository is looked up once, while not too many are."""

    def __init__(self, keychains: Sequence[Keychain]) -> None:
        self._keychains = keychains
        self._known: dict[tuple[str, str], RegistryCredential | None] = {}
        self._lock = threading.Lock()
        """Held during a lookup, so that requests at the same time run a program once."""

    def __len__(self) -> int:
        """How many lookups are known."""
        return len(self._known)

    async def look_up(self, registry: str, repository: str = "") -> RegistryCredential | None:
        """As `find`. A program that keeps the caller waiting, such as a locked keyring, does not block the loop."""
        key = (registry, repository)
        return self._known[key] if key in self._known else await asyncio.to_thread(self.find, registry, repository)

    def find(self, registry: str, repository: str = "") -> RegistryCredential | None:
        with self._lock:
            return self._find((registry, repository))

    def _find(self, key: tuple[str, str]) -> RegistryCredential | None:
        if key not in self._known:
            found = (each.find(*key) for each in self._keychains)
            credential = next((each for each in found if each is not None), None)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = credential
        return self._known[key]


def docker_keychain(environ: Mapping[str, str]) -> Chain:
    """Docker's and Podman's."""
    return Chain([Lazy(partial(_with_helpers, path, environ)) for path in _docker_files(environ)])


def read_config(path: Path) -> DockerConfig:
    """Docker's form; a missing file has no credentials."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_SECRET + 1)
    except (FileNotFoundError, NotADirectoryError):
        return DockerConfig({}, {}, "")
    except OSError as error:
        raise CredentialError(f'cannot read "{path}": {error.strerror}') from error
    return parse_docker_config(data, str(path))


class Lazy:
    """A keychain that is read when a credential is first needed."""

    def __init__(self, read: Callable[[], Keychain]) -> None:
        self._read = read
        self._found: Keychain | None = None

    def find(self, registry: str, repository: str = "") -> RegistryCredential | None:
        if self._found is None:
            self._found = self._read()
        return self._found.find(registry, repository)


class GitHubProgram:
    """The token of GitHub's command line, for GitHub's registries only."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def find(self, registry: str, repository: str = "") -> RegistryCredential | None:
        if registry not in _GITHUB:
            return None
        token = _output(("gh", "auth", "token"), b"", self._environ)
        if not token or not token.isascii() or not token.isprintable():
            return None
        return RegistryCredential(basic=BasicAuth(_GITHUB_USER, token))


class _Helped:
    """Docker's configuration, whose helper programs are run."""

    def __init__(self, config: DockerConfig, environ: Mapping[str, str]) -> None:
        self._config, self._environ = config, environ

    def find(self, registry: str, repository: str = "") -> RegistryCredential | None:
        try:
            return self._config.find(registry, repository)
        except CredentialHelperError as error:
            return _helped(error.helper, registry, self._environ)


def _with_helpers(path: Path, environ: Mapping[str, str]) -> Keychain:
    return _Helped(read_config(path), environ)


def _helped(helper: str, registry: str, environ: Mapping[str, str]) -> RegistryCredential | None:
    """What a helper has for the registry; None if it has nothing, or is not installed."""
    if os.sep in helper:
        raise CredentialError(f'"{helper}" is not the name of a credential helper')
    key = _HUB_KEY if registry == "docker.io" else registry
    text = _output((f"docker-credential-{helper}", "get"), key.encode(), environ)
    if not text:
        return None
    try:
        found = json.loads(text)
        username, secret = str(found["Username"]), str(found["Secret"])
    except (ValueError, KeyError, TypeError):
        raise CredentialError(f'"docker-credential-{helper}" printed no credential in JSON') from None
    if username == _IDENTITY_USER:
        return RegistryCredential(identity_token=secret)
    return RegistryCredential(basic=BasicAuth(username, secret)) if username else None


def _output(command: Sequence[str], stdin: bytes, environ: Mapping[str, str]) -> str:
    """What a program prints; empty if it is missing, fails or takes too long."""
    program = shutil.which(command[0], path=environ.get("PATH", ""))
    if program is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - of the user's own configuration
            [program, *command[1:]],
            input=stdin,
            env=dict(environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_HELPER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:_LARGEST_OUTPUT].decode(errors="replace").strip() if done.returncode == 0 else ""


def _docker_files(environ: Mapping[str, str]) -> list[Path]:
    docker = environ.get("DOCKER_CONFIG") or str(home(environ) / ".docker")
    podman = environ.get("REGISTRY_AUTH_FILE")
    if not podman and environ.get("XDG_RUNTIME_DIR"):
        podman = f"{environ['XDG_RUNTIME_DIR']}/containers/auth.json"
    return [Path(docker) / "config.json", *([Path(podman)] if podman else [])]


def home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or "~").expanduser()
