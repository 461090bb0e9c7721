"""Webhooks of Harbor, in its own format and as CloudEvents. Pure."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import Headers, ImagePush, items, part, required, text, unique

_PUSHED: Final = ("PUSH_ARTIFACT", "harbor.artifact.pushed")


def read_harbor(_headers: Headers, body: JsonObject) -> list[ImagePush]:
    if required(body, "type") not in _PUSHED:
        return []
    event = part(body, "data") or part(body, "event_data")
    # Some versions wrap their own format into the data of the CloudEvent.
    event = part(event, "event_data") or event
    repository = required(part(event, "repository"), "repo_full_name")
    pushes = [_push(repository, each) for each in items(event, "resources")]
    return unique(pushes) or [ImagePush("", repository)]


def _push(repository: str, resource: JsonObject) -> ImagePush:
    url = text(resource, "resource_url")
    host = urlsplit(url if "://" in url else f"//{url}").netloc
    tag = text(resource, "tag")
    # An artifact without a tag has its digest there.
    return ImagePush(host, repository, "" if ":" in tag else tag, text(resource, "digest"))
