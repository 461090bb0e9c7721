"""Webhooks of Docker Hub. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import Headers, ImagePush, PayloadError, part, required, text

_HOST: Final = "docker.io"


def read_docker_hub(_headers: Headers, body: JsonObject) -> list[ImagePush]:
    if "push_data" not in body:
        raise PayloadError('"push_data" is missing; is this webhook of another sender?')
    name = required(part(body, "repository"), "repo_name")
    return [ImagePush(_HOST, name, text(part(body, "push_data"), "tag"))]
