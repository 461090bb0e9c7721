"""Decides the statuses of repositories, servers, secret stores and webhooks. Pure: they have no actions."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Never, assert_never

from homeostat.objects.conditions import READY, STALLED, Condition, find
from homeostat.objects.decision import Decision, Notice
from homeostat.objects.errors import Cause
from homeostat.objects.json import Json
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.sync.api.repository import WEBHOOK_RECEIVED, RepositoryStatus, ResourceRepository
from homeostat.operators.sync.api.server import ManagedServer, ServerStatus
from homeostat.operators.sync.api.store import SecretStore
from homeostat.operators.sync.api.webhook import HOOKS, RepositoryWebhook
from homeostat.operators.sync.conditions import (
    SPEC_INVALID,
    SUSPENDED,
    Conditions,
    cut,
    failed,
    succeeded,
    transition_notices,
)
from homeostat.operators.sync.dependencies.world import RepositoryWorld, ServerWorld, StoreWorld, WebhookWorld
from homeostat.operators.sync.validation.specs import sentence

DEPENDENCY_INVALID: Final = "DependencyInvalid"
RECONCILE_FAILED: Final = "ReconcileFailed"
HEALTHY: Final = "Healthy"
STORE_CHECK_S: Final = 300.0
_RETRY_S: Final = 30.0
_PROBE_AFTER_S: Final = 0.1
Plan = Decision[Never]


def decide_repository(repository: ResourceRepository, world: RepositoryWorld) -> Plan:
    if repository.is_terminating:
        return Decision()
    if world.causes:
        return _invalid(repository, world.causes)
    again = timedelta(seconds=world.interval_s)
    if world.error:
        conditions = failed(RECONCILE_FAILED, world.error)
        notices = (*_received(repository), *transition_notices(repository, conditions, "SyncFailed"))
        return Decision(conditions=conditions, notices=notices, requeue_after=again, status=_webhook(repository))
    before = repository.read_status(RepositoryStatus).last_fetched_revision
    notices = _received(repository)
    if before != world.revision:
        notices = (*notices, Notice("Normal", "RevisionChanged", f"new revision: {world.revision}"))
    status = {
        "localPath": world.path,
        "lastFetchedRevision": world.revision,
        "lastFetchedTime": format_time(world.now),
        **_webhook(repository),
    }
    return Decision(
        conditions=succeeded("repository is up to date"), status=status, notices=notices, requeue_after=again
    )


def _webhook(repository: ResourceRepository) -> dict[str, Json]:
    return {"lastWebhookTime": repository.metadata.annotations.get(WEBHOOK_RECEIVED) or None}


def _received(repository: ResourceRepository) -> tuple[Notice, ...]:
    """An Event about a webhook that was not reported so far."""
    moment = repository.metadata.annotations.get(WEBHOOK_RECEIVED)
    if not moment or moment == repository.read_status(RepositoryStatus).last_webhook_time:
        return ()
    return (Notice("Normal", "WebhookReceived", f"push webhook received at {moment}"),)


def decide_server(server: ManagedServer, world: ServerWorld) -> Plan:
    if server.is_terminating:
        return Decision()
    if world.causes:
        return _invalid(server, world.causes)
    again = timedelta(seconds=world.interval_s if world.health != "pending" else _PROBE_AFTER_S)
    health, health_notices = _health(server, world)
    if world.error:
        conditions = failed(DEPENDENCY_INVALID, world.error)
        failure = transition_notices(server, conditions, world.event)
        again = min(again, timedelta(seconds=_RETRY_S))
        return Decision(conditions=(*conditions, *health), notices=(*failure, *health_notices), requeue_after=again)
    before = server.read_status(ServerStatus)
    paths = {"openapiCachePath": world.openapi_path or None, "metadataCachePath": world.metadata_path or None}
    notices: tuple[Notice, ...] = ()
    if (before.openapi_cache_path, before.metadata_cache_path) != tuple(paths.values()):
        notices = (Notice("Normal", "ArtifactsCached", "downloaded the documents of the server"),)
    has_any = bool(world.openapi_path or world.metadata_path or world.health != "unset")
    return Decision(
        conditions=(*succeeded("managed server is ready"), *health),
        status=paths,
        notices=(*notices, *health_notices),
        requeue_after=again if has_any else None,
    )


def _health(server: ManagedServer, world: ServerWorld) -> tuple[Conditions, tuple[Notice, ...]]:
    """The result of the health check, and an Event if it changed. It stops no sync: Ready does not depend on it."""
    before = find(server.read_status(ServerStatus).conditions, HEALTHY)
    match world.health:
        case "unset":
            gone = Condition(HEALTHY, "Unknown", "HealthCheckUnset", "spec.http.healthCheck is not set")
            return ((gone,) if before is not None else ()), ()
        case "pending":
            return (Condition(HEALTHY, "Unknown", "HealthCheckPending", "the health check was not called yet"),), ()
        case "failed":
            text = cut(f"health check failed: {world.health_error}")
            now = Condition(HEALTHY, "False", "HealthCheckFailed", text)
            is_new = before is None or before.reason != now.reason
            return (now,), ((Notice("Warning", now.reason, now.message),) if is_new else ())
        case "passed":
            now = Condition(HEALTHY, "True", "HealthCheckPassed", "health check passed")
            is_new = before is not None and before.status == "False"
            return (now,), ((Notice("Normal", now.reason, now.message),) if is_new else ())
        case _:
            assert_never(world.health)


def decide_store(store: SecretStore, world: StoreWorld) -> Plan:
    if store.is_terminating:
        return Decision()
    if world.causes:
        return _invalid(store, world.causes)
    status: dict[str, Json] = {"resolvedPath": world.path or None}
    if world.error:
        conditions = _unopened(world)
        notices = transition_notices(store, conditions, conditions[0].reason)
        again = timedelta(seconds=_RETRY_S)
        return Decision(conditions=conditions, status=status, notices=notices, requeue_after=again)
    conditions = succeeded("secret store is ready")
    notices = transition_notices(store, conditions, "Ready", is_warning=False)
    return Decision(
        conditions=conditions, status=status, notices=notices, requeue_after=timedelta(seconds=STORE_CHECK_S)
    )


def _unopened(world: StoreWorld) -> Conditions:
    if not world.is_unknown:
        return failed(DEPENDENCY_INVALID, world.error)
    text = cut(world.error)
    return Condition(READY, "Unknown", "StoreUnreachable", text), Condition(STALLED, "True", "StoreUnreachable", text)


def decide_webhook(webhook: RepositoryWebhook, world: WebhookWorld) -> Plan:
    metadata = webhook.metadata
    status = {"webhookPath": f"{HOOKS}/{metadata.namespace}/{metadata.name}"}
    if webhook.spec.suspend:
        ready = Condition(READY, "False", SUSPENDED, "webhook is suspended")
    elif world.causes:
        ready = Condition(READY, "False", SPEC_INVALID, sentence(list(world.causes)))
    elif not world.has_repository:
        name = webhook.spec.repository_ref.name
        ready = Condition(READY, "False", "RepositoryNotFound", f'ResourceRepository "{name}" does not exist')
    elif world.secret_error:
        ready = Condition(READY, "False", DEPENDENCY_INVALID, world.secret_error)
    else:
        ready = Condition(READY, "True", "Ready", "webhook is ready")
    return Decision(conditions=(ready,), status=status)


def _invalid(obj: ResourceRepository | ManagedServer | SecretStore, causes: tuple[Cause, ...]) -> Plan:
    conditions = failed(SPEC_INVALID, sentence(list(causes)))
    return Decision(conditions=conditions, notices=transition_notices(obj, conditions, SPEC_INVALID))
