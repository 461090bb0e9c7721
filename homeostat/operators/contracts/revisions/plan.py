"""Plans the PactoRevisions of a Pacto: one for each version that was loaded, and no more than a limit. Pure.

A tag whose digest changed gets a second revision, and that it was overwritten is reported with its creation: once.
The revision in use and those of the repository's current tags are never deleted; of the others, the oldest go first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from homeostat.operators.contracts.api import PactoRevision
from homeostat.operators.contracts.engine.new_revisions import Known, plan_new
from homeostat.operators.contracts.engine.reference import parse_parts
from homeostat.operators.contracts.engine.revision import revision_name
from homeostat.operators.contracts.loading.content import Version

_MOST_ACTIONS: Final = 20
"""In one reconciliation; the next one follows at once."""


class CreateRevision(msgspec.Struct, frozen=True):
    name: str
    version: Version
    is_overwritten: bool = False
    """Whether the tag had another digest before."""

    def __str__(self) -> str:
        return f"create revision {self.name}"


class CompleteRevision(msgspec.Struct, frozen=True):
    """Write the status of a revision whose creation was interrupted."""

    name: str
    hash: str

    def __str__(self) -> str:
        return f"complete revision {self.name}"


class DeleteRevision(msgspec.Struct, frozen=True):
    name: str
    uid: str

    def __str__(self) -> str:
        return f"delete revision {self.name}"


RevisionAction = CreateRevision | CompleteRevision | DeleteRevision


class RevisionPlan(msgspec.Struct, frozen=True):
    current: str
    """The name of the revision that is in use."""
    actions: tuple[RevisionAction, ...] = ()


def plan_revisions(
    pacto: str,
    current: Version,
    versions: Sequence[Version],
    held: Sequence[PactoRevision],
    *,
    limit: int,
) -> RevisionPlan:
    """`versions` are those of the repository's tags, newest first; `held` are the revisions of the Pacto."""
    mirrored = {each.tag: each for each in versions if each.tag}
    wanted = {each.tag: each for each in (*mirrored.values(), current) if each.tag}
    new = {each.tag: each for each in plan_new({tag: each.digest for tag, each in wanted.items()}, _known(held))}
    chosen = [current, *(mirrored[tag] for tag in new if tag in mirrored)]
    by_name = {each.metadata.name: each for each in held}
    creations: dict[str, CreateRevision] = {}
    for each in chosen:
        name = _name_of(pacto, each, held)
        if name not in by_name:
            is_overwritten = each.tag in new and new[each.tag].is_overwritten
            creations.setdefault(name, CreateRevision(name, each, is_overwritten))
    in_use = _name_of(pacto, current, held)
    actions: list[RevisionAction] = [*creations.values(), *_incomplete(in_use, current, by_name)]
    if not actions:
        actions += _outdated({in_use, *(_name_of(pacto, each, held) for each in mirrored.values())}, held, limit)
    return RevisionPlan(in_use, tuple(actions[:_MOST_ACTIONS]))


def is_recorded(pacto: str, current: Version, held: Sequence[PactoRevision]) -> bool:
    """Whether the version that is in use has its revision."""
    name = _name_of(pacto, current, held)
    return any(each.metadata.name == name for each in held)


def _known(held: Iterable[PactoRevision]) -> list[Known]:
    """By tag. A revision that names a digest only, as of a pinned one, counts for its version."""
    found = []
    for each in held:
        source = each.spec.source
        if source.oci:
            found.append(Known(parse_parts(source.oci).tag or each.spec.version, source.digest))
    return found


def _name_of(pacto: str, version: Version, held: Iterable[PactoRevision]) -> str:
    """Contracts with equal files in different bundles have equal hashes; the second is named by its digest."""
    name = revision_name(pacto, version.version, version.hash)
    for each in held:
        if version.digest and each.spec.source.digest == version.digest and each.spec.version == version.version:
            return each.metadata.name
    taken = next((each.spec.source.digest for each in held if each.metadata.name == name), "")
    if version.digest and taken and taken != version.digest:
        return revision_name(pacto, version.version, version.digest.partition(":")[2])
    return name


def _incomplete(name: str, current: Version, by_name: dict[str, PactoRevision]) -> list[CompleteRevision]:
    held = by_name.get(name)
    status = b"" if held is None else bytes(held.status)
    if held is None or (b'"contractHash"' in status and b'"createdAt"' in status):
        return []
    return [CompleteRevision(name, current.hash)]


def _outdated(kept: set[str], held: Iterable[PactoRevision], limit: int) -> list[DeleteRevision]:
    others = [each for each in held if each.metadata.name not in kept]
    newest = sorted(others, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.name), reverse=True)
    excess = newest[max(0, limit - len(kept)) :]
    return [DeleteRevision(each.metadata.name, each.metadata.uid) for each in excess]
