"""The plan of a full sync for the status, computed on request: only reads are sent, and its time is limited."""

from __future__ import annotations

import asyncio
from datetime import datetime
from heapq import nsmallest
from typing import Final

import msgspec

from homeostat.objects.decision import Receipt
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.sync.api.policy import LONGEST_MESSAGE, MOST_REPORTED, PlannedSync, SyncPolicy
from homeostat.operators.sync.dependencies.observe import Tools, read_spec
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.offload import swept
from homeostat.operators.sync.policies.opening import NotOpenedError, Refs, open_sync
from homeostat.operators.sync.policies.records import Records
from homeostat.operators.sync.policies.resources import MOST_DETAILED, plan_reports
from homeostat.operators.sync.policies.servers import Servers
from homeostat.operators.sync.policies.world import Preview, Sync
from homeostat.operators.sync.run.plan import Step, SyncPlan
from homeostat.operators.sync.run.prepare import make_plan
from homeostat.operators.sync.validation.overlap import source_path

WITHIN_S: Final = 60.0
_ORDER: Final = ("unknown", "delete", "update", "create", "undeclared", "gone")


async def preview(
    policy: SyncPolicy, refs: Refs | None, action: Preview, *, tools: Tools, servers: Servers, now: datetime
) -> Receipt:
    """A plan that cannot be computed in time is an error in the status, and no failed sync."""
    made = PlannedSync(time=format_time(now), request=action.request, revision=action.revision)
    if refs is None:
        return _receipt(msgspec.structs.replace(made, error="a dependency was deleted"))
    scrub = servers.scrubber((policy.metadata.namespace, refs.server.metadata.name)).scrub
    try:
        async with asyncio.timeout(WITHIN_S):
            plan = await _plan(policy, refs, action, tools, servers, now)
    except TimeoutError:
        return _receipt(msgspec.structs.replace(made, error=f"timed out after {WITHIN_S:g} s"))
    except (NotOpenedError, SyncError) as error:
        return _receipt(msgspec.structs.replace(made, error=scrub(str(error))[:LONGEST_MESSAGE]))
    return _receipt(await swept(lambda: _planned(made, plan), len(plan.steps)))


async def _plan(
    policy: SyncPolicy, refs: Refs, action: Preview, tools: Tools, servers: Servers, now: datetime
) -> SyncPlan:
    spec = read_spec(policy.spec, tools.environment)[0]
    record = await Records(tools.client, policy).load()
    sync = Sync(
        mode="full",
        trigger="plan",
        base="",
        revision=action.revision,
        inputs="",
        secrets_hash="",
        dependencies_hash="",
        began=format_time(now),
    )
    async with open_sync(spec, refs, sync, tools=tools, servers=servers) as opened:
        source = source_path(spec)
        prepared = await make_plan(
            opened.session,
            opened.scope,
            spec.sync,
            record,
            source=source,
            now=now,
            revision=action.revision,
            detailed=MOST_DETAILED,
        )
    return prepared.plan


def _planned(made: PlannedSync, plan: SyncPlan) -> PlannedSync:
    changes = [each for each in plan.steps if each.action != "unchanged"]
    steps = nsmallest(MOST_REPORTED, changes, key=_order)
    return msgspec.structs.replace(
        made,
        held=plan.held[:LONGEST_MESSAGE],
        unchanged=len(plan.steps) - len(changes),
        resources=tuple(plan_reports(steps)),
        resources_omitted=len(changes) - len(steps),
    )


def _order(step: Step) -> tuple[int, str]:
    return _ORDER.index(step.action), step.path


def _receipt(made: PlannedSync) -> Receipt:
    # A merge patch would keep the fields of the former plan that this one lacks.
    fields: JsonObject = {each.encode_name: None for each in msgspec.structs.fields(PlannedSync)}
    return Receipt({"plan": {**fields, **msgspec.to_builtins(made)}})
