"""The events `package` and `registry_package` of GitHub, for its container registry. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import Headers, ImagePush, part, required, text

_HOST: Final = "ghcr.io"
_EVENTS: Final = ("package", "registry_package")
_PUSHED: Final = ("published", "updated")


def read_github_package(headers: Headers, body: JsonObject) -> list[ImagePush]:
    event = headers.get("x-github-event", "")
    if event not in _EVENTS or text(body, "action") not in _PUSHED:
        return []
    package = part(body, event)
    if text(package, "package_type").lower() not in ("container", "docker"):
        return []
    owner = text(package, "namespace") or text(part(package, "owner"), "login")
    # Names of repositories are lower case; those of owners need not be.
    repository = f"{owner}/{required(package, 'name')}".lower()
    version = part(package, "package_version")
    tag = part(version, "container_metadata", "tag")
    digest = text(tag, "digest") or text(version, "version")
    return [ImagePush(_HOST, repository, text(tag, "name"), digest if ":" in digest else "")]
