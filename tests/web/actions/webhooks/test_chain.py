"""Who is asked, in what order, and what becomes of their answers; with a real server at the other end."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.web.actions.webhooks.api import RestWebhookSpec
from homeostat.web.actions.webhooks.chain import Chain
from homeostat.web.kit.refusal import RefusalError
from tests.ports import free_port
from tests.web.actions.webhooks.hook_server import HookServer, add

RESOURCE: JsonObject = {
    "name": "pg",
    "resource_type_name": "DatabaseCluster",
    "resource_type_version": "v1",
    "spec": {"engine": "postgres"},
}


def mutating(url: str, **fields: Any) -> RestWebhookSpec:
    return RestWebhookSpec(**{"name": url.rpartition("/")[2], "url": url, "type": "mutating", **fields})


def validating(url: str, **fields: Any) -> RestWebhookSpec:
    return mutating(url, **{"type": "validating", **fields})


@asynccontextmanager
async def chain(*webhooks: RestWebhookSpec, private: bool = True) -> AsyncIterator[Chain]:
    made = Chain(lambda: webhooks, is_private_allowed=private)
    try:
        yield made
    finally:
        await made.close()


async def admit(
    webhooks: Iterable[RestWebhookSpec], operation: str = "CREATE", old: JsonObject | None = None
) -> JsonObject:
    async with chain(*webhooks) as made:
        return await made.admit(operation, RESOURCE, old)


async def denied(*webhooks: RestWebhookSpec) -> str:
    with pytest.raises(RefusalError) as caught:
        await admit(webhooks)
    assert caught.value.status == 403
    return str(caught.value)


async def test_without_webhooks_everything_is_admitted_as_it_is() -> None:
    assert await admit([]) == {"engine": "postgres"}


async def test_mutators_add_up_by_their_order_and_validators_see_the_result(hooks: HookServer) -> None:
    found = await admit(
        [
            validating(hooks.allows("/judge"), ordering=-5),
            mutating(hooks.allows("/second", add("/spec/replicas", 5)), ordering=1),
            mutating(hooks.allows("/first", add("/spec/ha", True), add("/replicas", 3)), ordering=0),
        ]
    )
    assert found == {"engine": "postgres", "ha": True, "replicas": 5}
    assert hooks.paths == ["/first", "/second", "/judge"]
    assert hooks.asked[1][1]["resource"]["spec"] == {"engine": "postgres", "ha": True, "replicas": 3}
    assert hooks.asked[2][1]["resource"]["spec"] == found
    assert RESOURCE["spec"] == {"engine": "postgres"}


async def test_a_webhook_is_asked_as_the_spec_says(hooks: HookServer) -> None:
    old = {**RESOURCE, "spec": {"engine": "mysql"}}
    await admit([validating(hooks.allows("/judge"))], "UPDATE", {**old, "plugin_config": {"token": "secret"}})
    assert hooks.asked == [("/judge", {"operation": "UPDATE", "resource": RESOURCE, "old_resource": old})]


async def test_the_first_that_denies_ends_it(hooks: HookServer) -> None:
    one, two = mutating(hooks.denies("/one", "too big"), ordering=0), mutating(hooks.allows("/two"), ordering=1)
    assert await denied(two, one) == "too big"
    assert hooks.paths == ["/one"]


@pytest.mark.parametrize("make", [mutating, validating])
async def test_a_denial_without_a_message_names_the_webhook(hooks: HookServer, make: Any) -> None:
    hook = make(hooks.denies("/strict"))
    assert await denied(hook) == f"Denied by {hook.type} webhook strict"


async def test_patches_of_a_validator_are_passed_over(hooks: HookServer) -> None:
    assert await admit([validating(hooks.allows("/judge", add("/ha", True)))]) == {"engine": "postgres"}


PATCHES = {
    "no parent": add("/config/timeout", 1),
    "the root": add("/", 1),
    "move": {"op": "move", "path": "/engine", "value": "/motor"},
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
async def test_a_patch_that_cannot_be_applied_denies(hooks: HookServer, patch: JsonObject) -> None:
    assert 'the mutating webhook "odd" returned an invalid patch' in await denied(mutating(hooks.allows("/odd", patch)))


ANSWERS: dict[str, tuple[Json | bytes, int, bool]] = {
    "what does not say is denied": ({}, 200, False),
    "a refusal with JSON is an answer": ({"allowed": False, "message": "no"}, 422, False),
    "even one that allows": ({"allowed": True}, 404, True),
    "nulls": ({"allowed": True, "message": None, "patches": None}, 200, True),
}


@pytest.mark.parametrize(("body", "status", "is_admitted"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_counts_whatever_the_failure_policy(
    hooks: HookServer, body: Json, status: int, is_admitted: bool
) -> None:
    url = hooks.answers("/hook", body, status=status)
    for policy in ("Fail", "Ignore"):
        if is_admitted:
            await admit([validating(url, failure_policy=policy)])
        else:
            await denied(validating(url, failure_policy=policy))


FAILURES = {
    "status 500": ({"allowed": True}, 500),
    "status 503": ({"allowed": True}, 503),
    "no JSON": (b"<html>", 200),
    "a list": ([], 200),
    "no boolean": ({"allowed": "yes"}, 200),
    "a redirect": ({"allowed": True}, 302),
    "very deep": (b'{"x":' + b"[" * 200_000, 200),
    "too many patches": ({"allowed": True, "patches": [add("/a", 1)] * 1001}, 200),
    "patches that are none": ({"allowed": True, "patches": [1]}, 200),
}


@pytest.mark.parametrize(("body", "status"), FAILURES.values(), ids=FAILURES)
async def test_a_failure_denies_or_is_passed_over_as_the_webhook_says(
    hooks: HookServer, body: Any, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    url = hooks.answers("/hook", body, status=status)
    assert 'webhook "hook" failed' in await denied(mutating(url))
    with caplog.at_level(logging.WARNING):
        assert await admit([mutating(url, failure_policy="Ignore")]) == {"engine": "postgres"}
    assert "webhook failed; ignoring it (failure policy)" in caplog.messages
    assert "/elsewhere" not in hooks.paths


async def test_nobody_listening_is_a_failure() -> None:
    url = f"http://127.0.0.1:{free_port()}/hook"
    assert "cannot connect" in await denied(validating(url))
    await admit([validating(url, failure_policy="Ignore")])


async def test_each_webhook_has_a_time_of_its_own(hooks: HookServer) -> None:
    slow = hooks.answers("/slow", {"allowed": True}, after_s=60.0)
    assert "timed out after 1 s" in await denied(validating(slow, timeout_seconds=1))


CONCERNED = {
    "all": ({}, "CREATE", True),
    "the operation": ({"operations": ("CREATE",)}, "CREATE", True),
    "another operation": ({"operations": ("UPDATE", "DELETE")}, "CREATE", False),
    "deletion": ({"operations": ("DELETE",)}, "DELETE", True),
    "the type": ({"resource_type": "DatabaseCluster"}, "CREATE", True),
    "another type": ({"resource_type": "Queue"}, "CREATE", False),
    "the version": ({"resource_version": "v1"}, "CREATE", True),
    "another version": ({"resource_type": "DatabaseCluster", "resource_version": "v2"}, "CREATE", False),
}


@pytest.mark.parametrize(("fields", "operation", "is_asked"), CONCERNED.values(), ids=CONCERNED)
async def test_a_webhook_is_asked_about_what_concerns_it(
    hooks: HookServer, fields: JsonObject, operation: str, is_asked: bool
) -> None:
    await admit([validating(hooks.allows("/hook"), **fields)], operation)
    assert hooks.paths == (["/hook"] if is_asked else [])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_private_target_is_not_called_unless_that_is_allowed(hooks: HookServer, host: str) -> None:
    url = hooks.url("/hook", host)
    async with chain(validating(url), private=False) as made:
        with pytest.raises(RefusalError, match="not on the public network"):
            await made.admit("CREATE", RESOURCE, None)
    assert hooks.asked == []
    async with chain(validating(url)) as made:
        await made.admit("CREATE", RESOURCE, None)
    assert hooks.paths == ["/hook"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_the_address_that_is_connected_to_is_checked(
    hooks: HookServer, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a name looked harmless, or a URL was read differently, when it was checked."""
    monkeypatch.setattr("homeostat.web.actions.webhooks.chain.check_target", lambda *_, **__: None)
    async with chain(validating(hooks.url("/hook", host)), private=False) as made:
        with pytest.raises(RefusalError, match="not on the public network"):
            await made.admit("CREATE", RESOURCE, None)
    assert hooks.asked == []
