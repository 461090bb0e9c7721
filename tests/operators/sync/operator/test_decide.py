"""When a policy is synced, and how: the table of triggers and modes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from homeostat.operators.sync.api.policy import PolicySpec, SyncPolicy
from homeostat.operators.sync.policies.decide import decide, inputs_of, retry_delay_s
from homeostat.operators.sync.policies.world import Begin, Dependency, Sync, World

NOW = datetime(2026, 3, 1, 10, 7, tzinfo=UTC)
SPEC: Any = {
    "resourceRepositoryRef": {"name": "r"},
    "managedServerRef": {"name": "s"},
    "secretStoreRef": {"name": "t"},
    "source": {"path": "/customers"},
}
READY = (Dependency("ResourceRepository", "r", "ready"), Dependency("ManagedServer", "s", "ready"))


def world(**over: Any) -> World:
    spec = msgspec.convert({**SPEC, **over.pop("spec", {})}, PolicySpec)
    facts: Any = {"dependencies": READY, "revision": "b" * 40, "secrets_hash": "s", "dependencies_hash": "d"}
    return World(**{"now": NOW, "spec": spec, "interval_s": 300.0, **facts, **over})


def policy(status: Any = None, annotations: Any = None, generation: int = 1) -> SyncPolicy:
    metadata = {"name": "p", "namespace": "n", "generation": generation, "annotations": annotations or {}}
    body = {"metadata": metadata, "spec": SPEC, "status": status or {}}
    return msgspec.json.decode(msgspec.json.encode(body), type=SyncPolicy)


def synced(before: World, **over: Any) -> Any:
    """The status after a successful full sync a minute ago."""
    return {
        "lastAppliedRepoRevision": before.revision,
        "lastAppliedGeneration": 1,
        "lastDependenciesHash": before.dependencies_hash,
        "lastSecretResourceVersionHash": before.secrets_hash,
        "lastInputsHash": inputs_of(policy(), before),
        "lastFullResyncTime": "2026-03-01T10:06:00Z",
        **over,
    }


CASES = {
    "nothing changed": ({}, {}, None),
    "a new revision": ({"revision": "c" * 40}, {}, ("incremental", "new revision")),
    "a Secret changed": ({"secrets_hash": "other", "revision": "c" * 40}, {}, ("full", "secret changed")),
    "a dependency changed": ({"dependencies_hash": "other"}, {}, ("full", "dependency changed")),
    "the interval is over": ({"now": NOW + timedelta(minutes=5)}, {}, ("full", "interval")),
    "cron is due": (
        {"now": NOW + timedelta(minutes=9), "spec": {"fullResyncCron": "15 * * * *"}, "interval_s": 3600.0},
        {},
        ("full", "cron"),
    ),
    "not recursive": (
        {"revision": "c" * 40, "spec": {"source": {"path": "/customers", "recursive": False}}},
        {},
        ("full", "new revision"),
    ),
    "changes were held": ({"revision": "c" * 40}, {"held": 2}, ("full", "held changes")),
    "a failure waits": (
        {},
        {"failure": {"reason": "ReconcileFailed", "message": "m", "retryTime": "2026-03-01T10:08:00Z"}},
        None,
    ),
    "a failure is retried": (
        {},
        {"failure": {"reason": "ReconcileFailed", "message": "m", "retryTime": "2026-03-01T10:07:00Z"}},
        ("full", "retry"),
    ),
    "a new revision does not wait for the retry": (
        {"revision": "c" * 40},
        {
            "failure": {
                "reason": "ReconcileFailed",
                "message": "m",
                "mode": "incremental",
                "retryTime": "2026-03-01T10:09:00Z",
            }
        },
        ("incremental", "new revision"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_differs_decides_the_mode(case: tuple[Any, Any, tuple[str, str] | None]) -> None:
    over, more, expected = case
    found = decide(policy(synced(world(), **more)), world(**over))
    begun = next((each for each in found.actions if isinstance(each, Begin)), None)
    assert (None if begun is None else (begun.mode, begun.trigger)) == expected
    assert found.actions or found.requeue_after


def test_a_policy_that_was_never_synced_is_synced_in_full() -> None:
    (begin,) = decide(policy(), world()).actions
    assert isinstance(begin, Begin)
    assert (begin.mode, begin.trigger) == ("full", "first sync")


@pytest.mark.parametrize(
    ("over", "generation", "request_", "trigger"),
    [
        ({}, 2, "", "policy changed"),
        ({"revision": "c" * 40}, 1, "", "new revision"),
        ({"secrets_hash": "other"}, 1, "", "secret changed"),
        ({"dependencies_hash": "other"}, 1, "", "dependency changed"),
        ({}, 1, "now", "request"),
    ],
)
def test_only_the_first_sync_is_called_so(over: Any, generation: int, request_: str, trigger: str) -> None:
    """In observe mode nothing is ever applied."""
    unapplied = ("lastAppliedRepoRevision", "lastAppliedGeneration", "lastDependenciesHash")
    status = {key: value for key, value in synced(world(), held=1).items() if key not in unapplied}
    annotations = {"declarest.io/reconcile-requested-at": request_} if request_ else {}
    (begin,) = decide(policy(status, annotations, generation=generation), world(**over)).actions
    assert isinstance(begin, Begin)
    assert (begin.mode, begin.trigger) == ("full", trigger)
    (begin,) = decide(policy({**status, "lastInputsHash": "0" * 32}), world()).actions
    assert isinstance(begin, Begin)
    assert begin.trigger == "changed inputs"


def test_an_edit_of_the_policy_at_the_same_revision_is_a_full_sync() -> None:
    (begin,) = decide(policy(synced(world()), generation=2), world()).actions
    assert isinstance(begin, Begin)
    assert (begin.mode, begin.trigger) == ("full", "policy changed")


def test_a_request_by_annotation_is_a_full_sync() -> None:
    (begin,) = decide(policy(synced(world()), {"declarest.io/reconcile-requested-at": "now"}), world()).actions
    assert isinstance(begin, Begin)
    assert (begin.mode, begin.trigger) == ("full", "request")


@pytest.mark.parametrize(
    ("before", "trigger"),
    [
        pytest.param(synced(world(revision="c" * 40)), "new revision", id="the commit that failed was reverted"),
        pytest.param(synced(world(), lastInputsHash="0" * 32), "changed inputs", id="an earlier version wrote it"),
    ],
)
def test_a_sync_that_nobody_requested_is_not_called_a_request(before: Any, trigger: str) -> None:
    (begin,) = decide(policy({**before, "lastAppliedRepoRevision": "b" * 40}), world()).actions
    assert isinstance(begin, Begin)
    assert (begin.mode, begin.trigger) == ("full", trigger)


def test_an_attempt_that_a_crash_ended_is_synced_again() -> None:
    attempt = {"mode": "full", "trigger": "interval", "time": "2026-03-01T10:06:30Z"}
    (sync,) = decide(policy(synced(world(), attempt=attempt)), world()).actions
    assert isinstance(sync, Sync)
    assert (sync.mode, sync.base, sync.revision) == ("full", "", "b" * 40)


def test_ready_recovers_when_a_dependency_does() -> None:
    unready = (Dependency("ManagedServer", "s", "unready", "down"),)
    status = synced(world())
    stopped = decide(policy(status), world(dependencies=unready))
    assert [(each.type, each.status, each.reason) for each in stopped.conditions[:2]] == [
        ("Ready", "False", "DependencyNotReady"),
        ("Stalled", "True", "DependencyNotReady"),
    ]
    assert stopped.requeue_after == timedelta(seconds=30)
    assert decide(policy(status), world()).conditions[0].status == "True"


def test_the_next_reconciliation_is_at_the_interval_or_at_the_cron_time() -> None:
    status = synced(world(), lastFullResyncTime="2026-03-01T10:07:00Z")
    hourly = world(interval_s=1800.0, spec={"fullResyncCron": "15 * * * *"})
    assert decide(policy(status), hourly).requeue_after == timedelta(minutes=8)
    assert decide(policy(status), world()).requeue_after == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("over", "reason", "stalled"),
    [
        ({"rival": "older"}, "OverlappingPolicy", "True"),
        ({"spec": {"suspend": True}}, "Suspended", "False"),
        ({"revision": ""}, "DependencyInvalid", "True"),
        ({"dependencies": (Dependency("SecretStore", "t", "missing"),)}, "DependencyInvalid", "True"),
    ],
)
def test_what_stops_a_policy_is_its_reason(over: Any, reason: str, stalled: str) -> None:
    found = decide(policy(synced(world())), world(**over))
    assert not found.actions
    assert [(each.status, each.reason) for each in found.conditions[:2]] == [("False", reason), (stalled, reason)]


def test_failures_in_a_row_wait_longer_up_to_a_limit() -> None:
    assert [retry_delay_s(each) for each in (1, 2, 3, 100)] == [5.0, 10.0, 20.0, 1000.0]
