"""The kinds that the server serves: the type `Kind`, a table of the built-in kinds, and the registry of all kinds.

The verbs treat built-in and custom kinds alike; what differs is in `Behaviour`, which `builtin.py` and `custom.py`
implement. To add a built-in kind, add a line to `BUILTINS`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.schema import Schema
from homeostat.server.kinds.builtins.convert import autoscaler_to_v1, autoscaler_to_v2, event_to_core, event_to_events

if TYPE_CHECKING:
    from homeostat.server.conversion.conversion import Conversion
    from homeostat.server.view.table import Columns

Compute = Callable[[str], Awaitable[list[JsonObject]]]
"""All objects of a namespace, or of all namespaces if it is empty."""

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The same, as Kubernetes orders them for custom kinds."""


class Behaviour(Protocol):
    """Validation and defaults of a kind. Every method is pure; those that change the object do it in place."""

    @property
    def schema(self) -> Schema: ...
    @property
    def is_slow(self) -> bool:
        """Whether its methods may take long even for small objects."""

    @property
    def claims_names(self) -> bool:
        """Whether `prepare` claims names until `release`, which must follow when the write has ended.

        `writer` identifies the write, because two may be about the same object.
        """

    def release(self, writer: int) -> None: ...
    def type_errors(self, obj: JsonObject) -> list[Cause]:
        """Values of the wrong JSON type; checked before everything else."""

    def unknown_fields(self, obj: JsonObject) -> list[str]: ...
    def prune(self, obj: JsonObject, *, is_applied: bool = False) -> list[str]:
        """Remove unknown fields, and nulls; of custom kinds, those of an apply stay and are invalid."""

    def default(self, obj: JsonObject) -> None: ...
    def prepare(self, obj: JsonObject, old: JsonObject | None, now: str, *, writer: int = 0) -> None:
        """Set the fields that the server writes into an object of this kind (a definition's conditions)."""

    def prepare_deletion(self, obj: JsonObject, now: str) -> None:
        """Set the fields that the server writes when an object starts to terminate."""

    def check(self, obj: JsonObject) -> list[Cause]: ...
    def check_update(self, new: JsonObject, old: JsonObject) -> list[Cause]: ...
    def check_rules(self, new: JsonObject, old: JsonObject | None) -> list[Cause]:
        """Evaluate CEL rules; called only if `check` found nothing."""

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        """What to warn the writer of a valid object about."""

    def selectable(self, obj: JsonObject) -> dict[str, str]:
        """The values of this kind's field selectors other than metadata.name and metadata.namespace."""

    @property
    def selectable_fields(self) -> frozenset[str]: ...


class ScalePaths(msgspec.Struct, frozen=True):
    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


