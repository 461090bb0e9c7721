"""Repositories of applications and manifests: their heads, and the files that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from homeostat.external.git.access import PROTOCOLS, Remote, without_password
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import (
    GitAddressError,
    GitError,
    InvalidRefError,
    MissingPathError,
    MissingRefError,
    NotAFileError,
    TooLargeError,
    UnreachableError,
)
from homeostat.external.git.repository import Repository
from homeostat.external.git.snapshot import Snapshot, TreeEntry
from homeostat.external.rest.client import RestClient
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.world import Problem

_GIT_RETRY_S: Final = 30.0
Count = Callable[[str, str], None]
"""Takes an operation and its result, for the metrics."""


class Repositories:
    def __init__(self, directory: Path, count: Count, rest: RestClient, *, allows_file: bool = False) -> None:
        protocols = PROTOCOLS | {"file"} if allows_file else PROTOCOLS
        self.cache = GitCache(directory, protocols=protocols, rest=rest)
        self._count = count

    async def head(self, remote: Remote, branch: str, memory: Memory) -> str | Problem:
        """The newest commit of a branch of the application."""
        return await memory.once(("head", remote.key, branch), lambda: self._head(remote, branch))

    async def _head(self, remote: Remote, branch: str) -> str | Problem:
        try:
            found = await self.cache.resolve(remote, f"refs/heads/{branch}")
        except GitError as error:
            self._count("ls-remote", "failure")
            return git_problem(error, "app_repository", remote, branch)
        self._count("ls-remote", "success")
        return found

    async def fetch(self, repository: Repository, branch: str) -> str:
        try:
            commit = await repository.fetch(f"refs/heads/{branch}")
        except GitError:
            self._count("fetch", "failure")
            raise
        self._count("fetch", "success")
        return commit


async def read_files(snapshot: Snapshot, paths: Iterable[str]) -> dict[str, bytes | Problem]:
    """The files that exist; links are not followed, and each problem names its file."""
    wanted = sorted(set(paths))
    entries = await snapshot.entries(wanted)
    found: dict[str, bytes | Problem] = {}
    files = list[TreeEntry]()
    for path in wanted:
        entry = entries.get(path)
        if entry is None:
            found[path] = Problem(_missing(path, entries), "FileMissing")
        elif not entry.is_file:
            found[path] = Problem(
                f"{path} is {entry.kind}, not a file; correct gitops.operator.deployment_path", "NotAFile"
            )
        else:
            files.append(entry)
    return found | await _contents(snapshot, files)


async def _contents(snapshot: Snapshot, files: list[TreeEntry]) -> dict[str, bytes | Problem]:
    try:
        return dict(zip((each.path for each in files), await snapshot.read(files), strict=True))
    except TooLargeError:
        # One file must not stop the others.
        found: dict[str, bytes | Problem] = {}
        for each in files:
            try:
                found[each.path] = (await snapshot.read([each]))[0]
            except TooLargeError as error:
                found[each.path] = Problem(f"{each.path}: {error}", "FileTooLarge")
        return found


def _missing(path: str, entries: Mapping[str, TreeEntry]) -> str:
    advice = "correct the annotation gitops.operator.deployment_path"
    link = next((each for each in entries.values() if each.is_link and path.startswith(f"{each.path}/")), None)
    if link is not None:
        return f"{path}: {link.path} is a link, which is not followed; {advice}"
    return f"{path} does not exist in the manifests repository; {advice} or add the file"


def git_problem(error: GitError, annotation: str, remote: Remote, branch: str) -> Problem:
    """`annotation` names the repository."""
    where = f"{annotation} {without_password(remote.url)}"
    match error:
        case InvalidRefError():
            text = f"{where}: {branch[:100]!r} is not the name of a branch; correct gitops.operator.observe_branch"
            return Problem(text, error.reason)
        case GitAddressError() if remote.url.startswith("file://"):
            advice = "allow repositories of this machine with --images-allow-file, or for a command with --allow-file"
            return Problem(f"{where}: {error}; {advice}", error.reason)
        case MissingPathError() | NotAFileError():
            return Problem(f"{where}: {error}", error.reason)
        case MissingRefError():
            text = f"{where} has no branch {branch}; correct the annotation gitops.operator.observe_branch"
            return Problem(text, error.reason)
        case UnreachableError():
            return Problem(f"{where}: {error}", error.reason, _GIT_RETRY_S)
    return Problem(f"{where}: {error}", error.reason)
