"""The kinds of this operator, as the original names them: `Pacto` and `PactoRevision`.

`spec.py` has their specs, `status.py` their statuses.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.crd.custom_kind import AGE_COLUMN, Column, CustomKind
from homeostat.objects.declared import Declared
from homeostat.objects.kind import CRON_JOB, DEPLOYMENT, JOB, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.contracts.engine.checks.resources import Target, target_of
from homeostat.operators.contracts.spec import PactoSpec, RevisionSpec
from homeostat.operators.contracts.status import PactoStatus, RevisionStatus

GROUP: Final = "pacto.trianalab.io"
COMPONENT: Final = "pacto-controller"
"""The source of Events, as the original names it."""
REQUESTED: Final = f"{GROUP}/reconcile"
"""An annotation of a Pacto: a new value reconciles it now, with what the registry has now and not what is cached."""

WORKLOADS: Final = {each.kind: each for each in (DEPLOYMENT, STATEFUL_SET, REPLICA_SET, JOB, CRON_JOB)}
"""What a target may be, by the name of the kind."""


class Pacto(Declared, frozen=True):
    spec: PactoSpec

    @property
    def target(self) -> Target | None:
        """None for a Pacto without a target, whose contract is only loaded."""
        target = self.spec.target
        if target is None:
            return None
        workload = target.workload_ref
        return target_of(target.service_name, None if workload is None else (workload.name, workload.kind))

    @property
    def oci(self) -> str:
        """The reference to load; empty for an inline contract, which counts alone."""
        ref = self.spec.contract_ref
        return "" if ref.inline else ref.oci


class PactoRevision(Declared, frozen=True):
    spec: RevisionSpec


PACTO: Final = CustomKind(
    Kind(GROUP, "v1alpha1", "pactos", "Pacto", is_namespaced=True, singular="pacto"),
    spec=PactoSpec,
    status=PactoStatus,
    columns=(
        Column("Status", ".status.contractStatus"),
        Column("Service", ".spec.target.serviceName"),
        Column("Version", ".status.contractVersion"),
        Column("Passed", ".status.summary.passed", "integer"),
        Column("Failed", ".status.summary.failed", "integer"),
        Column("Last Reconciled", ".status.lastReconciledAt", "date"),
        AGE_COLUMN,
    ),
    description="Binds a service contract to the workload that runs it, and reports whether they match.",
)
PACTO_REVISION: Final = CustomKind(
    Kind(GROUP, "v1alpha1", "pactorevisions", "PactoRevision", is_namespaced=True, singular="pactorevision"),
    spec=RevisionSpec,
    status=RevisionStatus,
    columns=(
        Column("Version", ".spec.version"),
        Column("Pacto", ".spec.pactoRef"),
        Column("Resolved", ".status.resolved", "boolean"),
        AGE_COLUMN,
    ),
    description="A version of a contract that a Pacto loaded; it never changes.",
    written_by="nobody",
)
KINDS: Final = (PACTO, PACTO_REVISION)
