"""Input `git`: the YAML and JSON files of a directory in a Git repository, at a branch, a tag or a commit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.external.git.access import Access, Remote
from homeostat.external.git.cache import GitCache
from homeostat.external.git.program import GitLimits
from homeostat.external.git.snapshot import Snapshot, TreeEntry
from homeostat.external.secrets.credentials import BasicAuth, SshKey
from homeostat.external.secrets.secrets import SecretReference, SecretText
from homeostat.operators.actions.inputs.plugins.declaration import Declared, read_declarations
from homeostat.operators.actions.inputs.plugins.plugin import InputError, InputJob, Tools
from homeostat.operators.actions.inputs.plugins.reading import Broken, Reading

_SUFFIXES: Final = (".yaml", ".yml", ".json")


class GitConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    url: str
    ref: str = "HEAD"
    directory: str = ""
    token: SecretReference | None = None
    username: str = "git"
    ssh_key: SecretReference | None = None
    known_hosts: SecretText = ""
    ca_certificate: SecretText = ""


class GitInput:
    name, version, config = "git", "1.0.0", GitConfig

    def __init__(self, tools: Tools) -> None:
        self._limits = GitLimits()

    async def read(self, job: InputJob[GitConfig]) -> Reading | None:
        config = job.config
        remote = Remote(config.url, await _access(job), await job.secrets.reveal(config.ca_certificate))
        async with GitCache(job.directory, limits=self._limits).open(remote) as repository:
            commit = await repository.fetch(config.ref)
            if commit == job.known:
                return None
            snapshot = repository.at(commit)
            entries = [each for each in await snapshot.tree(config.directory) if each.path.endswith(_SUFFIXES)]
            sound, broken = await self._sorted(snapshot, entries)
            texts = await snapshot.read(sound)
        # Parsing a large file would block the event loop.
        found = await asyncio.to_thread(_parsed, sound, texts, job.namespace)
        return Reading(revision=commit, declarations=tuple(found.declarations), broken=(*broken, *found.broken))

    async def _sorted(self, snapshot: Snapshot, entries: Sequence[TreeEntry]) -> tuple[list[TreeEntry], list[Broken]]:
        files = [each for each in entries if each.is_file]
        broken = [Broken(each.path, "symbolic links are not followed") for each in entries if not each.is_file]
        sound, limit = [], self._limits.file_bytes
        for each, size in zip(files, await snapshot.sizes(files), strict=True):
            if size > limit:
                broken.append(Broken(each.path, f"it has {size} bytes; at most {limit} are read"))
            else:
                sound.append(each)
        return sound, broken


def _parsed(entries: Sequence[TreeEntry], texts: Sequence[bytes], namespace: str) -> Declared:
    found = Declared([], [])
    for entry, data in zip(entries, texts, strict=True):
        one = read_declarations(data, entry.path, namespace=namespace)
        found.declarations.extend(one.declarations)
        found.broken.extend(one.broken)
    return found


async def _access(job: InputJob[GitConfig]) -> Access:
    config = job.config
    if config.token is not None and config.ssh_key is not None:
        raise InputError(
            "InvalidConfig", "token and sshKey are mutually exclusive; set token for https URLs, sshKey for ssh URLs"
        )
    if config.ssh_key is not None:
        key = await job.secrets.reveal(config.ssh_key)
        return SshKey(key, await job.secrets.reveal(config.known_hosts))
    if config.token is not None:
        return BasicAuth(config.username, await job.secrets.reveal(config.token))
    return None
