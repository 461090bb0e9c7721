"""Carries out a plan: creations and updates level by level, many at a time, then deletions, the deepest first.

One resource that fails stops no other, except those that need it. Each step ends with a result. What is created is
noted before it is sent, so that a run which is killed half way leaves nothing that the next one does not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from msgspec import structs

from homeostat.edge.turn import Turn, map_concurrently
from homeostat.objects.json import Json
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.sync.engine.errors import ConflictError, NotFoundError, SyncError, of
from homeostat.operators.sync.engine.paths.logical import parent
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.offload import swept
from homeostat.operators.sync.run.changed import changed_step
from homeostat.operators.sync.run.confirm import ACCEPTED, Created, capture, check_capture, confirm, slim, wait_ready
from homeostat.operators.sync.run.order import Node, levels, needed
from homeostat.operators.sync.run.plan import Step
from homeostat.operators.sync.run.prepare import Advance, Prepared, batches
from homeostat.operators.sync.run.record import Record
from homeostat.operators.sync.run.remember import remembered
from homeostat.operators.sync.run.report import Became, Report, Result
from homeostat.operators.sync.session.apply import Compared, compare
from homeostat.operators.sync.session.apply import levels as by_depth
from homeostat.operators.sync.session.desired import Desired, desired, local_payload
from homeostat.operators.sync.session.remote import Remote, observe
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.write import create, delete, update

Clock = Callable[[], datetime]
Save = Callable[[Record], Awaitable[None]]
_TOO_MANY_REQUESTS: Final = 429
_NOTHING: Final = frozenset[str]()
_DONE: Final[dict[str, Became]] = {"unchanged": "unchanged", "gone": "gone", "undeclared": "undeclared"}


@dataclass(slots=True)
class Run:
    """What is known so far of one execution."""

    session: Session
    prepared: Prepared
    now: Clock
    deadline: datetime
    advance: Advance
    results: dict[str, Result] = field(default_factory=dict)
    remotes: dict[str, Remote] = field(default_factory=dict)
    """Of created and updated objects, with their ids."""
    created: list[Created] = field(default_factory=list)
    waits: dict[str, float] = field(default_factory=dict)
    """When the server may be asked again, by path and for all by the empty path."""

    def end(self, step: Step, became: Became, message: str = "", kind: str = "", identity: str = "") -> None:
        fields = tuple(each.pointer for each in step.differences)
        text = self.session.scrubber.scrub(message)[:1000]
        self.results[step.path] = Result(
            step.path,
            became,
            identity or step.id,
            text,
            kind,
            fields,
            changed_by=step.changed_by,
            changes=step.differences,
        )
        self.advance(1)

    def fail(self, step: Step, error: SyncError) -> None:
        self.wait(step.path, error)
        self.end(step, "failed", str(of(step.path, error)), error.kind)

    def wait(self, path: str, error: SyncError) -> None:
        if error.retry_after_s is not None:
            # Too many requests are those of all resources; an object that is unavailable is one of them.
            key = "" if error.status == _TOO_MANY_REQUESTS else path
            until = self.now().timestamp() + error.retry_after_s
            self.waits[key] = max(self.waits.get(key, 0.0), until)

    def reason_to_hold(self) -> str:
        if "" in self.waits:
            return f"the server asked to wait until {format_time(datetime.fromtimestamp(self.waits[''], UTC))}"
        if self.now() >= self.deadline:
            return f"the run ended after {self.prepared.plan.options.timeout_seconds} s; the next one continues"
        return ""


async def execute(
    session: Session,
    prepared: Prepared,
    record: Record,
    *,
    now: Clock,
    save: Save | None = None,
    advance: Advance | None = None,
) -> tuple[Report, Record]:
    """The report and the record to keep. `save` stores a record that notes the creations to come."""
    plan = prepared.plan
    start = now()
    deadline = datetime.fromtimestamp(start.timestamp() + plan.options.timeout_seconds, UTC)
    run = Run(session, prepared, now, deadline, advance or (lambda _: None))
    due, turn = list[Step](), Turn()
    for step in plan.steps:
        await turn.pause()
        if step.action == "unknown":
            if (error := prepared.errors.get(step.path)) is not None:
                run.wait(step.path, error)
            run.end(step, "failed", step.error, step.kind)
        elif step.action in _DONE:
            run.end(step, _DONE[step.action])
        elif plan.held or step.held:
            run.end(step, "held", plan.held or step.held)
        else:
            due.append(step)
    creations = {each.path for each in due if each.action == "create"}
    if creations and save is not None:
        noted = record.creating | creations
        await save(await swept(lambda: record.updated(creating=noted, keep=plan.options.history), len(record.objects)))
    await _apply_all(run, [each for each in due if each.action != "delete"])
    await _confirm_all(run, {each.path: each for each in due})
    await _delete_all(run, [each for each in due if each.action == "delete"])
    report = await swept(lambda: _report(run), len(plan.steps))
    if report.count("created", "updated", "deleted") and (health := await _health(run)):
        report = structs.replace(report, health=health)
    return report, await remembered(session, prepared, record, report, run.remotes, run.waits, now())


def _report(run: Run) -> Report:
    plan, prepared = run.prepared.plan, run.prepared
    report = Report(
        mode=plan.mode,
        revision=plan.revision,
        targeted=sum(each.path in prepared.facts or each.path in prepared.errors for each in plan.steps),
        results=tuple(run.results[each.path] for each in plan.steps),
        retry_at=min(run.waits.values(), default=None) or _timestamp(prepared.held_until),
    )
    # Counted once, here.
    assert report.applied + len(report.failed) + len(report.held) <= len(report.results)
    return report


def _timestamp(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None


async def _apply_all(run: Run, steps: Sequence[Step]) -> None:
    by_path = {each.path: each for each in steps}
    needs = await asyncio.to_thread(
        lambda: needed([_node(run, each) for each in steps], lambda node: _value(run, node))
    )

    async def one(path: str) -> None:
        await _apply(run, by_path[path], {each for each in needs[path] if by_path[each].action == "create"})

    for level in await asyncio.to_thread(levels, needs):
        await _in_batches(run, one, level)


async def _in_batches(run: Run, work: Callable[[str], Awaitable[None]], paths: Sequence[str]) -> None:
    """Forget the lists that a batch has read, beyond those that may be kept."""
    for batch in await swept(lambda: list(batches(paths)), len(paths)):
        await map_concurrently(work, batch, at_once=run.session.concurrency)
        run.session.trim()


def _node(run: Run, step: Step) -> Node:
    kept = run.prepared.compared.get(step.path)
    named = run.prepared.names.get(step.path, _NOTHING) if kept is None else {kept.wanted.alias, kept.wanted.id}
    return Node(step.path, frozenset({*named, step.id} - {""}))


def _value(run: Run, node: Node) -> Json:
    """What is declared, with placeholders of secrets."""
    if (kept := run.prepared.compared.get(node.path)) is not None:
        return kept.wanted.declared
    try:
        payload = local_payload(run.session, node.path)
    except SyncError:
        # Reported when it is applied.
        return None
    return payload.value if payload is not None else None


async def comparison(run: Run, step: Step) -> Compared:
    """Both sides of a resource to change: those of the plan, or read again if the plan has not kept them. Then
    `ConflictError` if they are not as they were.
    """
    kept = run.prepared.compared.get(step.path)
    if kept is not None:
        return kept
    if step.action == "create":
        wanted = await desired(run.session, step.path)
        return Compared(wanted, Remote(), wanted.value, MISSING, [])
    compared = await compare(run.session, step.path, run.prepared.plan.options.compare)
    if changed_step(run.session, compared, "update").basis != step.basis:
        raise ConflictError("the object was changed while the sync was running; the next one compares again")
    return compared


async def _apply(run: Run, step: Step, needs: set[str]) -> None:
    """`needs` are those that do not exist so far."""
    if reason := run.reason_to_hold():
        run.end(step, "held", reason)
        return
    missing = [each for each in needs if each in run.results]
    if failed := sorted(each for each in missing if run.results[each].became in ("failed", "held")):
        run.end(step, "held", f"it needs {failed[0]}, which was not created")
        return
    try:
        compared = await comparison(run, step)
        if step.action == "create":
            await _create(run, step, compared.wanted)
        else:
            await _update(run, step, compared.wanted, compared.remote)
    except SyncError as error:
        run.fail(step, error)


async def _create(run: Run, step: Step, wanted: Desired) -> None:
    check_capture(run.session, wanted)
    try:
        written = await create(run.session, wanted)
    except ConflictError:
        run.session.forget(parent(step.path))
        remote = await observe(run.session, wanted)
        if not remote.is_there:
            raise
        await _update(run, step, wanted, remote)
        return
    await capture(run.session, wanted, written)
    if written.status == ACCEPTED or wanted.rules.ready is not None:
        remote = await wait_ready(run.session, wanted, written)
        run.remotes[step.path] = remote
        run.end(step, "created", identity=remote.id)
        return
    run.remotes[step.path] = Remote(None, written.remote_id, wanted.alias)
    run.created.append(Created(step.path, wanted.alias, written.remote_id))


async def _update(run: Run, step: Step, wanted: Desired, remote: Remote) -> None:
    written = await update(run.session, _with_nulls(wanted, step), remote)
    seen = Remote(remote.value, remote.id or written.remote_id, remote.alias)
    run.remotes[step.path] = slim(run.session, step.path, seen)
    run.end(step, "updated", identity=remote.id or written.remote_id)


def _with_nulls(wanted: Desired, step: Step) -> Desired:
    """A PATCH changes only what it names, so it names the fields that are no longer declared, with null."""
    value = wanted.value
    if wanted.rules.operations["update"].method == "PATCH" and isinstance(value, dict):
        for each in step.differences:
            value = pointer.put(value, each.pointer, None) if each.operation == "drop" else value
    return replace(wanted, payload=Payload(value, wanted.payload.form))


async def _confirm_all(run: Run, steps: dict[str, Step]) -> None:
    turn = Turn()
    for path, found in (await confirm(run.session, run.created)).items():
        await turn.pause()
        if isinstance(found, SyncError):
            run.remotes.pop(path)
            run.fail(steps[path], found)
        else:
            run.remotes[path] = found
            run.end(steps[path], "created", identity=found.id)


async def _delete_all(run: Run, steps: Sequence[Step]) -> None:
    by_path = {each.path: each for each in steps}
    replacements = {each.renamed_from: each.path for each in run.prepared.plan.steps if each.renamed_from}

    async def one(path: str) -> None:
        await _delete(run, by_path[path], replacements.get(path, ""))

    for level in reversed(by_depth(by_path)):
        await _in_batches(run, one, level)


async def _delete(run: Run, step: Step, replacement: str) -> None:
    if reason := run.reason_to_hold():
        run.end(step, "held", reason)
        return
    if replacement and run.results[replacement].became in ("failed", "held"):
        run.end(step, "held", f"{replacement} replaces it, and was not created")
        return
    remote = run.prepared.remotes[step.path]
    try:
        source = remote.value if isinstance(remote.value, dict) else None
        await delete(run.session, step.path, remote, source=source)
    except NotFoundError:
        # Deleted together with what was above it, or by others.
        run.end(step, "gone")
    except SyncError as error:
        run.fail(step, error)
    else:
        run.end(step, "deleted")


async def _health(run: Run) -> str:
    if not run.session.remote.settings.health_check:
        return ""
    try:
        await run.session.remote.check_health()
    except SyncError as error:
        return run.session.scrubber.scrub(f"the health check failed after the changes: {error}")[:1000]
    return ""
