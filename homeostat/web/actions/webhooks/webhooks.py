"""`/admission-webhooks`: administrators write them, callers with `view_webhooks` read them."""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.external.addresses import UrlError
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import encode
from homeostat.web.actions.webhooks.records import (
    NewWebhook,
    Webhook,
    WebhookChange,
    WebhookFilter,
    changed_spec,
    new_spec,
    webhook_body,
)
from homeostat.web.actions.webhooks.targets import check_target
from homeostat.web.kit.callers import require, require_admin
from homeostat.web.kit.form import read_body, read_number, read_query
from homeostat.web.kit.gate import Gate
from homeostat.web.kit.pages import page_of
from homeostat.web.kit.records.register import Register
from homeostat.web.kit.records.titles import TakenError, add_titled, edit_titled
from homeostat.web.kit.refusal import RefusalError, unknown, unprocessable


class Webhooks:
    def __init__(self, register: Register[Webhook], gate: Gate, *, is_private_allowed: bool) -> None:
        self._webhooks, self._gate, self._is_private_allowed = register, gate, is_private_allowed

    async def create(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        form = await read_body(request, NewWebhook)
        self._check_url(form.webhook_url)
        try:
            made = await add_titled(self._webhooks.acting(caller), "webhook", new_spec(form))
        except TakenError as error:
            raise _taken(error) from error
        return Reply(201, encode(webhook_body(made)))

    async def list(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require(self._gate, request, "view_webhooks")
        wanted = read_query(request, WebhookFilter)
        page, headers = page_of(request, wanted, (each for each in self._webhooks if wanted.takes(each.spec)))
        return Reply(200, encode([webhook_body(each) for each in page]), headers=headers)

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require(self._gate, request, "view_webhooks")
        return Reply(200, encode(webhook_body(self._find(captured))))

    async def change(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        webhook, form = self._find(captured), await read_body(request, WebhookChange)
        if form.webhook_url is not None:
            self._check_url(form.webhook_url)
        try:
            changed = await edit_titled(self._webhooks.acting(caller), webhook, lambda spec: changed_spec(spec, form))
        except TakenError as error:
            raise _taken(error) from error
        except NotFoundError as error:
            raise _unknown() from error
        return Reply(200, encode(webhook_body(changed)))

    async def delete(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        await self._webhooks.acting(caller).remove(self._find(captured))
        return Reply(204)

    def _check_url(self, url: str) -> None:
        try:
            check_target(url, is_private_allowed=self._is_private_allowed)
        except UrlError as error:
            raise unprocessable(("body", "webhook_url"), str(error)) from error

    def _find(self, captured: Mapping[str, str]) -> Webhook:
        found = self._webhooks.find(read_number(captured, "id"))
        if found is None:
            raise _unknown()
        return found


def _taken(title: TakenError) -> RefusalError:
    return RefusalError(409, f"Admission webhook '{title}' already exists")


def _unknown() -> RefusalError:
    return unknown("Admission webhook not found")
