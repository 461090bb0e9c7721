"""Who may send webhooks, how each proves itself, and how its payload is read. Pure.

`REGISTRIES` and `FORGES` are named by the last part of the path, for `contracts` and `images`; `PROVIDERS` by
`spec.provider` of a RepositoryWebhook, for `sync`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.forges.gitea import read_gitea_push
from homeostat.web.receivers.forges.github import read_github_push
from homeostat.web.receivers.forges.gitlab import read_gitlab_push
from homeostat.web.receivers.push import GitPush, Headers, ImagePush
from homeostat.web.receivers.registries.distribution import read_notification
from homeostat.web.receivers.registries.docker_hub import read_docker_hub
from homeostat.web.receivers.registries.gitea import read_gitea_package
from homeostat.web.receivers.registries.github import read_github_package
from homeostat.web.receivers.registries.harbor import read_harbor
from homeostat.web.receivers.registries.quay import read_quay
from homeostat.web.receivers.signature import Prove, by_generic, by_gitea, by_github, by_gitlab, by_token

P = TypeVar("P", bound=ImagePush | GitPush)


class Sender(msgspec.Struct, Generic[P], frozen=True):
    prove: Prove
    read: Callable[[Headers, JsonObject], list[P]]
    """The pushes of a payload; empty for another event. Raises `PayloadError`."""
    delivery: str = ""
    """The header with an id that each delivery has for itself."""


_GITHUB_ID: Final = "x-github-delivery"
_GITEA_ID: Final = "x-gitea-delivery"
_GITLAB_ID: Final = "idempotency-key"

REGISTRIES: Final[Mapping[str, Sender[ImagePush]]] = {
    "distribution": Sender(by_token, read_notification),
    "docker-hub": Sender(by_token, read_docker_hub),
    "github": Sender(by_github, read_github_package, _GITHUB_ID),
    "gitea": Sender(by_gitea, read_gitea_package, _GITEA_ID),
    "harbor": Sender(by_token, read_harbor),
    "quay": Sender(by_token, read_quay),
}
FORGES: Final[Mapping[str, Sender[GitPush]]] = {
    "github": Sender(by_github, read_github_push, _GITHUB_ID),
    "gitea": Sender(by_gitea, read_gitea_push, _GITEA_ID),
    "gitlab": Sender(by_gitlab, read_gitlab_push, _GITLAB_ID),
}


class Provider(msgspec.Struct, frozen=True):
    """A forge of a RepositoryWebhook: only its event and the pushed ref are read."""

    prove: Prove
    event: str
    """The header with the event."""
    delivery: str
    push: str = "push"
    ping: str = "ping"


PROVIDERS: Final[Mapping[str, Provider]] = {
    "github": Provider(by_github, "x-github-event", "x-github-delivery"),
    "gitlab": Provider(by_gitlab, "x-gitlab-event", "x-gitlab-event-uuid", push="Push Hook", ping=""),
    "gitea": Provider(by_gitea, "x-gitea-event", "x-gitea-delivery", ping=""),
    "generic-hmac": Provider(by_generic, "x-event-type", "x-delivery-id"),
}
