"""Calls the admission webhooks of a write.

Mutating webhooks are called one after the other, in the order of their configurations' names, each with the object that
the ones before returned. If a later one changes the object, those with the reinvocation policy `IfNeeded` are called
once more. Validating webhooks are called in parallel; of several denials the first in order is reported.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from homeostat.cel import Budget
from homeostat.edge.threads import in_thread
from homeostat.edge.turn import Turn
from homeostat.objects.errors import ApiError, BadRequestError, InternalError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.patch.json import json_patch
from homeostat.server.admission.attempt import Attempt
from homeostat.server.admission.expressions import QUICK_COST, ExpressionError, bindings_of, evaluated
from homeostat.server.admission.match import Narrowed
from homeostat.server.admission.patched import conform
from homeostat.server.admission.webhooks.client import CallError, WebhookClient, address_of
from homeostat.server.admission.webhooks.review import AnswerError, Verdict, review_of, verdict_of
from homeostat.server.admission.webhooks.webhook import Matched, Webhook
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.offload import LARGE_BYTES, is_heavy, is_large

log = logging.getLogger(__name__)

_REPORT_EVERY_S = 10.0
_MOST_REPORTED = 1000
_LONGEST_REASON = 4096
_QUICK_ANSWER = 16 * 1024
"""A larger one is read in a thread."""


@dataclass(slots=True)
class Reported:
    """When a failure of a webhook was logged, and how many were not logged since."""

    at: float
    omitted: int = 0


class Webhooks:
    """Calls webhooks for attempts."""

    def __init__(self, client: WebhookClient) -> None:
        self._client = client
        self._reported: dict[str, Reported] = {}

    async def mutate(
        self, attempt: Attempt, webhooks: Sequence[Matched]
    ) -> tuple[Attempt, list[Webhook], set[Webhook]]:
        """The attempt after the webhooks, the same value if none changed it; those called, and those to call again."""
        asked: list[Webhook] = []
        again: set[Webhook] = set()
        turn = Turn()
        for webhook, narrowed in webhooks:
            await turn.pause()
            changed = await self._mutate_once(attempt, webhook, narrowed, asked)
            if changed is not attempt:
                # Webhooks called before have not seen this change.
                again.update(each for each in asked[:-1] if each.is_reinvoked)
            attempt = changed
        return attempt, asked, again

    async def mutate_again(self, attempt: Attempt, webhooks: Sequence[Matched], again: set[Webhook]) -> Attempt:
        for webhook, narrowed in webhooks:
            if webhook in again:
                attempt = await self._mutate_once(attempt, webhook, narrowed, [])
        return attempt

    async def _mutate_once(
        self, attempt: Attempt, webhook: Webhook, narrowed: Narrowed, asked: list[Webhook]
    ) -> Attempt:
        kind = await concerned_kind(attempt, webhook, narrowed)
        if kind is None:
            return attempt
        asked.append(webhook)
        verdict = await self._ask(attempt, webhook, kind, may_patch=True)
        if verdict is None or not verdict.operations:
            return attempt
        return await _patched(attempt, webhook, kind, verdict)

    async def validate(self, attempt: Attempt, webhooks: Sequence[Matched]) -> None:
        """Raise the denial of the first webhook that denies the write."""
        calls: list[Callable[[], Awaitable[Verdict | None]]] = []
        turn = Turn()
        for webhook, narrowed in webhooks:
            kind = await concerned_kind(attempt, webhook, narrowed)
            await turn.pause()
            if kind is not None:
                calls.append(self._question(attempt, webhook, kind))
        if len(calls) <= 1:
            for call in calls:
                await call()
            return
        asking: list[asyncio.Future[Verdict | None]] = []
        try:
            for call in calls:
                asking.append(asyncio.ensure_future(call()))
                await turn.pause()
            outcomes = await asyncio.gather(*asking, return_exceptions=True)
        except BaseException:
            for each in asking:
                each.cancel()
            raise
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    def _question(self, attempt: Attempt, webhook: Webhook, kind: Kind) -> Callable[[], Awaitable[Verdict | None]]:
        return lambda: self._ask(attempt, webhook, kind, may_patch=False)

    async def _ask(self, attempt: Attempt, webhook: Webhook, kind: Kind, *, may_patch: bool) -> Verdict | None:
        """The webhook's decision; None if it failed and its failure policy is Ignore. Raises its denial."""
        if attempt.is_dry_run and not webhook.allows_dry_run:
            raise BadRequestError(f'admission webhook "{webhook.name}" does not support dry run')
        try:
            verdict = await self._call(attempt, webhook, kind, may_patch=may_patch)
        except (CallError, AnswerError) as error:
            failure = f'failed calling webhook "{webhook.name}": {error}'
            if webhook.fails:
                raise InternalError(f"Internal error occurred: {failure}") from error
            self._report(webhook, error)
            return None
        for warning in verdict.warnings:
            if warning.isprintable() and warning:  # As in Kubernetes; a header cannot hold the others.
                attempt.warn(warning)
        for key, value in verdict.annotations.items():
            attempt.call.annotate(f"{webhook.name}/{key}", value)
        if verdict.refusal is not None:
            raise verdict.refusal
        return verdict

    def _report(self, webhook: Webhook, error: Exception) -> None:
        """Log ignored failures: of one webhook once in a while, with the number of those in between."""
        now = asyncio.get_running_loop().time()
        last = self._reported.get(webhook.name)
        if last is not None and now < last.at + _REPORT_EVERY_S:
            last.omitted += 1
            return
        if len(self._reported) >= _MOST_REPORTED:
            self._reported.clear()
        self._reported[webhook.name] = Reported(now)
        log.warning(
            "webhook failed; ignoring it (failurePolicy Ignore)",
            extra={"webhook": webhook.name, "why": str(error), "omitted": last.omitted if last else 0},
        )

    async def _call(self, attempt: Attempt, webhook: Webhook, kind: Kind, *, may_patch: bool) -> Verdict:
        if not webhook.accepts_v1:
            raise CallError(
                "the webhook does not accept AdmissionReview v1, the only version that this server supports"
            )
        call = attempt.call
        uid = call.backend.new_uid()
        try:
            address = address_of(webhook.endpoint, call.store)
            async with self._client.post(
                address,
                webhook.endpoint.authorities,
                partial(review_of, attempt, kind, uid, may_patch=may_patch),
                timeout_s=webhook.timeout_s,
                large_for=call.user.name if is_large(call) or is_heavy(attempt.obj) else "",
            ) as answer:
                read = partial(verdict_of, answer, webhook=webhook.name, uid=uid, may_patch=may_patch)
                return await in_thread(read, user=call.user.name) if len(answer) > _QUICK_ANSWER else read()
        except CallError as error:
            raise CallError(f"failed to call webhook: {error}") from error
        except AnswerError as error:
            raise AnswerError(f"received invalid webhook response: {error}") from error


