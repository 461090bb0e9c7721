"""Links to the page of a commit on its forge. Pure."""

from __future__ import annotations

import re

from homeostat.web.dashboard.html.markup import Node, el

_ssh = re.compile(r"(?:ssh://)?git@(?P<host>[A-Za-z0-9.-]+)(?::\d+/|[:/])(?P<path>[\w./~-]+?)(?:\.git)?").fullmatch
_http = re.compile(r"(?P<start>https?://[A-Za-z0-9.:-]+/[\w./~-]+?)(?:\.git)?/?").fullmatch
_SHOWN = 12


def commit_url(repository: str, commit: str) -> str:
    """The page of a commit on the forge; empty if the URL does not say where that is."""
    if (found := _ssh(repository)) is not None:
        start = f"https://{found['host']}/{found['path']}"
    elif (web := _http(repository)) is not None and not _is_local(repository):
        start = web["start"]
    else:
        return ""
    return f"{start}/-/commit/{commit}" if "gitlab" in start.split("/")[2] else f"{start}/commit/{commit}"


def _is_local(repository: str) -> bool:
    """A git server of this machine, as that of the demo, has no pages."""
    host = repository.partition("://")[2].partition("/")[0].partition(":")[0]
    return host == "localhost" or host.startswith("127.")


def commit_link(repository: str, commit: str) -> Node:
    """The first digits of the commit; empty without one."""
    if not commit:
        return ""
    url, shown = commit_url(repository, commit), el("code", commit[:_SHOWN], title=commit)
    return el("a", shown, href=url, rel="noopener noreferrer") if url else shown
