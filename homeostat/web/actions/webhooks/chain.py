"""Calls webhooks one after the other: mutating ones by their order, then validating ones.

Each gets the spec with the changes of those before it; the first denial ends the chain. If a webhook times out or its
answer is invalid, its failure policy decides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from homeostat.external.addresses import UrlError
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request
from homeostat.objects.json import JsonObject
from homeostat.web.actions.webhooks.answer import NoAnswerError, Verdict, concerns, question, read_answer
from homeostat.web.actions.webhooks.api import RestWebhookSpec
from homeostat.web.actions.webhooks.patches import PatchError, apply_patches
from homeostat.web.actions.webhooks.targets import check_target
from homeostat.web.kit.refusal import forbidden

if TYPE_CHECKING:
    from homeostat.external.rest.client import RestClient

log = logging.getLogger(__name__)

_LARGEST_ANSWER = 4 << 20
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_TURNS = {"mutating": 0, "validating": 1}


class Chain:
    """Implements `Hooks` with the current webhooks. Must be closed."""

    def __init__(self, webhooks: Callable[[], Iterable[RestWebhookSpec]], *, is_private_allowed: bool = False) -> None:
        self._webhooks, self._is_private_allowed = webhooks, is_private_allowed
        self._opened: RestClient | None = None

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def admit(self, operation: str, resource: JsonObject, old: JsonObject | None) -> JsonObject:
        asked = [each for each in self._webhooks() if concerns(each, operation, resource)]
        for hook in sorted(asked, key=lambda each: (_TURNS[each.type], each.ordering, each.name)):
            verdict = await self._ask(hook, question(operation, resource, old))
            if not verdict.is_allowed:
                raise forbidden(verdict.denial(hook))
            if hook.type == "mutating" and verdict.patches:
                resource = {**resource, "spec": _patched(resource["spec"], hook, verdict)}
        spec: JsonObject = resource["spec"]
        return spec

    async def _ask(self, hook: RestWebhookSpec, body: bytes) -> Verdict:
        try:
            check_target(hook.url, is_private_allowed=self._is_private_allowed)
            ask = Request("POST", hook.url, _HEADERS, body, timeout_s=hook.timeout_seconds, largest=_LARGEST_ANSWER)
            return read_answer(await self._http().send(ask))
        except (RestError, NoAnswerError, UrlError) as error:
            if hook.failure_policy == "Ignore":
                log.warning(
                    "webhook failed; ignoring it (failure policy)", extra={"webhook": hook.name, "error": str(error)}
                )
                return Verdict(is_allowed=True)
            log.warning("webhook failed", extra={"webhook": hook.name, "error": str(error)})
            raise forbidden(f'the {hook.type} webhook "{hook.name}" failed: {error}') from error

    def _http(self) -> RestClient:
        """Opened for the first call: most planes have no webhooks."""
        if self._opened is None:
            from homeostat.external.rest.client import RestClient
            from homeostat.external.rest.settings import RestSettings

            # Without a circuit breaker: for each call only the failure policy of the webhook decides.
            self._opened = RestClient(RestSettings(allows_private=self._is_private_allowed, breaker=None))
        return self._opened


def _patched(spec: JsonObject, hook: RestWebhookSpec, verdict: Verdict) -> JsonObject:
    try:
        return apply_patches(spec, verdict.patches or ())
    except PatchError as error:
        raise forbidden(f'the mutating webhook "{hook.name}" returned an invalid patch: {error}') from error
