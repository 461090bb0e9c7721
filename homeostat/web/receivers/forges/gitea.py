"""The event `push` of Gitea and Forgejo. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.forges.github import read_push
from homeostat.web.receivers.push import GitPush, Headers


def read_gitea_push(headers: Headers, body: JsonObject) -> list[GitPush]:
    event = headers.get("x-gitea-event") or headers.get("x-forgejo-event", "")
    return [read_push(body)] if event == "push" else []
