"""Registry credentials of a user's machine, in the order of the original tool.

1. `PACTO_REGISTRY_TOKEN`, else `PACTO_REGISTRY_USERNAME` and `PACTO_REGISTRY_PASSWORD`: for every registry, or, with
   `PACTO_REGISTRY_HOST`, for this one
2. `pacto/config.json` in `XDG_CONFIG_HOME` or `~/.config`, which `homeostat contract login` writes
3. `gh auth token` for GitHub's registries
4. Docker's configuration with its credential helpers, then Podman's
5. none

An operator puts the credential of an object's pull secret in front: `Chain((secret, operator_keychain(environ)))`. It
pulls what others name, so there the first needs a host: whoever names a registry of their own would get it sent there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from homeostat.external.oci.auth import Keychain, OneCredential
from homeostat.external.oci.keychain import Chain, GitHubProgram, Lazy, docker_keychain, home, read_config
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import DockerConfig, RegistryCredential

log = logging.getLogger(__name__)


def environment_keychain(environ: Mapping[str, str]) -> Keychain:
    """The credential that environment variables hold."""
    token = environ.get("PACTO_REGISTRY_TOKEN", "")
    username, password = environ.get("PACTO_REGISTRY_USERNAME", ""), environ.get("PACTO_REGISTRY_PASSWORD", "")
    found = None
    if token:
        found = RegistryCredential(registry_token=token)
    elif username and password:
        found = RegistryCredential(basic=BasicAuth(username, password))
    host = environ.get("PACTO_REGISTRY_HOST", "")
    return DockerConfig({host: found}, {}, "") if found and host else OneCredential(found)


def operator_keychain(environ: Mapping[str, str]) -> Keychain:
    """The credential that environment variables hold, for the registry that they name."""
    if environ.get("PACTO_REGISTRY_HOST"):
        return environment_keychain(environ)
    if environ.get("PACTO_REGISTRY_TOKEN") or environ.get("PACTO_REGISTRY_PASSWORD"):
        log.warning("ignored credentials of registries: set PACTO_REGISTRY_HOST to the registry that they are for")
    return OneCredential(None)


def user_keychain(environ: Mapping[str, str]) -> Chain:
    """All credentials that a user of this machine has. Files are read, and programs run, when one is first needed."""
    return Chain(
        (
            environment_keychain(environ),
            Lazy(partial(read_config, config_file(environ))),
            GitHubProgram(environ),
            docker_keychain(environ),
        )
    )


def config_file(environ: Mapping[str, str]) -> Path:
    folder = environ.get("XDG_CONFIG_HOME") or str(home(environ) / ".config")
    return Path(folder) / "pacto" / "config.json"
