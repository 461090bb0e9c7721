"""The events `Push Hook` and `Tag Push Hook` of GitLab. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import GitPush, Headers, part, required, text

_EVENTS: Final = ("Push Hook", "Tag Push Hook", "System Hook")
_KINDS: Final = ("push", "tag_push")


def read_gitlab_push(headers: Headers, body: JsonObject) -> list[GitPush]:
    kind = text(body, "object_kind") or text(body, "event_name")
    if headers.get("x-gitlab-event", "") not in _EVENTS or kind not in _KINDS:
        return []
    project, commit = part(body, "project"), text(body, "after")
    urls = (text(project, each) for each in ("git_http_url", "git_ssh_url", "web_url"))
    push = GitPush(
        repository=required(project, "path_with_namespace"),
        urls=tuple(each for each in urls if each),
        ref=required(body, "ref"),
        commit="" if set(commit) == {"0"} else commit,
    )
    return [push]