async def concerned_kind(attempt: Attempt, webhook: Webhook, narrowed: Narrowed) -> Kind | None:
    """The kind whose version the webhook sees; None if it does not match the attempt."""
    kind = narrowed.kind_for(attempt)
    if kind is not None:
        await attempt.convert(kind)
    if kind is None or not webhook.conditions:
        return kind
    if not webhook.conditions.is_compiled:
        await in_thread(webhook.conditions.compile, user=attempt.call.user.name)
    try:
        check = partial(webhook.conditions.hold, bindings_of(attempt, kind, webhook.conditions.uses))
        holds = await evaluated(check, Budget(QUICK_COST), user=attempt.call.user.name)
    except ExpressionError as error:
        raise attempt.call.forbidden(str(error), attempt.name) from error
    return kind if holds else None


async def _patched(attempt: Attempt, webhook: Webhook, kind: Kind, verdict: Verdict) -> Attempt:
    """The attempt after a webhook's patch, with the object checked again; the same one if nothing changed."""
    before = attempt.object_as(kind)
    if before is None:
        raise InternalError(
            f'Internal error occurred: admission webhook "{webhook.name}" attempted to modify the object, '
            "which is not supported for this operation"
        )
    call = attempt.call
    work = partial(_changed, before, verdict.operations, kind, call.subresource)
    try:
        is_slow = is_large(call) or verdict.size >= LARGE_BYTES or is_heavy(before)
        after = await in_thread(work, user=call.user.name) if is_slow else work()
    except ApiError as error:
        raise InternalError(
            f'Internal error occurred: the patch of admission webhook "{webhook.name}" cannot be applied: '
            f"{error.message[:_LONGEST_REASON]}"
        ) from error
    return attempt if after is None else await attempt.with_object(after, kind)


def _changed(before: JsonObject, operations: list[Json], kind: Kind, subresource: str) -> JsonObject | None:
    """The object after a patch; None if it is the same."""
    after = json_patch(before, operations)
    if after == before:
        return None
    conform(after, kind, subresource)
    return cast("JsonObject", after)
