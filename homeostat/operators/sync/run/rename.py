"""Renames: a path that is gone and a new one that are the same object.

| the new path | what is done |
|---|---|
| names the id of the old object | it is updated, and nothing is deleted |
| has the same content, in a collection whose objects are addressed by their ids | the old object is updated |
| has the same content elsewhere | it is created, and only then the old object is deleted |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace as replaced

from msgspec.structs import replace

from homeostat.operators.sync.engine.compare.difference import Mode
from homeostat.operators.sync.engine.paths.logical import parent
from homeostat.operators.sync.run.changed import changed_step
from homeostat.operators.sync.run.plan import Step
from homeostat.operators.sync.run.prune import Candidate
from homeostat.operators.sync.run.record import Owned, Record
from homeostat.operators.sync.session.apply import Compared, compared_with
from homeostat.operators.sync.session.desired import desired
from homeostat.operators.sync.session.session import Session


def same_object(gone: Sequence[Candidate], steps: dict[str, Step], facts: Mapping[str, Owned]) -> list[Candidate]:
    """Without those whose object is declared by another path now."""
    declared = {(parent(path), fact.id): path for path, fact in facts.items() if fact.id}
    kept = list[Candidate]()
    for each in gone:
        path = declared.get((parent(each.path), each.step.id)) if each.step.id else None
        if path is None:
            kept.append(each)
        else:
            steps[path] = replace(steps[path], renamed_from=each.path)
    return kept


async def with_renames(
    session: Session,
    gone: Sequence[Candidate],
    record: Record,
    steps: dict[str, Step],
    compared: dict[str, Compared],
    facts: dict[str, Owned],
    mode: Mode,
) -> list[Candidate]:
    """Creations whose content is that of exactly one object to delete become its update, or come before it."""
    creations, deletions = defaultdict[str, list[str]](list), defaultdict[str, list[Candidate]](list)
    for each in gone:
        if each.step.is_due and record.objects[each.path].content:
            deletions[record.objects[each.path].content].append(each)
    if not deletions:
        return list(gone)
    for path, step in steps.items():
        if step.action == "create" and facts[path].content in deletions:
            creations[facts[path].content].append(path)
    dropped = set[str]()
    for content, paths in creations.items():
        if len(paths) != 1 or len(deletions[content]) != 1:
            continue
        path, candidate = paths[0], deletions[content][0]
        if await _updates(session, path, candidate, steps, compared, facts, mode):
            dropped.add(candidate.path)
        else:
            steps[path] = replace(steps[path], renamed_from=candidate.path)
    return [each for each in gone if each.path not in dropped]


async def _updates(
    session: Session,
    path: str,
    candidate: Candidate,
    steps: dict[str, Step],
    compared: dict[str, Compared],
    facts: dict[str, Owned],
    mode: Mode,
) -> bool:
    """Whether the object can keep its id under the new path."""
    kept = compared.get(path)
    wanted = kept.wanted if kept is not None else await desired(session, path)
    if parent(path) != parent(candidate.path) or wanted.rules.has_one_identity or wanted.id:
        return False
    compared[path] = await compared_with(session, wanted, replaced(candidate.remote, etag=""), mode)
    step = changed_step(session, compared[path], "update")
    steps[path] = replace(step, renamed_from=candidate.path)
    facts[path] = replace(facts[path], id=candidate.remote.id)
    return True