class Kind(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
    """A kind at one version, as served under one plural."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    has_status: bool = False
    has_generation: bool = False
    scale: ScalePaths | None = None
    custom: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    storage_resource: str = ""
    """The resource in the store, if several kinds share one (events); otherwise made of plural and group."""
    storage_version: str = ""
    behaviour: Behaviour = None  # type: ignore[assignment]
    raw_schema: JsonObject | None = None
    printer_columns: Sequence[JsonObject] = ()
    to_storage: Callable[[JsonObject], JsonObject] | None = None
    from_storage: Callable[[JsonObject], JsonObject] | None = None
    defaults_before: int = 0
    """Objects of an older revision may lack defaults of the stored version, and get them when they are read."""
    default_stored: Callable[[JsonObject], bool] | None = None
    """Adds these defaults, where some objects or versions lack them. Returns False if they are too many, and the object
    is half filled.
    """
    conversion: Conversion | None = None
    """How objects at other versions become those of this one; None if versions differ in nothing but their name."""
    deprecation: str = ""
    """A warning that each request to this version gets."""
    is_terminating: bool = False
    """The definition of a custom kind is being deleted: no new objects."""
    compute: Compute | None = None
    """Of a kind whose objects are computed when they are read, and not stored."""

    @cached_property
    def resource(self) -> str:
        return self.storage_resource or self.group_resource

    @cached_property
    def group_resource(self) -> str:
        """Such as `deployments.apps`, for messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def stored_api_version(self) -> str:
        """`apiVersion` of the bytes in the store."""
        if self.storage_resource == "events":
            return "v1"
        version = self.storage_version or self.version
        return f"{self.group}/{version}" if self.group else version

    @cached_property
    def head(self) -> bytes:
        """The first bytes of every stored object of this kind at this version, up to its revision."""
        return object_head(self.api_version, self.kind)

    @cached_property
    def stored_head(self) -> bytes:
        return object_head(self.stored_api_version, self.kind)

    @cached_property
    def columns(self) -> Columns:
        from homeostat.server.view.table import columns_of

        return columns_of(self.group, self.kind, self.printer_columns, custom=self.custom)

    @cached_property
    def is_verbatim(self) -> bool:
        """Whether a stored object is shown as it is stored, but for its apiVersion."""
        return self.from_storage is None and not self.defaults_before and self.conversion is None

    @cached_property
    def is_stored(self) -> bool:
        return "get" in self.verbs and self.compute is None


def object_head(api_version: str, kind: str) -> bytes:
    return f'{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"resourceVersion":"'.encode()


class Claim(NamedTuple):
    """Names that a definition has in its group."""

    group: str
    names: JsonObject


class Registry:
    """All kinds, by group, version and plural."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self.generation = 0
        """Increases when a kind is added or removed; caches of discovery and OpenAPI depend on it."""
        self.claims: dict[str, Claim] = {}
        """The accepted names of stored definitions, by the definition's name."""
        self.claiming: dict[int, tuple[str, Claim]] = {}
        """Those of definitions that are being written now, with the definition's name, by the write."""

    def add(self, kinds: Iterable[Kind]) -> None:
        for kind in kinds:
            self._by_path[kind.group, kind.version, kind.plural] = kind
        self.generation += 1

    def remove(self, kinds: Iterable[Kind]) -> None:
        for kind in kinds:
            self._by_path.pop((kind.group, kind.version, kind.plural), None)
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_path.get((group, version, plural))

    def by_kind(self, api_version: str, kind: str) -> Kind | None:
        group, _, version = api_version.rpartition("/")
        return next(
            (
                each
                for each in self._by_path.values()
                if (each.group, each.version, each.kind) == (group, version, kind)
            ),
            None,
        )

    def all(self) -> list[Kind]:
        return list(self._by_path.values())


# group/version  kind  plural  short names  flags; N namespaced, S status, G generation, C scale, A category all,
# E category api-extensions, P may be created by PUT, R needs a resourceVersion on update, V only created (reviews),
# O deleted one by one only
BUILTINS = """
v1 Namespace namespaces ns SO
v1 ConfigMap configmaps cm N
v1 Secret secrets - N
v1 Event events ev NP
v1 ServiceAccount serviceaccounts sa N
v1 Service services svc NSAP
v1 Endpoints endpoints ep NP
v1 Pod pods po NSGA
v1 PodTemplate podtemplates - NG
v1 PersistentVolume persistentvolumes pv S
v1 PersistentVolumeClaim persistentvolumeclaims pvc NS
v1 Node nodes no S
v1 ReplicationController replicationcontrollers rc NSGCA
v1 ResourceQuota resourcequotas quota NS
v1 LimitRange limitranges limits NP
apps/v1 Deployment deployments deploy NSGCA
apps/v1 ReplicaSet replicasets rs NSGCA
apps/v1 StatefulSet statefulsets sts NSGCA
apps/v1 DaemonSet daemonsets ds NSGA
apps/v1 ControllerRevision controllerrevisions - N
batch/v1 Job jobs - NSGA
batch/v1 CronJob cronjobs cj NSGA
networking.k8s.io/v1 Ingress ingresses ing NSG
networking.k8s.io/v1 IngressClass ingressclasses - G
networking.k8s.io/v1 NetworkPolicy networkpolicies netpol NG
networking.k8s.io/v1 IPAddress ipaddresses ip -
networking.k8s.io/v1 ServiceCIDR servicecidrs - S
policy/v1 PodDisruptionBudget poddisruptionbudgets pdb NSGR
autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers hpa NSA
autoscaling/v1 HorizontalPodAutoscaler horizontalpodautoscalers hpa NSA
storage.k8s.io/v1 StorageClass storageclasses sc -
storage.k8s.io/v1 CSIDriver csidrivers - R
storage.k8s.io/v1 CSINode csinodes - R
storage.k8s.io/v1 CSIStorageCapacity csistoragecapacities - NR
storage.k8s.io/v1 VolumeAttachment volumeattachments - SR
storage.k8s.io/v1 VolumeAttributesClass volumeattributesclasses vac -
coordination.k8s.io/v1 Lease leases - NPR
discovery.k8s.io/v1 EndpointSlice endpointslices - NG
events.k8s.io/v1 Event events ev NP
scheduling.k8s.io/v1 PriorityClass priorityclasses pc G
node.k8s.io/v1 RuntimeClass runtimeclasses - PR
resource.k8s.io/v1 DeviceClass deviceclasses - G
resource.k8s.io/v1 ResourceClaim resourceclaims - NS
resource.k8s.io/v1 ResourceClaimTemplate resourceclaimtemplates - N
resource.k8s.io/v1 ResourceSlice resourceslices - G
flowcontrol.apiserver.k8s.io/v1 FlowSchema flowschemas - SG
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration prioritylevelconfigurations - SG
certificates.k8s.io/v1 CertificateSigningRequest certificatesigningrequests csr S
rbac.authorization.k8s.io/v1 Role roles - NP
rbac.authorization.k8s.io/v1 RoleBinding rolebindings - NP
rbac.authorization.k8s.io/v1 ClusterRole clusterroles - P
rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings - P
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions crd,crds SGER
apiregistration.k8s.io/v1 APIService apiservices - SER
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations - GER
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations - GER
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy validatingadmissionpolicies - SGER
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings - GER
admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy mutatingadmissionpolicies - GER
admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings - GER
authentication.k8s.io/v1 TokenReview tokenreviews - V
authentication.k8s.io/v1 SelfSubjectReview selfsubjectreviews - V
authorization.k8s.io/v1 SubjectAccessReview subjectaccessreviews - V
authorization.k8s.io/v1 LocalSubjectAccessReview localsubjectaccessreviews - NV
authorization.k8s.io/v1 SelfSubjectAccessReview selfsubjectaccessreviews - V
authorization.k8s.io/v1 SelfSubjectRulesReview selfsubjectrulesreviews - V
"""

_DEPRECATIONS = {
    ("v1", "Endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    **{
        ("admissionregistration.k8s.io/v1beta1", kind): (
            f"admissionregistration.k8s.io/v1beta1 {kind} is deprecated in v1.37+, unavailable in v1.40+"
        )
        for kind in ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    },
}
_CONVERSIONS = {
    ("events.k8s.io/v1", "Event"): (event_to_core, event_to_events),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): (autoscaler_to_v2, autoscaler_to_v1),
}


