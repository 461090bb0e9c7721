"""The kinds of workloads that annotations may be on, and where their Pod templates are. Pure.

Argo's Rollout is a kind that a server may have or not, also while we run; its definition says so.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, STATEFUL_SET, Kind
from homeostat.objects.views.workload import Template, Workload, WorkloadMetadata, WorkloadSpec

JOB: Final = Kind("batch", "v1", "jobs", "Job", is_namespaced=True)
CRON_JOB: Final = Kind("batch", "v1", "cronjobs", "CronJob", is_namespaced=True)
ROLLOUT: Final = Kind("argoproj.io", "v1alpha1", "rollouts", "Rollout", is_namespaced=True)
KINDS: Final = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET, JOB)
"""With the template in the usual place, on every server."""
ALL: Final = (*KINDS, CRON_JOB, ROLLOUT)
ROLLOUT_DEFINITION: Final = f"{ROLLOUT.plural}.{ROLLOUT.group}"
BY_WORD: Final = {each.kind.lower(): each for each in ALL}


class _Read(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Part of an object that we only read."""


class _JobTemplate(_Read, frozen=True):
    spec: WorkloadSpec | None = None


class _CronJobSpec(_Read, frozen=True):
    job_template: _JobTemplate | None = None


class CronJob(_Read, frozen=True):
    metadata: WorkloadMetadata = WorkloadMetadata()
    spec: _CronJobSpec | None = None

    @property
    def workload(self) -> Workload:
        """As if its Pod template were in the usual place."""
        job = (self.spec and self.spec.job_template) or _JobTemplate()
        template = (job.spec and job.spec.template) or Template()
        return Workload(CRON_JOB.kind, self.metadata, WorkloadSpec(template))


class _Version(_Read, frozen=True):
    name: str = ""
    served: bool = False


class _DefinitionSpec(_Read, frozen=True):
    versions: tuple[_Version, ...] = ()


class _Condition(_Read, frozen=True):
    type: str = ""
    status: str = ""


class _DefinitionStatus(_Read, frozen=True):
    conditions: tuple[_Condition, ...] | None = None


class _DefinitionMetadata(_Read, frozen=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None


class Definition(_Read, frozen=True):
    """A CustomResourceDefinition."""

    metadata: _DefinitionMetadata = _DefinitionMetadata()
    spec: _DefinitionSpec = _DefinitionSpec()
    status: _DefinitionStatus | None = None

    def serves(self, kind: Kind) -> bool:
        conditions = (self.status and self.status.conditions) or ()
        return (
            self.metadata.deletion_timestamp is None
            and any(each.name == kind.version and each.served for each in self.spec.versions)
            and any(each.type == "Established" and each.status == "True" for each in conditions)
        )
