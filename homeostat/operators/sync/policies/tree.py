"""The files of a commit that a sync needs, read out of the object store.

Contents are read of the targets, and of the metadata that holds for them. The names of all files are listed for a full
sync only: of a commit that changes three resources of 200,000, the directories on the way to these three are listed,
and three files are read.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from homeostat.external.git.repository import PathChange, Repository
from homeostat.external.git.snapshot import Snapshot, TreeEntry
from homeostat.operators.sync.engine.paths.logical import is_within, segments
from homeostat.operators.sync.engine.paths.selector import is_wild
from homeostat.operators.sync.engine.plan.changes import FileChange, Plan, Target, plan_changes
from homeostat.operators.sync.engine.tree.directory import LARGEST_FILE, TOO_LARGE, Directory, ambiguous, directory_of

_MOST_LISTED: Final = 200
"""Directories that are listed one by one: `git` compares each name with all of them."""
_is_unaskable = re.compile(r"[\x00-\x1f\ufffd]|.{4097}").search
"""Git cannot be asked for such a path: it is not UTF-8 and was made readable, has control characters or is too long."""


async def list_files(snapshot: Snapshot) -> list[TreeEntry]:
    """Files and links; submodules are left out. Links are never followed, but known."""
    entries = await snapshot.tree()
    # Each pass over 200,000 names takes some 50 ms.
    return await asyncio.to_thread(lambda: [each for each in entries if each.is_file or each.is_link])


async def list_changed(snapshot: Snapshot, source: str, changes: Sequence[FileChange]) -> list[TreeEntry] | None:
    """The files and links that a sync of these changes needs. None if everything has to be listed: the sync needs all
    or most of it, or a directory cannot be listed by its name.
    """
    folders = {change.name.rpartition("/")[0] for change in changes}
    ways = {"/".join(parts[:at]) for parts in _ways(folders, source) for at in range(len(parts) + 1)}
    if len(ways) > _MOST_LISTED or any(map(_is_unaskable, ways)):
        return None

    def is_wanted(path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return path in ways or folder in folders or is_wild(name)

    near = await snapshot.children(sorted(ways), is_wanted)
    plan = plan_changes(source, changes, payload_paths(near).__contains__)
    if plan.mode == "full":
        return None
    recursive = [*(each.path for each in plan.targets if each.is_recursive), *plan.pruned]
    wild = [each.path for each in near if each.is_directory and is_wild(each.path.rpartition("/")[2])]
    roots = _outermost({*(each[1:] for each in recursive), *wild})
    if "" in roots or any(map(_is_unaskable, roots)):
        return None
    kept = [each for each in near if (each.is_file or each.is_link) and not _is_below(each.path, roots)]
    return kept + [each for each in await snapshot.below(sorted(roots)) if each.is_file or each.is_link]


def _ways(folders: Iterable[str], source: str) -> Iterator[list[str]]:
    yield segments(source)
    for each in folders:
        yield each.split("/") if each else []


def _outermost(paths: set[str]) -> set[str]:
    return {each for each in paths if not _is_below(each, paths - {each})}


def _is_below(path: str, roots: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:at]) in roots for at in range(len(parts) + 1))


def payload_paths(entries: Sequence[TreeEntry]) -> frozenset[str]:
    """The logical paths that have a payload."""
    found = (each.path.rpartition("/") for each in entries if each.is_file)
    return frozenset(f"/{folder}" for folder, _, file in found if folder and file.startswith("resource."))


async def changed_files(repository: Repository, base: str, head: str) -> list[FileChange]:
    """A rename is a file that is removed and one that is added. `GitError` if the base is unknown."""
    return [each for change in await repository.changes(base, head) for each in _sides(change)]


def _sides(change: PathChange) -> list[FileChange]:
    if change.kind == "D":
        return [FileChange(change.path, is_removed=True)]
    if change.kind == "R":
        return [FileChange(change.old_path, is_removed=True), FileChange(change.path)]
    return [FileChange(change.path)]


async def read_tree(snapshot: Snapshot, entries: Sequence[TreeEntry], plan: Plan) -> Directory:
    wanted = await asyncio.to_thread(_wanted, entries, plan)
    sizes = await snapshot.sizes(wanted) if wanted else []
    small = [each for each, size in zip(wanted, sizes, strict=True) if size <= LARGEST_FILE]
    contents = await snapshot.read(small)

    def directory() -> Directory:
        files = dict.fromkeys((each.path for each in wanted), TOO_LARGE)
        if len(files) < len(wanted):
            raise ambiguous(next(path for path, count in Counter(each.path for each in wanted).items() if count > 1))
        files |= dict(zip((each.path for each in small), contents, strict=True))
        return directory_of(files, [each.path for each in entries if each.is_link])

    return await asyncio.to_thread(directory)


def _wanted(entries: Sequence[TreeEntry], plan: Plan) -> list[TreeEntry]:
    # What is below an object to delete is read, too: as long as it is declared, the object stays.
    targets = [*plan.targets, *(Target(each, True) for each in plan.pruned)]
    if plan.mode == "full":
        # A source that is not recursive is itself or what is directly in it.
        targets += [Target(f"/{folder}") for each in plan.targets for folder in _children(entries, each)]
    needed = Needed(targets)
    return [each for each in entries if each.is_file and needed.has(each.path)]


def _children(entries: Sequence[TreeEntry], target: Target) -> set[str]:
    if target.is_recursive:
        return set()
    depth = len(segments(target.path)) + 1
    found = (each.path.split("/") for each in entries)
    return {
        "/".join(parts[:depth])
        for parts in found
        if len(parts) == depth + 1 and is_within("/" + "/".join(parts), target.path)
    }


class Needed:
    """Selects which files belong to targets, or are metadata that may hold for one of them."""

    def __init__(self, targets: Iterable[Target]) -> None:
        targets = list(targets)
        self._exact = {each.path for each in targets if not each.is_recursive}
        self._roots = {tuple(segments(each.path)) for each in targets if each.is_recursive}
        self._above = {
            tuple(parts[:at]) for each in targets for parts in [segments(each.path)] for at in range(len(parts) + 1)
        }

    def has(self, name: str) -> bool:
        folders = name.split("/")[:-1]
        path = "/" + "/".join(folders)
        if path in self._exact or any(tuple(folders[:at]) in self._roots for at in range(len(folders) + 1)):
            return True
        wild = next((at for at, each in enumerate(folders) if is_wild(each)), None)
        return wild is not None and tuple(folders[:wild]) in self._above
