"""Settings of the operator, from the environment of the process: read once, refused if invalid. Pure.

| variable | what | default |
|---|---|---|
| `HOMEOSTAT_IMAGES_INTERVAL` | seconds between two passes (`--images-interval`); 0 for none | 300 |
| `HOMEOSTAT_IMAGES_WINDOW` | seconds that a trigger waits for others, to share a commit | 2 |
| `HOMEOSTAT_IMAGES_KEEP` | seconds that the ImageUpdate of a workload without annotations is kept | 3600 |
| `HOMEOSTAT_IMAGES_ALLOW_FILE` | allows repositories of this machine, `file://` (`--images-allow-file`) | no |
| `HOMEOSTAT_IMAGES_HOSTS` | the hosts and repositories that may be used (`--images-allow-hosts`) | all |
| `HOMEOSTAT_IMAGES_OWN_SECRETS` | Secrets of `gitops-operator`, too, have to allow it (`--images-own-secrets`) | no |
| `HOMEOSTAT_IMAGES_ANY_SECRETS` | Secrets of all namespaces may be used (`--images-any-secrets`) | no |
| `HOMEOSTAT_IMAGES_KNOWN_HOSTS` | lines of known hosts, beside those of the Secret and of two forges | none |
| `DEFAULT_FROM_NAME`, `DEFAULT_FROM_EMAIL` | author and committer | GitOps Operator |
| `GITHUB_API_URL`, `GITLAB_API_URL`, `GITEA_API_URL` | the APIs of forges | those of the hosts |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.external.environment import SettingError, number, setting, switch
from homeostat.operators.images.engine.hosts import Hosts, HostsError, parse_hosts

INTERVAL: Final = "HOMEOSTAT_IMAGES_INTERVAL"
WINDOW: Final = "HOMEOSTAT_IMAGES_WINDOW"
KEEP: Final = "HOMEOSTAT_IMAGES_KEEP"
ALLOW_FILE: Final = "HOMEOSTAT_IMAGES_ALLOW_FILE"
HOSTS: Final = "HOMEOSTAT_IMAGES_HOSTS"
OWN_SECRETS: Final = "HOMEOSTAT_IMAGES_OWN_SECRETS"
ANY_SECRETS: Final = "HOMEOSTAT_IMAGES_ANY_SECRETS"
KNOWN_HOSTS: Final = "HOMEOSTAT_IMAGES_KNOWN_HOSTS"
NAMES: Final = (INTERVAL, WINDOW, KEEP, ALLOW_FILE, HOSTS, OWN_SECRETS, ANY_SECRETS, KNOWN_HOSTS)
_LONGEST_S: Final = 7 * 24 * 3600.0
# As the two forges publish them.
_FORGES: Final = (
    "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"
    "gitlab.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAfuCHKVTjquxvt6CM6tdG4SLp1Btn/nOeHHE5UOzRdf\n"
)


class ImageSettings(msgspec.Struct, frozen=True, kw_only=True):
    interval_s: float = 300.0
    window_s: float = 2.0
    keep_s: float = 3600.0
    allows_file: bool = False
    hosts: Hosts | None = None
    """The hosts and repositories that may be used; None for all."""
    own_secrets: bool = False
    """Whether a Secret of `gitops-operator`, too, has to allow the workload's namespace."""
    any_secrets: bool = False
    """Whether Secrets of all namespaces may be used, as with the original."""
    known_hosts: str = _FORGES
    author_name: str = "GitOps Operator"
    author_email: str = "gitops-operator@homeostat.dev"
    github_api: str = ""
    """Empty for that of github.com."""
    gitlab_api: str = ""
    gitea_api: str = ""


def read_settings(environment: Mapping[str, str]) -> ImageSettings:
    """`SettingError` names the variable."""
    usual = ImageSettings()
    return ImageSettings(
        interval_s=number(environment, INTERVAL, usual.interval_s, most=_LONGEST_S, unit="seconds"),
        window_s=number(environment, WINDOW, usual.window_s, most=_LONGEST_S, unit="seconds"),
        keep_s=number(environment, KEEP, usual.keep_s, most=_LONGEST_S, unit="seconds"),
        allows_file=switch(environment, ALLOW_FILE),
        hosts=_hosts(environment),
        own_secrets=switch(environment, OWN_SECRETS),
        any_secrets=switch(environment, ANY_SECRETS),
        known_hosts=_FORGES + environment.get(KNOWN_HOSTS, ""),
        author_name=setting(environment, "DEFAULT_FROM_NAME") or usual.author_name,
        author_email=setting(environment, "DEFAULT_FROM_EMAIL") or usual.author_email,
        github_api=_url(environment, "GITHUB_API_URL"),
        gitlab_api=_url(environment, "GITLAB_API_URL"),
        gitea_api=_url(environment, "GITEA_API_URL"),
    )


def _hosts(environment: Mapping[str, str]) -> Hosts | None:
    try:
        return parse_hosts(environment[HOSTS]) if setting(environment, HOSTS) else None
    except HostsError as error:
        raise SettingError(f"environment variable {HOSTS}: {error}") from error


def _url(environment: Mapping[str, str], name: str) -> str:
    found = setting(environment, name).rstrip("/")
    if found and not found.startswith(("https://", "http://")):
        raise SettingError(f"environment variable {name} must be a URL that begins with https://")
    return found
