"""The stable public API for authors of operators.

    from homeostat.sdk import Condition, CustomKind, Decision, Declared, Kind, Setup

Everything that `docs/runtime.md` describes is here or in one of three modules that cost more to import:

    homeostat.sdk.plugins     plugins of the operator `actions`, inputs and secret stores
    homeostat.sdk.standalone  a program of your own that connects to a cluster and runs operators
    homeostat.testing         a plane for tests

A minor version removes none of these names and changes none of their meanings. Whatever else can be imported from
`homeostat` is internal and may change at any time.
"""

from homeostat.client.base import Client, UnreachableError
from homeostat.client.discovery import Discovery, discover, fetch_kinds
from homeostat.client.projection import Projection, ProjectionError
from homeostat.client.requests import Selection, Writing
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.conditions import READY, RECONCILING, STALLED, Condition
from homeostat.objects.conditions import find as find_condition
from homeostat.objects.conditions import is_true as is_condition_true
from homeostat.objects.conditions import summarise as summarise_conditions
from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Scale, Status
from homeostat.objects.crd.field_meta import NULLABLE, keyed, rule
from homeostat.objects.crd.user_roles import UserRules
from homeostat.objects.decision import Decision, Notice, Receipt, Stalled, Wait
from homeostat.objects.declared import Declared, Metadata, OwnerReference, owner_reference
from homeostat.objects.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InternalError,
    InvalidError,
    MethodNotAllowedError,
    NotAcceptableError,
    NotFoundError,
    TimedOutError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedMediaTypeError,
)
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import (
    CONFIG_MAP,
    CRON_JOB,
    DAEMON_SET,
    DEFINITION,
    DEPLOYMENT,
    DISRUPTION_BUDGET,
    EVENT,
    JOB,
    LEASE,
    NAMESPACE,
    POD,
    REPLICA_SET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    Kind,
)
from homeostat.objects.roles import READ, control_rules
from homeostat.objects.roles import rule as role_rule
from homeostat.objects.schema.schema import Rule
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.cache.index import by_label
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.cache.unreadable import UnreadableError
from homeostat.runtime.checkup import Finding
from homeostat.runtime.control.controller import Controller
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.runtime.control.operator import Operator
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.control.recorder import About, Recorder
from homeostat.runtime.deployment import Alert, FaceAdmission, Panel, Webhook
from homeostat.runtime.faces.face import Face, FaceRules, Figures, Surroundings
from homeostat.runtime.setup import Setup
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.runtime.watch.predicates import (
    all_of,
    annotations_changed,
    any_of,
    changed,
    generation_changed,
    labels_changed,
)
from homeostat.runtime.watch.routes import to_indexed, to_itself, to_mapped, to_owner

__all__ = [
    "AGE_COLUMN",
    "CONFIG_MAP",
    "CRON_JOB",
    "DAEMON_SET",
    "DEFINITION",
    "DEPLOYMENT",
    "DISRUPTION_BUDGET",
    "EVENT",
    "JOB",
    "LEASE",
    "NAMESPACE",
    "NULLABLE",
    "PAUSE",
    "POD",
    "READ",
    "READY",
    "READY_COLUMN",
    "RECONCILING",
    "REPLICA_SET",
    "SECRET",
    "SERVICE",
    "STALLED",
    "STATEFUL_SET",
    "About",
    "Alert",
    "AlreadyExistsError",
    "ApiError",
    "BadRequestError",
    "Cache",
    "Change",
    "Client",
    "Column",
    "Condition",
    "ConflictError",
    "Controller",
    "CustomKind",
    "Decision",
    "Declared",
    "Discovery",
    "ExpiredError",
    "Face",
    "FaceAdmission",
    "FaceRules",
    "Figures",
    "Finding",
    "ForbiddenError",
    "Informer",
    "InternalError",
    "InvalidError",
    "JsonObject",
    "Kind",
    "Metadata",
    "MethodNotAllowedError",
    "Metrics",
    "NotAcceptableError",
    "NotFoundError",
    "Notice",
    "Operator",
    "Options",
    "OwnerReference",
    "Panel",
    "Projection",
    "ProjectionError",
    "Receipt",
    "Recorder",
    "Reply",
    "Request",
    "Rule",
    "Scale",
    "Selection",
    "Setup",
    "Stalled",
    "Status",
    "Surroundings",
    "TimedOutError",
    "TooLargeError",
    "TooManyRequestsError",
    "UnauthorizedError",
    "UnavailableError",
    "UnreachableError",
    "UnreadableError",
    "UnsupportedMediaTypeError",
    "UserRules",
    "Wait",
    "Webhook",
    "Writing",
    "all_of",
    "annotations_changed",
    "any_of",
    "by_label",
    "changed",
    "control_rules",
    "discover",
    "fetch_kinds",
    "find_condition",
    "generation_changed",
    "is_condition_true",
    "keyed",
    "labels_changed",
    "owner_reference",
    "role_rule",
    "rule",
    "summarise_conditions",
    "to_indexed",
    "to_itself",
    "to_mapped",
    "to_owner",
]
