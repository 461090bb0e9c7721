"""One Pacto as lists and graphs see it: what its status says, decoded once when it changes. Pure.

A status is written by whichever operator runs, so nothing of it is required: a status that does not match is one that
says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.checks.verdict import STATUSES, UNKNOWN
from homeostat.operators.contracts.engine.document.contract import Dependency
from homeostat.operators.contracts.engine.reference import last_segment
from homeostat.operators.contracts.engine.revision import ResolutionPolicy, resolution_policy
from homeostat.operators.contracts.engine.services.compliance import Compliance, Seen, compliance_of
from homeostat.operators.contracts.engine.services.insights import Insight, Issues, insights_of

Key = tuple[str, str]
"""Namespace and name of a Pacto. A contract of a configured repository has no namespace, and its reference as name."""
VersionPolicy = Literal["", "tracking", "pinned-tag", "pinned-digest"]
_POLICIES: Final[dict[ResolutionPolicy, VersionPolicy]] = {
    "": "",
    "Latest": "tracking",
    "PinnedTag": "pinned-tag",
    "PinnedDigest": "pinned-digest",
}
MOST_DEPENDENCIES: Final = 5000
"""Of one Pacto; more would hold up everything else while they are read."""
_WORST_FIRST: Final = ("NonCompliant", "Warning", "Unknown", "Compliant", "Reference")


class Reference(msgspec.Struct, frozen=True, gc=False):
    """A configuration or a policy that another bundle defines."""

    kind: Literal["config", "policy"]
    ref: str


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    service: str
    version: str = ""
    owner: Any = None
    """Team, responsible person and contacts; or a text up to contract 1.1."""
    status: str = UNKNOWN
    oci: str = ""
    """The reference that is declared; empty for an inline contract."""
    pull_secret: str = ""
    resolved_ref: str = ""
    revision: str = ""
    """The PactoRevision of the contract that is in use."""
    image: str = ""
    chart: str = ""
    dependencies: tuple[Dependency, ...] = ()
    references: tuple[Reference, ...] = ()
    checks: tuple[int, int, int] = (0, 0, 0)
    """Total, passed, failed."""
    compliance: Compliance = Compliance(status="WARNING", score=None)
    insights: tuple[Insight, ...] = ()
    readiness: JsonObject | None = None

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    @property
    def sources(self) -> list[str]:
        found = ["k8s"] if self.namespace else []
        return [*found, "oci"] if self.oci else found

    @property
    def policy(self) -> VersionPolicy:
        return _POLICIES[resolution_policy(self.oci)]

    @property
    def names(self) -> set[str]:
        """Names of images and charts that stand for the service in references."""
        return {last_segment(each) for each in (self.image, self.chart) if each}

    @property
    def rank(self) -> tuple[int, str, str]:
        """The worst one comes first; its status is that of its service."""
        return _WORST_FIRST.index(self.status), self.namespace, self.name


class _Part(msgspec.Struct, frozen=True, rename="camel", gc=False):
    pass


class _Identity(_Part, frozen=True):
    service_name: str = ""
    version: str = ""
    owner: Any = None
    owner_display: str = ""
    image_ref: str = ""
    resolved_ref: str = ""


class _Issue(_Part, frozen=True):
    message: str = ""


class _Validation(_Part, frozen=True):
    errors: tuple[_Issue, ...] = ()
    warnings: tuple[_Issue, ...] = ()


class _Exists(_Part, frozen=True):
    exists: bool | None = None


class _Resources(_Part, frozen=True):
    service: _Exists = _Exists()
    workload: _Exists = _Exists()


class _Ports(_Part, frozen=True):
    missing: tuple[int, ...] = ()
    unexpected: tuple[int, ...] = ()


class _Summary(_Part, frozen=True):
    total: int = 0
    passed: int = 0
    failed: int = 0


class _Referring(_Part, frozen=True):
    ref: str = ""


class _Status(_Part, frozen=True):
    contract_status: str = ""
    contract_version: str = ""
    current_revision: str = ""
    contract: _Identity = _Identity()
    conditions: tuple[Seen, ...] = ()
    summary: _Summary = _Summary()
    validation: _Validation = _Validation()
    resources: _Resources = _Resources()
    ports: _Ports = _Ports()
    configurations: tuple[_Referring, ...] = ()
    policies: tuple[_Referring, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    readiness: JsonObject | None = None


_decoder: Final = msgspec.json.Decoder(_Status)


def read_instance(
    namespace: str, name: str, *, status: bytes, oci: str = "", pull_secret: str = "", target: str = ""
) -> Instance:
    """`target` is the name of the Service; it names a service whose contract could not be loaded."""
    found = _decoded(status)
    identity = found.contract
    state = found.contract_status if found.contract_status in STATUSES else UNKNOWN
    summary = found.summary
    return Instance(
        namespace=namespace,
        name=name,
        service=identity.service_name or target or name,
        version=identity.version or found.contract_version,
        owner=identity.owner or identity.owner_display or None,
        status=state,
        oci=oci,
        pull_secret=pull_secret,
        resolved_ref=identity.resolved_ref,
        revision=found.current_revision,
        image=identity.image_ref,
        dependencies=found.dependencies[:MOST_DEPENDENCIES],
        references=references_of((each.ref for each in found.configurations), (each.ref for each in found.policies)),
        checks=(summary.total, summary.passed, summary.failed),
        compliance=compliance_of(state, found.conditions),
        insights=tuple(insights_of(found.contract_status, _issues(found))),
        readiness=filled_readiness(found.readiness),
    )


def references_of(configurations: Iterable[str], policies: Iterable[str]) -> tuple[Reference, ...]:
    """Each reference once, however often it is named."""
    found = [Reference("config", each) for each in configurations if each]
    found += [Reference("policy", each) for each in policies if each]
    return tuple(dict.fromkeys(found))


def filled_readiness(readiness: JsonObject | None) -> JsonObject | None:
    """With the zeros that a status omits."""
    if readiness is None:
        return None
    return {"score": 0, "minScore": 0, "passing": False, "totalWeight": 0} | readiness


def _decoded(status: bytes) -> _Status:
    try:
        return _decoder.decode(status or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Status()


def _issues(status: _Status) -> Issues:
    return Issues(
        errors=tuple(each.message for each in status.validation.errors),
        warnings=tuple(each.message for each in status.validation.warnings),
        service_exists=status.resources.service.exists,
        workload_exists=status.resources.workload.exists,
        missing_ports=status.ports.missing,
        unexpected_ports=status.ports.unexpected,
    )
