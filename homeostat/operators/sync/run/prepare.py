"""Computes the plan of a sync: compares what is declared with what the server has, and finds what to delete.

Only reads are sent. One resource that cannot be compared is `unknown` in the plan and stops no other.

Resources are compared in batches of whole collections, and what a batch has read is forgotten after it, except lists
within `MOST_LISTED` items: of each resource a step and a few facts stay. The values of both sides stay of as many as
`MOST_KEPT` resources to change; the execution compares the others again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from homeostat.edge.turn import map_concurrently
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.sync.engine.errors import ConflictError, SyncError, of
from homeostat.operators.sync.engine.paths.logical import ROOT, name, parent
from homeostat.operators.sync.engine.plan.changes import Plan
from homeostat.operators.sync.engine.plan.ownership import prunable
from homeostat.operators.sync.engine.tree.listing import resources
from homeostat.operators.sync.offload import computed, swept
from homeostat.operators.sync.run.changed import changed_step
from homeostat.operators.sync.run.hold import held_plan, held_steps
from homeostat.operators.sync.run.options import SyncOptions
from homeostat.operators.sync.run.plan import Step, SyncPlan
from homeostat.operators.sync.run.prune import observe_candidates
from homeostat.operators.sync.run.record import Owned, Record
from homeostat.operators.sync.run.rename import same_object, with_renames
from homeostat.operators.sync.run.shape import content_digest, dropped, shape_of
from homeostat.operators.sync.session.apply import Compared, compare, prepare_lists
from homeostat.operators.sync.session.remote import Remote
from homeostat.operators.sync.session.session import MOST_LISTED, Session

Advance = Callable[[int], None]
MOST_KEPT: Final = 5_000
"""Resources whose values are kept from the comparison to the execution."""
_BATCH: Final = 2_000
"""Resources that are compared together; a collection is never divided."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan with what its execution needs. The plan is for people, the rest never leaves the process."""

    plan: SyncPlan
    compared: Mapping[str, Compared] = field(default_factory=dict, repr=False)
    """Of the resources to create or update, up to a limit: `comparison` of the execution computes the others again."""
    names: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    """Alias and id of those others, if they are not the name in the path."""
    remotes: Mapping[str, Remote] = field(default_factory=dict, repr=False)
    """Of the objects to delete."""
    facts: Mapping[str, Owned] = field(default_factory=dict, repr=False)
    """Of every declared resource that was compared: its id, if it exists, and what it declares."""
    errors: Mapping[str, SyncError] = field(default_factory=dict, repr=False)
    """Of the resources that could not be compared."""
    held_until: datetime | None = None
    """When the plan may be carried out, if it is held until a time."""


@dataclass(slots=True, kw_only=True)
class _Found:
    kept: int = MOST_KEPT
    """How many comparisons may be kept."""
    detailed: int | None = None
    """How many steps of each action list their differences; None for all."""
    steps: dict[str, Step] = field(default_factory=dict)
    compared: dict[str, Compared] = field(default_factory=dict)
    facts: dict[str, Owned] = field(default_factory=dict)
    errors: dict[str, SyncError] = field(default_factory=dict)
    names: dict[str, frozenset[str]] = field(default_factory=dict)
    shapes: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def keep(self, compared: Compared, step: Step) -> Step:
        """Keep what the execution needs of a resource to change."""
        wanted, path = compared.wanted, step.path
        if len(self.compared) < self.kept:
            self.compared[path] = compared
        elif names := frozenset({wanted.alias, wanted.id} - {"", name(path)}):
            self.names[path] = names
        self.counts[step.action] += 1
        if self.detailed is None or self.counts[step.action] <= self.detailed:
            return step
        # A PATCH has to name the fields that are no longer declared.
        dropped = tuple(each for each in step.differences if each.operation == "drop")
        return replace(step, differences=dropped, more=step.more + len(step.differences) - len(dropped))


async def make_plan(
    session: Session,
    scope: Plan,
    options: SyncOptions,
    record: Record,
    *,
    source: str,
    now: datetime,
    revision: str = "",
    advance: Advance | None = None,
    detailed: int | None = None,
) -> Prepared:
    """`scope` says which part of the source to compare, and which paths were removed if it is incremental. `detailed`
    limits how many steps of each action list their differences.
    """
    held, held_until = held_plan(options, record, now)
    found = _Found(kept=0 if held else MOST_KEPT, detailed=detailed)
    size = len(record.objects)
    declared = await asyncio.to_thread(declared_paths, session, scope)
    await _compare_all(session, declared, options, record, found, advance)
    size += len(declared)
    await swept(lambda: refuse_doubles(found.steps, found.facts), size)
    candidates = await swept(lambda: _gone(scope, source, record, declared), size)
    observed = await observe_candidates(session, candidates, record, options)
    session.trim()
    gone = await swept(lambda: same_object(observed, found.steps, found.facts), size)
    gone = await with_renames(session, gone, record, found.steps, found.compared, found.facts, options.compare)
    steps = await swept(
        lambda: held_steps(
            [*(found.steps[each] for each in declared), *(each.step for each in gone)],
            options,
            record,
            now,
            lambda path: bool(resources(session.root, path, is_recursive=True)),
        ),
        size,
    )
    plan = SyncPlan(
        source=source,
        is_recursive=any(each.is_recursive for each in scope.targets),
        mode=scope.mode,
        reason=scope.reason,
        revision=revision,
        made_at=format_time(now),
        options=options,
        server=session.remote.base,
        held=held,
        steps=tuple(steps),
    )
    return Prepared(
        plan,
        found.compared,
        found.names,
        {each.path: each.remote for each in gone},
        found.facts,
        found.errors,
        held_until,
    )


