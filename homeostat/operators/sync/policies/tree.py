"""The files of a commit that a sync needs, read out of the object store.

The names of all files are listed; contents are read of the targets, and of the metadata that holds for them. So a
commit that changes three resources of 10,000 reads the files of three.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

from homeostat.external.git.repository import PathChange, Repository
from homeostat.external.git.snapshot import Snapshot, TreeEntry
from homeostat.operators.sync.engine.paths.logical import is_within, segments
from homeostat.operators.sync.engine.paths.selector import is_wild
from homeostat.operators.sync.engine.plan.changes import FileChange, Plan, Target
from homeostat.operators.sync.engine.tree.directory import LARGEST_FILE, TOO_LARGE, Directory, ambiguous, directory_of


async def list_files(snapshot: Snapshot) -> list[TreeEntry]:
    """Files and links; submodules are left out. Links are never followed, but known."""
    entries = await snapshot.tree()
    # Each pass over 200,000 names takes some 50 ms.
    return await asyncio.to_thread(lambda: [each for each in entries if each.is_file or each.is_link])


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
