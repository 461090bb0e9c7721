"""What a change of files means for a sync: which resources to apply, which to prune, or that all have to be. Pure.

| file | changed or added | removed |
|---|---|---|
| `<p>/resource.*` | apply p | prune p, unless p has another payload now |
| `<p>/metadata.*`, `<p>/defaults*`, any file beside a payload | apply p | apply p |
| `<c>/_/metadata.*`, `<c>/_/defaults*` | apply all of c that is in scope | the same |
| a document of a pattern (`_` or a glob on the way) | apply all of the scope | the same |
| any other file below a `_` | full | full |

A path is in scope if it is the source or below it. What lies above it is never applied or pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from homeostat.operators.sync.engine.paths.logical import ROOT, WILDCARD, is_within, overlaps
from homeostat.operators.sync.engine.paths.selector import is_wild
from homeostat.operators.sync.engine.tree.layout import METADATA_FILES, defaults_profile, is_hidden


@dataclass(frozen=True, slots=True)
class FileChange:
    name: str
    """Relative to the repository."""
    is_removed: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Target:
    path: str
    is_recursive: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    mode: Literal["incremental", "full"]
    targets: tuple[Target, ...] = ()
    pruned: tuple[str, ...] = ()
    reason: str = ""


def full_plan(source: str, reason: str, *, is_recursive: bool = True) -> Plan:
    return Plan("full", (Target(source, is_recursive),), reason=reason)


def plan_changes(source: str, changes: Iterable[FileChange], has_payload: Callable[[str], bool]) -> Plan:
    """`has_payload` says whether a path has a payload in the new revision."""
    targets, pruned = set[Target](), set[str]()
    for change in changes:
        match _meaning(change, source):
            case None:
                continue
            case "full":
                return full_plan(source, f"the meaning of {change.name} is unknown")
            case Target() as target if target.is_recursive:
                targets.add(target)
            case Target(path):
                is_payload = change.name.rpartition("/")[2].startswith("resource.")
                if has_payload(path):
                    targets.add(Target(path))
                elif is_payload and change.is_removed:
                    pruned.add(path)
    return Plan("incremental", _reduced(targets), tuple(sorted(pruned, key=lambda each: (-each.count("/"), each))))


def _meaning(change: FileChange, source: str) -> Target | Literal["full"] | None:
    *folders, file = change.name.split("/")
    if any(is_hidden(each) for each in folders) or is_hidden(file):
        return None
    if any(is_wild(each) for each in folders[:-1]) or (folders and is_wild(folders[-1]) and folders[-1] != WILDCARD):
        return Target(source, True) if _is_document(file) else "full"
    path = "/" + "/".join(folders)
    if folders and folders[-1] == WILDCARD:
        collection = "/" + "/".join(folders[:-1])
        if not overlaps(collection, source):
            return None
        inner = collection if is_within(collection, source) else source
        return Target(inner, True) if _is_document(file) else "full"
    if path == ROOT or not is_within(path, source):
        return None
    return Target(path)


def _is_document(file: str) -> bool:
    return file in METADATA_FILES or defaults_profile(file) is not None


def _reduced(targets: set[Target]) -> tuple[Target, ...]:
    """Without those that a recursive one covers; parents first."""
    roots = {each.path for each in targets if each.is_recursive}
    kept = [
        each for each in targets if not any(is_within(each.path, root) and Target(root, True) != each for root in roots)
    ]
    return tuple(sorted(kept, key=lambda each: (each.path.count("/"), each.path)))
