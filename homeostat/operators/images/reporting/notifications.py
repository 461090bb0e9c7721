"""Notifications: one for each change, to the webhook that an annotation names, in Slack's format or a generic one.

A notification is part of the status that reports the change, in `status.outbox`, and is removed once it was sent. So a
crash loses none, and what was sent is not sent again, unless the crash comes between the two: then the second has the
same `Idempotency-Key`. Passes never wait for a webhook. One that is busy or fails is tried again, with backoff or when
its `Retry-After` says; after the last attempt the notification is logged and dropped. The URL is a secret, never shown.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from html import escape
from typing import Final

import msgspec

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import ResponseLostError, RestError
from homeostat.external.rest.request import Request
from homeostat.external.rest.retry import retry_after_s
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.time.age import epoch_of
from homeostat.objects.time.backoff import Backoff
from homeostat.operators.images.api import ImageUpdate, Notice
from homeostat.operators.images.engine.annotations import DEFAULT_NAMESPACE, PREFIX, Tracked
from homeostat.operators.images.records import Records
from homeostat.operators.images.sources.guard import Guard
from homeostat.operators.images.sources.secrets import MissingSecretError, SecretName, Secrets
from homeostat.runtime.cache.cache import Change

log = logging.getLogger(__name__)
FORMAT: Final = f"{PREFIX}notifications_format"
_GENERIC: Final = "generic"
_BACKOFF: Final = Backoff(first_s=1.0, cap_s=60.0)
_ATTEMPTS: Final = 8
_LONGEST_S: Final = 3600.0
"""A notification that is older is dropped, and so is one whose webhook asks for a longer wait."""
_AT_ONCE: Final = 8
_TIMEOUT_S: Final = 15.0
Key = tuple[str, str]


class _LaterError(Exception):
    """The webhook wants to be asked again."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Notifications:
    """`find` returns the tracked workload of an ImageUpdate, by its namespace and name."""

    def __init__(
        self,
        client: RestClient,
        secrets: Callable[[], Secrets],
        records: Records,
        find: Callable[[str, str], Tracked | None],
        guard: Guard,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client, self._secrets, self._records, self._find, self._sleep = client, secrets, records, find, sleep
        self._guard = guard
        self._waiting: dict[Key, None] = {}
        self._working: set[Key] = set()
        self._changed = asyncio.Event()

    def note(self, change: Change[ImageUpdate]) -> None:
        """A handler of the cache's changes: after a start, what was not sent is found here."""
        if change.new is not None:
            self.put(change.namespace, change.name)

    def put(self, namespace: str, name: str) -> None:
        if self._records.outbox((namespace, name)):
            self._waiting[namespace, name] = None
            self._changed.set()

    async def run(self) -> None:
        """Sends what waits, several at a time and in order for each workload, until it is cancelled."""
        self._working.clear()
        places = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                for key in [each for each in self._waiting if each not in self._working]:
                    del self._waiting[key]
                    self._working.add(key)
                    tasks.create_task(self._empty(key, places))
                await self._changed.wait()

    async def _empty(self, key: Key, places: asyncio.Semaphore) -> None:
        try:
            while notices := self._records.outbox(key):
                await self._deliver(key, notices[0], places)
                await self._records.sent(key, notices[0].id)
        finally:
            self._working.discard(key)
            self._changed.set()

    async def _deliver(self, key: Key, notice: Notice, places: asyncio.Semaphore) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            # Read each time: after a correction of the Secret or the annotation, it is sent.
            tracked = self._find(*key)
            if tracked is None or not tracked.settings.notifications_secret_name:
                return
            try:
                async with places:
                    await self._post(tracked, notice)
                return
            except _LaterError as error:
                reason, after_s = str(error), error.after_s
            except ResponseLostError as error:
                # It may have arrived: once too few is better than twice.
                log.warning("notification may be lost", extra={"workload": tracked.key, "reason": str(error)})
                return
            except (RestError, MissingSecretError) as error:
                reason, after_s = str(error), None
            # A webhook that says "at once" would use up all attempts at once.
            delay_s = after_s or _BACKOFF.delay_s(attempt, random.random())  # noqa: S311
            age_s = time.time() - (epoch_of(notice.time) or 0.0)
            if attempt == _ATTEMPTS or age_s + delay_s > _LONGEST_S:
                log.warning("notification not sent", extra={"workload": tracked.key, "reason": reason})
                return
            await self._sleep(delay_s)

    async def _post(self, tracked: Tracked, notice: Notice) -> None:
        settings = tracked.settings
        name = SecretName(
            settings.notifications_secret_namespace or DEFAULT_NAMESPACE, settings.notifications_secret_name or ""
        )
        secrets = self._secrets()
        # The annotations may be others than those of the pass.
        await self._guard.check(tracked, secrets)
        url = await secrets.text(name, "webhook-url")
        headers = {"Content-Type": "application/json", "Idempotency-Key": notice.id}
        body = encode(body_of(tracked, notice))
        answer = await self._client.send(Request("POST", url, headers=headers, body=body, timeout_s=_TIMEOUT_S))
        if answer.status == 429 or answer.status >= 500:
            raise _LaterError(f"the webhook answered HTTP {answer.status}", retry_after_s(answer.headers, time.time()))
        if not answer.is_success:
            log.warning(
                "notification refused",
                extra={"workload": tracked.key, "reason": f"the webhook answered HTTP {answer.status}"},
            )


def body_of(tracked: Tracked, notice: Notice) -> JsonObject:
    if tracked.annotations.get(FORMAT, "").strip() != _GENERIC:
        # Slack reads <!channel> as a mention of everybody, and <URL|text> as a link.
        return {"text": escape(notice.text, quote=False)}
    return {
        "id": notice.id,
        "time": notice.time,
        "kind": tracked.kind.kind,
        "namespace": tracked.namespace,
        "name": tracked.name,
        "image": tracked.settings.image,
        **{key: value for key, value in msgspec.to_builtins(notice).items() if key not in ("id", "time", "text")},
        "message": notice.text,
    }
