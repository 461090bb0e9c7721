"""The spec of a `Pacto`: where its contract comes from, and what it is bound to.

Fields, defaults and limits are those of the original. Pure data.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.field_meta import Time

WorkloadKind = Literal["Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob"]

DEFAULT_INTERVAL_S: Final = 300
SHORTEST_INTERVAL_S: Final = 30
_INT32 = Meta(extra_json_schema={"format": "int32"})


def doc(text: str) -> Meta:
    """The description that `kubectl explain` shows."""
    return Meta(description=text)


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A part of a spec or of a status: absent fields are not written."""


class KeyRef(Part, frozen=True, kw_only=True):
    """Public keys in PEM, in a Secret or a ConfigMap of this namespace."""

    kind: Annotated[Literal["Secret", "ConfigMap"], doc("Where the keys are.")] = "Secret"
    name: Annotated[str, Meta(min_length=1), doc("The name of the Secret or ConfigMap.")]
    key: Annotated[str, doc("The key of its data; the value may have several public keys.")] = "cosign.pub"


class ContractRef(Part, frozen=True, kw_only=True):
    """The source of a contract: inline text, or a bundle in an OCI registry. If both are given, only inline counts."""

    oci: Annotated[
        str,
        doc(
            "A bundle in an OCI registry: registry/repository follows the highest version, registry/repository:tag "
            "pins a tag, registry/repository@digest pins the content."
        ),
    ] = ""
    inline: Annotated[str, doc("The contract itself, as YAML.")] = ""
    pull_secret_ref: Annotated[
        str,
        doc(
            "The name of a Secret in this namespace with the credentials of the registry: token, username and "
            "password, or .dockerconfigjson."
        ),
    ] = ""
    verify_key_ref: Annotated[
        KeyRef | None,
        doc(
            "Public keys: a bundle is used only if one of them has signed its digest, as cosign sign --key does. An "
            "inline contract needs no signature."
        ),
    ] = None


class WorkloadRef(Part, frozen=True, kw_only=True):
    """The workload that is checked."""

    name: Annotated[str, doc("The name of the workload.")]
    kind: Annotated[WorkloadKind, doc("The kind of the workload.")] = "Deployment"


class TargetRef(Part, frozen=True, kw_only=True):
    """What runs: a Service and a workload, or one of them."""

    service_name: Annotated[str, doc("The name of the Service.")] = ""
    workload_ref: Annotated[
        WorkloadRef | None, doc("The workload. Default: a Deployment with the name of the Service.")
    ] = None


class ConfigurationOverride(Part, frozen=True, kw_only=True):
    """Values that replace those of a configuration of the contract."""

    name: Annotated[str, Meta(min_length=1), doc("The name of the configuration.")]
    values: Annotated[dict[str, str], Meta(min_length=1), doc("The values, by key.")]


class Overrides(Part, frozen=True, kw_only=True):
    """Values that replace those of the contract."""

    configurations: Annotated[tuple[ConfigurationOverride, ...], doc("Overrides of configurations.")] = ()


class AllowedDrift(Part, frozen=True, kw_only=True):
    """A time in which failed checks do not lower the contract status."""

    reason: Annotated[str, Meta(min_length=1, max_length=1024), doc("Why the drift is allowed.")]
    until: Annotated[Time, doc("When the time ends.")]
    since: Annotated[Time | None, doc("When the time begins. Default: now.")] = None
    checks: Annotated[
        tuple[str, ...], Meta(max_length=50), doc("The types of the conditions. Default: all checks.")
    ] = ()


class ServedOpenApi(Part, frozen=True, kw_only=True):
    """An OpenAPI document that the service serves."""

    interface: Annotated[str, Meta(min_length=1), doc("The name of the interface in the contract.")]
    path: Annotated[str, Meta(min_length=1, max_length=1024), doc("Where the service serves the document.")] = (
        "/openapi.json"
    )


class OptionalChecks(Part, frozen=True, kw_only=True):
    """Checks beyond those of the original, and how failed checks count."""

    severities: Annotated[
        Annotated[dict[str, Literal["error", "warning", "ignore"]], Meta(max_length=50)] | None,
        doc("Severities by the type of the condition; ignore: the check does not lower the contract status."),
    ] = None
    allowed_drift: Annotated[
        tuple[AllowedDrift, ...], Meta(max_length=50), doc("Times in which failed checks are allowed.")
    ] = ()
    containers: Annotated[
        Annotated[dict[str, str], Meta(max_length=50)] | None,
        doc("Images by the name of the container, checked as ContainerImagesMatch."),
    ] = None
    scaling: Annotated[bool | None, doc("Whether the replicas are compared with the contract, as ScalingMatch.")] = None
    can_deploy: Annotated[
        bool | None,
        doc(
            "Whether the required dependencies that run in this namespace have versions that the contract accepts, "
            "checked as DependenciesCompatible."
        ),
    ] = None
    openapi: Annotated[
        tuple[ServedOpenApi, ...],
        Meta(max_length=10),
        doc("Documents that the service serves, compared with those of the contract, as OpenApiMatch."),
    ] = ()


class PactoSpec(Part, frozen=True, kw_only=True):
    contract_ref: Annotated[ContractRef, doc("The source of the contract.")]
    target: Annotated[
        TargetRef | None, doc("What the contract is checked against. Without a target it is only loaded.")
    ] = None
    overrides: Annotated[Overrides | None, doc("Values that replace those of the contract.")] = None
    checks: Annotated[OptionalChecks | None, doc("Optional checks, and how failed checks count.")] = None
    check_interval_seconds: Annotated[
        int, Meta(ge=SHORTEST_INTERVAL_S), _INT32, doc("Seconds between two checks when nothing changes.")
    ] = DEFAULT_INTERVAL_S


class RevisionSource(Part, frozen=True, kw_only=True):
    """Where a revision was loaded from."""

    oci: Annotated[str, doc("The reference that was resolved.")] = ""
    digest: Annotated[str, doc("The digest of the manifest.")] = ""
    inline: Annotated[bool | None, doc("Whether the contract was given inline.")] = None


class RevisionSpec(Part, frozen=True, kw_only=True):
    version: Annotated[str, Meta(min_length=1), doc("The version of the contract.")]
    source: Annotated[RevisionSource, doc("Where the contract was loaded from.")]
    pacto_ref: Annotated[str, Meta(min_length=1), doc("The name of the Pacto.")]
    service_name: Annotated[str, doc("The name of the service in the contract.")] = ""
