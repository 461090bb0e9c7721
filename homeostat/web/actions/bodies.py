"""The JSON bodies of types, resources and history. Pure.

Times are in UTC, with a `Z`. The configuration of a plugin may be confidential, so only administrators see it. Parts
that are already encoded are copied as they are.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Final

import msgspec

from homeostat.objects.conditions import Condition
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.actions.api import FINALIZER, METADATA, ReconciliationSpec
from homeostat.operators.actions.conditions import current_message
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.actions.index.entry import TYPE_STATUS, Entry, TypeEntry, phase_of
from homeostat.web.actions.spec_check import passwords_of

ACTIVE = "active"
DEPRECATED = "deprecated"
_EMPTY = msgspec.Raw(b"{}")
_LARGE_BYTES: Final = 16 * 1024


def type_body(resource_type: TypeEntry, *, is_admin: bool) -> JsonObject:
    spec, metadata = resource_type.spec, resource_type.metadata
    annotations = metadata.annotations
    body: JsonObject = {
        "id": resource_type.number,
        "name": spec.name,
        "version": spec.version,
        "schema": spec.schema,
        "description": spec.description or None,
        "status": annotations.get(TYPE_STATUS) or (DEPRECATED if spec.is_deprecated else ACTIVE),
        "metadata": _kept(annotations.get(METADATA, "")),
        "action_plugin": spec.action.plugin,
        "resource_fields": spec.resource_fields,
        "created_at": metadata.creation_timestamp,
        "updated_at": resource_type.updated,
        "deleted_at": metadata.deletion_timestamp,
    }
    return {**body, "plugin_config": spec.action.config} if is_admin else body


def plugin_of(entry: Entry, resource_type: TypeEntry, claimed: str = "") -> str:
    """Returns the plugin of a resource: its own, that of its type, or the one that claims the type."""
    return entry.read_action().plugin or resource_type.spec.action.plugin or claimed


def resource_body(
    indexed: IndexedResource, resource_type: TypeEntry, *, is_admin: bool, claimed: str = ""
) -> JsonObject:
    entry = indexed.entry
    metadata, status, action = entry.metadata, entry.read_status(), entry.read_action()
    plugin = plugin_of(entry, resource_type, claimed)
    body: JsonObject = {
        "id": entry.number,
        "name": metadata.name,
        "resource_type_name": resource_type.spec.name,
        "resource_type_version": resource_type.spec.version,
        "action_plugin": plugin,
        "status": phase_of(entry, status),
        "status_message": current_message(status) or None,
        "generation": metadata.generation,
        "observed_generation": status.reconciled_generation,
        "spec": shown_spec(entry, resource_type),
        "metadata": _kept(metadata.annotations.metadata),
        "outputs": status.outputs,
        "finalizers": shown_finalizers(metadata.finalizers, plugin),
        "conditions": [_observed(each, status.observed_generation) for each in status.conditions],
        "retry_count": status.retries,
        "created_at": metadata.creation_timestamp,
        "updated_at": entry.updated,
        "last_reconcile_time": status.last_run,
        "next_reconcile_time": status.next_run,
        "deleted_at": metadata.deletion_timestamp or None,
    }
    return {**body, "plugin_config": action.config} if is_admin else body


def shown_finalizers(finalizers: tuple[str, ...], plugin: str) -> list[str]:
    """Shows the operator's finalizer under the name of the plugin."""
    return [plugin or each if each == FINALIZER else each for each in finalizers]


def kept_finalizers(shown: list[str], plugin: str) -> list[str]:
    return [FINALIZER if plugin and each == plugin else each for each in shown]


def history_body(name: str, spec: ReconciliationSpec, *, resource_id: int) -> JsonObject:
    """`name` is the name of the history entry, which ends with its number."""
    number = name.rpartition("-")[2]
    return {
        "id": int(number) if number.isdecimal() else 0,
        "resource_id": resource_id,
        "resource_name": spec.resource_name,
        "resource_type_name": spec.resource_kind,
        "resource_type_version": spec.resource_version,
        "generation": spec.generation,
        "success": spec.is_success,
        "phase": spec.phase,
        "trigger_reason": spec.trigger,
        "drift_detected": spec.is_drift,
        "plan_output": spec.plan_output,
        "apply_output": spec.apply_output,
        "error_message": spec.error or None,
        "resources_created": spec.changes.created,
        "resources_updated": spec.changes.updated,
        "resources_deleted": spec.changes.deleted,
        "duration_seconds": spec.duration_seconds,
        "url": spec.url,
        "reconcile_time": spec.finished,
    }


def shown_spec(entry: Entry, resource_type: TypeEntry) -> msgspec.Raw:
    """The encoded spec, without the values of passwords."""
    passwords = passwords_of(resource_type)
    if not passwords or not entry.spec:
        return entry.spec or _EMPTY
    return msgspec.Raw(msgspec.json.encode(passwords.hidden(msgspec.json.decode(entry.spec))))


def spec_hash(spec: bytes) -> str:
    """The hash of a spec as no8s computes it: of JSON with sorted keys and Python's separators."""
    return _large_hash(spec) if len(spec) > _LARGE_BYTES else _hash(spec)


def _hash(spec: bytes) -> str:
    text = json.dumps(msgspec.json.decode(spec) if spec else {}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


# Each event of a resource has the hash, for administrators and for others, and one of a megabyte takes 130 ms.
_large_hash = lru_cache(maxsize=32)(_hash)


def _observed(condition: Condition, generation: int) -> Condition:
    """Every condition has an `observedGeneration`; one that a plugin sets without it has that of the status."""
    if condition.observed_generation is not msgspec.UNSET:
        return condition
    return msgspec.structs.replace(condition, observed_generation=generation)


def _kept(text: str) -> Json:
    """Reads the users' metadata; empty if the annotation is not a JSON object."""
    try:
        found = msgspec.json.decode(text) if text else {}
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
