"""The event `push` of GitHub. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import GitPush, Headers, part, required, text


def read_github_push(headers: Headers, body: JsonObject) -> list[GitPush]:
    if headers.get("x-github-event", "") != "push":
        return []
    return [read_push(body)]


def read_push(body: JsonObject) -> GitPush:
    """The payload of GitHub, which Gitea has copied."""
    repository, commit = part(body, "repository"), text(body, "after")
    urls = (text(repository, each) for each in ("clone_url", "ssh_url", "html_url"))
    return GitPush(
        repository=required(repository, "full_name"),
        urls=tuple(each for each in urls if each),
        ref=required(body, "ref"),
        commit="" if set(commit) == {"0"} else commit,
    )