def builtin_kinds(behaviour_of: Callable[[str, str, str], Behaviour]) -> list[Kind]:
    """All built-in kinds of the table; `behaviour_of(group, version, kind)` is called once for each."""
    return [_builtin(line.split(), behaviour_of) for line in BUILTINS.strip().splitlines()]


def _builtin(words: list[str], behaviour_of: Callable[[str, str, str], Behaviour]) -> Kind:
    api_version, kind, plural, short_names, flags = words
    group, _, version = api_version.rpartition("/")
    to_storage, from_storage = _CONVERSIONS.get((api_version, kind), (None, None))
    return Kind(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        namespaced="N" in flags,
        singular=kind.lower(),
        list_kind=f"{kind}List",
        short_names=() if short_names == "-" else tuple(short_names.split(",")),
        categories=(("all",) if "A" in flags else ()) + (("api-extensions",) if "E" in flags else ()),
        verbs=_verbs(flags),
        has_status="S" in flags,
        has_generation="G" in flags,
        scale=ScalePaths() if "C" in flags else None,
        create_on_update="P" in flags,
        unconditional_update="R" not in flags,
        storage_resource="events" if plural == "events" else "",
        storage_version="v2" if group == "autoscaling" else version,
        behaviour=behaviour_of(group, version, kind),
        to_storage=to_storage,
        from_storage=from_storage,
        deprecation=_DEPRECATIONS.get((api_version, kind), ""),
    )


def _verbs(flags: str) -> tuple[str, ...]:
    if "V" in flags:
        return ("create",)
    return tuple(verb for verb in ALL_VERBS if verb != "deletecollection") if "O" in flags else ALL_VERBS