async def _compare_all(
    session: Session,
    declared: Sequence[str],
    options: SyncOptions,
    record: Record,
    found: _Found,
    advance: Advance | None,
) -> None:
    async def one(path: str) -> None:
        found.steps[path] = await _step(session, path, options, record, found)
        if advance is not None:
            advance(1)

    for batch in await swept(lambda: list(batches(declared)), len(declared)):
        await prepare_lists(session, batch)
        await map_concurrently(one, batch, at_once=session.concurrency)
        if sum(map(len, session.lists.values())) > MOST_LISTED:
            # Later batches need the lists above rather than these.
            for collection in {parent(each) for each in batch}:
                session.forget(collection)
        session.trim()


def batches(paths: Sequence[str]) -> Iterator[list[str]]:
    """Whole collections, as many as `_BATCH` allows."""
    collections = dict[str, list[str]]()
    for each in paths:
        collections.setdefault(parent(each), []).append(each)
    batch = list[str]()
    for some in collections.values():
        if batch and len(batch) + len(some) > _BATCH:
            yield batch
            batch = []
        batch += some
    if batch:
        yield batch


def declared_paths(session: Session, scope: Plan) -> list[str]:
    found = dict[str, None]()
    for target in scope.targets:
        found |= dict.fromkeys(resources(session.root, target.path, is_recursive=target.is_recursive))
    return list(found)


def _gone(scope: Plan, source: str, record: Record, declared: Sequence[str]) -> list[str]:
    """What is ours and no longer declared: of the whole source, or of what was removed since the last sync."""
    owned = record.owned
    if scope.mode == "full":
        if any(not each.is_recursive for each in scope.targets):
            # Only the source itself, or what is directly in it, was compared.
            owned = {path: each for path, each in owned.items() if path == source or parent(path) == source}
        return prunable(owned, set(declared), source)
    return prunable((each for each in scope.pruned if each in owned), set(declared), ROOT)


async def _step(session: Session, path: str, options: SyncOptions, record: Record, found: _Found) -> Step:
    try:
        compared = await compare(session, path, options.compare)
    except SyncError as error:
        found.errors[path] = error
        text = session.scrubber.scrub(str(of(path, error)))
        return Step(path, "unknown", error=text[:1000], kind=error.kind)
    views = compared.wanted.declared, compared.local_view, compared.remote_view
    return await computed(lambda: _planned(session, path, options, record, found, compared), *views)


def _planned(
    session: Session, path: str, options: SyncOptions, record: Record, found: _Found, compared: Compared
) -> Step:
    wanted, remote = compared.wanted, compared.remote
    shape = shape_of(wanted.declared)
    shape = found.shapes.setdefault(shape, shape)
    found.facts[path] = Owned(
        remote.id if remote.is_there else "", None, shape, content_digest(wanted.declared, wanted.rules)
    )
    if not remote.is_there:
        return found.keep(compared, changed_step(session, compared, "create"))
    before = record.objects.get(path)
    lost = _lost(before, compared) if before is not None and options.compare == "declared" else []
    if not compared.found and not lost and not options.force:
        return Step(path, "unchanged", remote.id)
    return found.keep(compared, changed_step(session, compared, "update", lost))


def _lost(before: Owned, compared: Compared) -> list[str]:
    """Fields that the file no longer declares; an identity is the server's own."""
    rules = compared.wanted.rules
    found = dropped(before.shape, compared.local_view, compared.remote_view)
    return [each for each in found if each not in (rules.id.plain, rules.alias.plain)]


def refuse_doubles(steps: dict[str, Step], facts: Mapping[str, Owned]) -> None:
    """Two files that declare the same object would undo each other endlessly: neither is applied."""
    first = dict[tuple[str, str], str]()
    for path, fact in facts.items():
        if not fact.id:
            continue
        other = first.setdefault((parent(path), fact.id), path)
        if other != path:
            error = ConflictError(f"{other} and {path} declare the same object, {fact.id}; delete one of the files")
            for each in (other, path):
                steps[each] = Step(each, "unknown", fact.id, error=str(error), kind=error.kind)
