"""Acts on a decision about a SyncPolicy: notes an attempt, or syncs. What comes of it is a receipt for the status."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import nsmallest
from typing import Any, Final, assert_never

import msgspec

from homeostat.objects.decision import Notice, Receipt
from homeostat.objects.json import Json
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.sync.api.parts import COMPONENT
from homeostat.operators.sync.api.policy import (
    LONGEST_MESSAGE,
    MOST_REPORTED,
    REQUESTED,
    SYNC_POLICY,
    Attempt,
    Failure,
    PolicyStatus,
    ResourceStats,
    SyncPolicy,
)
from homeostat.operators.sync.dependencies.observe import Tools, read_spec
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.offload import release, swept
from homeostat.operators.sync.policies.decide import retry_delay_s, success_notice
from homeostat.operators.sync.policies.history import with_sync
from homeostat.operators.sync.policies.opening import NotOpenedError, Opened, Refs, open_sync
from homeostat.operators.sync.policies.preview import preview
from homeostat.operators.sync.policies.records import Records
from homeostat.operators.sync.policies.resources import MOST_DETAILED, resource_reports
from homeostat.operators.sync.policies.servers import Servers
from homeostat.operators.sync.policies.world import Action, Begin, Preview, Sync
from homeostat.operators.sync.run.execute import execute
from homeostat.operators.sync.run.prepare import Prepared, make_plan
from homeostat.operators.sync.run.record import Record
from homeostat.operators.sync.run.report import Report, Result
from homeostat.operators.sync.validation.overlap import source_path
from homeostat.runtime.control.recorder import About, Recorder

log = logging.getLogger(__name__)
_FAILED: Final = "ReconcileFailed"
_ORDER: Final = ("failed", "held", "deleted", "updated", "created", "gone", "undeclared")
_CHANGES: Final = ("created", "updated", "deleted")
FindRefs = Callable[[SyncPolicy], Refs | None]


class Actor:
    def __init__(
        self,
        tools: Tools,
        servers: Servers,
        find: FindRefs,
        recorder: Recorder,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._tools, self._servers, self._find, self._recorder, self._now = tools, servers, find, recorder, now

    async def act(self, policy: SyncPolicy, action: Action) -> Receipt | None:
        match action:
            case Begin():
                return _begun(action)
            case Sync():
                return await self._sync(policy, action)
            case Preview():
                refs, tools, servers = self._find(policy), self._tools, self._servers
                return await preview(policy, refs, action, tools=tools, servers=servers, now=self._now())
            case _:
                assert_never(action)

    async def _sync(self, policy: SyncPolicy, action: Sync) -> Receipt | None:
        began = time.monotonic()
        refs = self._find(policy)
        if refs is None:
            # Deleted meanwhile: the next reconciliation says so.
            return Receipt({"attempt": None})
        try:
            report = await self._run(policy, refs, action)
        except NotOpenedError as error:
            return self._failed(policy, action, error.reason, error.event, str(error), began)
        except SyncError as error:
            text = self._servers.scrubber((policy.metadata.namespace, refs.server.metadata.name)).scrub(str(error))
            return self._failed(policy, action, _FAILED, "SyncFailed", text, began)
        listed = await swept(partial(_listed, report), len(report.results))
        receipt = self._reported(policy, action, report, listed, began)
        results = list(report.results)
        del report
        await release(results)
        return receipt

    async def _run(self, policy: SyncPolicy, refs: Refs, action: Sync) -> Report:
        spec = read_spec(policy.spec, self._tools.environment)[0]
        records = Records(self._tools.client, policy)
        before = await records.load()
        async with open_sync(spec, refs, action, tools=self._tools, servers=self._servers) as opened:
            prepared = await make_plan(
                opened.session,
                opened.scope,
                spec.sync,
                before,
                source=source_path(spec),
                now=self._now(),
                revision=action.revision,
                detailed=MOST_DETAILED,
            )
            report, after = await execute(opened.session, prepared, before, now=self._now, save=records.save)
            await records.save(after)
        held = await swept(partial(_parts, opened, prepared, before, after), len(report.results))
        del opened, prepared, before, after
        await release(held)
        return report

    def _failed(self, policy: SyncPolicy, action: Sync, reason: str, event: str, message: str, began: float) -> Receipt:
        """A sync that ended before any resource was compared."""
        took_s = time.monotonic() - began
        self._tools.series.synced(_key(policy), reason, took_s)
        status = _failure(policy, action, reason, message, self._now())
        self._record(policy, Notice("Warning", event, message[:LONGEST_MESSAGE]), is_repeated=_is_same(policy, message))
        before, now = policy.read_status(PolicyStatus), format_time(self._now())
        history = with_sync(before, action, now, None, message, took_s=took_s)
        return Receipt({**status, "lastSyncMode": action.mode, "history": history})

    def _reported(
        self, policy: SyncPolicy, action: Sync, report: Report, listed: Sequence[Result], began: float
    ) -> Receipt:
        now, failed = self._now(), report.failed
        stats = ResourceStats(
            targeted=report.targeted, applied=report.applied, pruned=report.pruned, failed=len(failed)
        )
        status: dict[str, Json] = {
            "lastSyncMode": report.mode,
            "resourceStats": msgspec.to_builtins(stats),
            "resources": msgspec.to_builtins(resource_reports(listed)),
            "resourcesOmitted": len(report.results) - report.count("unchanged") - len(listed) or None,
            "drifted": len(report.held) + len(failed),
            "held": len(report.held) or None,
            "heldMessage": report.held[0].message[:LONGEST_MESSAGE] if report.held else None,
        }
        error = "" if report.is_complete else _summary(report)
        duration_s = time.monotonic() - began
        before = policy.read_status(PolicyStatus)
        status["history"] = with_sync(before, action, format_time(now), report, error, took_s=duration_s)
        reason = "Ready" if report.is_complete else _FAILED
        self._tools.series.synced(_key(policy), reason, duration_s, applied=report.applied, pruned=report.pruned)
        if not report.is_complete:
            message = error
            notice = Notice("Warning", "SyncFailed", message[:LONGEST_MESSAGE])
            self._record(policy, notice, is_repeated=_is_same(policy, message))
            return Receipt({**status, **_failure(policy, action, _FAILED, message, now, report.retry_at)})
        self._tell_success(policy, action, report)
        return Receipt({**status, **_success(policy, action, report, now)})

    def _tell_success(self, policy: SyncPolicy, action: Sync, report: Report) -> None:
        is_quiet = action.trigger == "interval" and not report.count(*_CHANGES)
        mode = read_spec(policy.spec, self._tools.environment)[0].sync.mode
        notice = success_notice(action.revision, report, is_observing=mode == "observe")
        self._record(policy, notice, is_repeated=is_quiet)

    def _record(self, policy: SyncPolicy, notice: Notice, *, is_repeated: bool) -> None:
        log.info(
            "synced", extra={"object": "/".join(_key(policy)), "result": notice.reason, "message_": notice.message}
        )
        if is_repeated:
            return
        metadata, kind = policy.metadata, SYNC_POLICY.kind
        about = About(kind.api_version, kind.kind, metadata.namespace, metadata.name, metadata.uid)
        self._recorder.record(about, notice.type, notice.reason, notice.message, by=COMPONENT)


def _parts(opened: Opened, prepared: Prepared, *records: Record) -> list[Any]:
    """What a sync consists of that there is one of for each resource."""
    found: list[Any] = [*prepared.plan.steps, *prepared.facts.values()]
    for each in records:
        found += each.objects.values()
    level = [opened.session.root]
    while level:
        found += level
        level = [inner for each in level for inner in each.directories.values()]
    return found


def _key(policy: SyncPolicy) -> tuple[str, str]:
    return policy.metadata.namespace, policy.metadata.name


def _begun(action: Begin) -> Receipt:
    attempt = Attempt(mode=action.mode, trigger=action.trigger, time=action.time)
    return Receipt(
        {
            "attempt": msgspec.to_builtins(attempt),
            "lastAttemptTime": action.time,
            "lastAttemptedRepoRevision": action.revision,
        }
    )


def _ended(policy: SyncPolicy, action: Sync) -> dict[str, Json]:
    return {
        "attempt": None,
        "lastTrigger": action.trigger,
        "lastInputsHash": action.inputs,
        "lastAttemptedRepoRevision": action.revision,
        "lastHandledRequest": policy.metadata.annotations.get(REQUESTED) or None,
    }


def _success(policy: SyncPolicy, action: Sync, report: Report, now: datetime) -> dict[str, Json]:
    moment = format_time(now)
    status = {**_ended(policy, action), "failure": None, "lastSuccessfulSyncTime": moment}
    if report.mode == "full":
        status["lastFullResyncTime"] = moment
    if not report.held:
        status |= {
            "lastAppliedRepoRevision": action.revision,
            "lastAppliedGeneration": policy.metadata.generation,
            "lastDependenciesHash": action.dependencies_hash,
            "lastSecretResourceVersionHash": action.secrets_hash,
        }
    return status


def _failure(
    policy: SyncPolicy, action: Sync, reason: str, message: str, now: datetime, retry_at: float | None = None
) -> dict[str, Json]:
    before = policy.read_status(PolicyStatus).failure
    count = before.count + 1 if before is not None else 1
    retry = now + timedelta(seconds=retry_delay_s(count))
    if retry_at is not None:
        retry = max(retry, datetime.fromtimestamp(retry_at, UTC))
    failure = Failure(
        reason=reason,
        message=message[: 2 * LONGEST_MESSAGE],
        count=count,
        mode=action.mode,
        retry_time=format_time(retry),
    )
    return {**_ended(policy, action), "failure": msgspec.to_builtins(failure)}


def _is_same(policy: SyncPolicy, message: str) -> bool:
    before = policy.read_status(PolicyStatus).failure
    return before is not None and before.message == message[: 2 * LONGEST_MESSAGE]


def _summary(report: Report) -> str:
    failed = report.failed
    if not failed:
        return report.health
    more = f"; and {len(failed) - 3} more, see status.resources" if len(failed) > 3 else ""
    texts = "; ".join(each.message or each.path for each in failed[:3])
    return f"{len(failed)} of {report.targeted} resources failed: {texts}{more}"


def _listed(report: Report) -> list[Result]:
    """Failed ones first, then changed ones, up to the limit; those that are as declared are not listed."""
    found = (each for each in report.results if each.became != "unchanged")
    return nsmallest(MOST_REPORTED, found, key=lambda each: (_ORDER.index(each.became), each.path))
