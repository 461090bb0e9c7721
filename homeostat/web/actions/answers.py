"""The shapes of the answers of this API, for the OpenAPI document.

`bodies.py` and the pages of users and webhooks make the bodies; a test checks that they have these shapes.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from homeostat.operators.actions.runs.last_output import RunState
from homeostat.operators.actions.runs.run import Purpose, Trigger
from homeostat.web.actions.events.frame import EventType
from homeostat.web.actions.webhooks.api import WebhookType, Write
from homeostat.web.identity.api import Operation, Source, SystemPermission


class TypeAnswer(msgspec.Struct, kw_only=True):
    id: int
    name: str
    version: str
    schema: dict[str, Any]
    description: str | None
    status: str
    metadata: dict[str, Any]
    action_plugin: str
    resource_fields: list[str] | None
    created_at: str
    updated_at: str
    deleted_at: str | None
    plugin_config: dict[str, Any] = {}


class ConditionAnswer(msgspec.Struct, rename="camel"):
    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


class ResourceAnswer(msgspec.Struct, kw_only=True):
    id: int
    name: str
    resource_type_name: str
    resource_type_version: str
    action_plugin: str
    status: str
    status_message: str | None
    generation: int
    observed_generation: int
    spec: dict[str, Any]
    metadata: dict[str, Any]
    outputs: dict[str, Any]
    finalizers: list[str]
    conditions: list[ConditionAnswer]
    retry_count: int
    created_at: str
    updated_at: str
    last_reconcile_time: str | None
    next_reconcile_time: str | None
    deleted_at: str | None
    plugin_config: dict[str, Any] = {}


class EventResource(ResourceAnswer, kw_only=True):
    spec_hash: str


class Accepted(msgspec.Struct):
    message: str
    resource_id: int


class HistoryAnswer(msgspec.Struct, kw_only=True):
    id: int
    resource_id: int
    resource_name: str
    resource_type_name: str
    resource_type_version: str
    generation: int
    success: bool
    phase: Literal["completed", "failed", "cancelled"]
    trigger_reason: str
    drift_detected: bool
    plan_output: str
    apply_output: str
    error_message: str | None
    resources_created: int
    resources_updated: int
    resources_deleted: int
    duration_seconds: float
    url: str
    reconcile_time: str


class OutputsAnswer(msgspec.Struct):
    outputs: dict[str, Any]


class LogsAnswer(msgspec.Struct, kw_only=True):
    """The end of a run's output, its whole `length`, and how the run ended."""

    resource_id: int
    run: str
    state: RunState
    is_running: bool
    purpose: Purpose | None
    trigger_reason: Trigger | None
    generation: int | None
    started_at: str | None
    ended_at: str | None
    error_message: str
    output: str
    length: int


class EventAnswer(msgspec.Struct, kw_only=True):
    """The data of one event. RESYNC means that the history has a gap; its resource_data is null."""

    event_type: EventType | Literal["RESYNC"]
    resource_id: int
    resource_name: str
    resource_type_name: str
    resource_type_version: str
    resource_data: EventResource | None
    timestamp: str


class PluginAnswer(msgspec.Struct):
    name: str
    version: str


class Health(msgspec.Struct):
    status: str
    version: str = ""


class Lock(msgspec.Struct):
    holder_id: str
    acquired_at: str
    expires_at: str
    is_valid: bool


class Node(msgspec.Struct, kw_only=True):
    node_id: str
    hostname: str
    pid: str
    status: Literal["Ready", "NotReady"]
    role: Literal["leader", "follower"]
    age: str
    first_seen: str
    last_heartbeat: str


class Nodes(msgspec.Struct):
    this_instance_id: str
    this_instance_is_leader: bool
    leader_lock: Lock | None
    nodes: list[Node]


class TokenAnswer(msgspec.Struct):
    access_token: str
    token_type: Literal["bearer"]
    username: str
    is_admin: bool


class UserAnswer(msgspec.Struct, kw_only=True):
    id: int
    username: str
    email: str | None
    display_name: str | None
    source: Source
    is_admin: bool
    status: Literal["active", "suspended"]
    custom_role_id: int | None
    created_at: str | None
    updated_at: str | None
    last_login_at: str | None
    last_synced_at: str | None


class SyncAnswer(msgspec.Struct):
    created: int
    updated: int
    total: int


class PermissionAnswer(msgspec.Struct):
    id: int
    role_id: int
    resource_type_name: str
    resource_type_version: str
    operations: list[Operation]
    created_at: str | None


class RoleAnswer(msgspec.Struct, kw_only=True):
    id: int
    name: str
    description: str | None
    system_permissions: list[SystemPermission]
    permissions: list[PermissionAnswer]
    created_at: str | None
    updated_at: str | None


class WebhookAnswer(msgspec.Struct, kw_only=True):
    id: int
    name: str
    webhook_url: str
    webhook_type: WebhookType
    operations: list[Write]
    resource_type_name: str | None
    resource_type_version: str | None
    timeout_seconds: int
    failure_policy: Literal["Fail", "Ignore"]
    ordering: int
    created_at: str | None
    updated_at: str | None
