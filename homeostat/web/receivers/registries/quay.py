"""The notification `repo_push` of Quay. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import MOST_PUSHES, Headers, ImagePush, PayloadError, required, text


def read_quay(_headers: Headers, body: JsonObject) -> list[ImagePush]:
    if "updated_tags" not in body:
        if "docker_url" in body or "repository" in body:
            return []
        raise PayloadError('"updated_tags" is missing; is this webhook of another sender?')
    repository, host = required(body, "repository"), text(body, "docker_url").partition("/")[0]
    tags = body["updated_tags"]
    # Older versions have an object of digests by tag.
    names = [each for each in tags if isinstance(each, str)] if isinstance(tags, list | dict) else []
    if len(names) > MOST_PUSHES:
        raise PayloadError(f'"updated_tags" has {len(names)} items; at most {MOST_PUSHES} are read')
    digests = tags if isinstance(tags, dict) else {}
    return [ImagePush(host, repository, each, text(digests, each)) for each in names] or [ImagePush(host, repository)]
