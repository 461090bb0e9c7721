"""What acting on decisions does to the world, in memory: patches, results and statuses land as on a server."""

from __future__ import annotations

import msgspec

from homeostat.objects.decision import Decision
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.patch.json import merge_patch
from homeostat.objects.patch.strategic import strategic_merge_patch
from homeostat.objects.views.workload import Workload
from homeostat.objects.wire.builtin_schema import builtin_schema
from homeostat.operators.policy.api import Policy, PolicyAuditResult
from homeostat.operators.policy.audit_result import CreateResult, DeleteResult, Record
from homeostat.operators.policy.decide import Action, ForgetSeries, decide
from homeostat.operators.policy.enforcement.plan import Patch
from homeostat.operators.policy.world import World
from homeostat.runtime.control.status import plan_status, snapshot_of

DEPLOYMENT = builtin_schema("apps", "v1", "Deployment")


class Simulation:
    def __init__(self, policy: Policy, world: World, *workloads: JsonObject) -> None:
        self.policy, self.world = policy, world
        self.workloads = {f"deployment/production/{each['metadata']['name']}": each for each in workloads}
        self._refresh()

    def look(self) -> Decision[Action]:
        decision = decide(self.policy, self.world)
        for action in decision.actions:
            self._act(action)
        status = msgspec.json.decode(self.policy.status or b"{}")
        patch = plan_status(snapshot_of(self.policy), decision.conditions, decision.status, now=self.world.now)
        status = merge_patch(status, (patch or {}).get("status") or {})
        self.policy = msgspec.structs.replace(self.policy, status=msgspec.Raw(encode(status)))
        self._refresh()
        return decision

    @property
    def status(self) -> JsonObject:
        status: JsonObject = msgspec.json.decode(self.policy.status)
        return status

    def _act(self, action: Action) -> None:
        records = self.world.records
        match action:
            case Patch():
                key = str(action.owner)
                self.workloads[key] = strategic_merge_patch(self.workloads[key], action.body, DEPLOYMENT)
            case CreateResult():
                made = msgspec.convert(action.body, PolicyAuditResult)
                records = tuple(_kept(each, (*each.kept, made)) for each in records)
            case DeleteResult():
                records = tuple(
                    _kept(each, tuple(one for one in each.kept if one.metadata.name != action.name)) for each in records
                )
            case ForgetSeries():
                self.world = msgspec.structs.replace(self.world, has_series=False)
        self.world = msgspec.structs.replace(self.world, records=records)

    def _refresh(self) -> None:
        seen = {key: msgspec.convert(each, Workload) for key, each in self.workloads.items()}
        self.world = msgspec.structs.replace(self.world, workloads=seen)


def _kept(record: Record, kept: tuple[PolicyAuditResult, ...]) -> Record:
    return msgspec.structs.replace(record, kept=kept)


def settled(policy: Policy, world: World, *workloads: JsonObject) -> Simulation:
    plane = Simulation(policy, world, *workloads)
    for _ in range(3):
        if plane.look().is_settled:
            return plane
    raise AssertionError("there is always something left to do")
