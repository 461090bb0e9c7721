"""Receives webhooks: limits, proof, payload, and then the work that a push causes.

    receiver = Receiver(REGISTRIES, secrets, deliver, is_open=False)
    routes.add("POST", "/hooks/contracts/{sender}", receiver.receive)

Promises, each with a test: nothing of a payload is used before its sender has proven itself; who fails to is slowed
down; an answer of 2xx says that all affected objects were notified, so a sender that repeats failed deliveries loses
none; a repeated delivery does nothing.

A replay that reaches another replica, or comes from a sender whose deliveries have no id, causes one more
reconciliation and nothing else: a webhook says what changed where, and its content is never trusted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Generic

from homeostat.edge.loopback import refusal_of
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import decode_object, encode
from homeostat.web.kit.large_body import is_in_thread, read_large
from homeostat.web.kit.refusal import RefusalError, forbidden, unauthorized, unknown
from homeostat.web.receivers.limits import Deliveries, Rate
from homeostat.web.receivers.push import PayloadError
from homeostat.web.receivers.secrets import UnavailableError, WebhookSecrets
from homeostat.web.receivers.senders import P, Sender
from homeostat.web.receivers.signature import Delivery, is_proven

log = logging.getLogger(__name__)
LARGEST_BODY: Final = 1 << 20
DELIVER_WITHIN_S: Final = 10.0
BURST: Final = 100
EVERY_S: Final = 0.1
"""Webhooks of one sender: a burst, and then ten a second."""
FAILURES: Final = 10
FAILURES_EVERY_S: Final = 6.0
"""Webhooks without a valid proof from one address."""
_LONGEST_ID: Final = 256
"""Of a delivery; thousands are kept. One with a longer id counts as one without."""


class Receiver(Generic[P]):
    """`deliver` notifies the affected objects, and returns how many there were. `is_open` accepts webhooks without a
    proof where no secret is configured: for a server on loopback only.
    """

    def __init__(
        self,
        senders: Mapping[str, Sender[P]],
        secrets: WebhookSecrets,
        deliver: Callable[[Sequence[P]], Awaitable[int]],
        *,
        is_open: bool,
        hint: str = "",
        seconds: Callable[[], float] = time.monotonic,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        self._senders, self._secrets, self._deliver = senders, secrets, deliver
        self._is_open, self._hint, self._wall_s = is_open, hint, wall_s
        self._accepted = Rate(burst=BURST, every_s=EVERY_S, seconds=seconds)
        self._failed = Rate(burst=FAILURES, every_s=FAILURES_EVERY_S, seconds=seconds)
        self._deliveries = Deliveries(seconds=seconds)

    async def receive(self, request: Request, captured: Mapping[str, str]) -> Reply:
        name = captured["sender"]
        sender = self._senders.get(name)
        if sender is None:
            raise unknown(f'there is no sender "{name}"; there are: {", ".join(sorted(self._senders))}')
        if len(request.body) > LARGEST_BODY:
            raise RefusalError(413, f"the body has {len(request.body)} bytes; at most {LARGEST_BODY} are read")
        await self._check_proof(request, sender)
        _check_rate(self._accepted, name)
        self._accepted.spend(name)
        given = request.headers.get(sender.delivery, "")
        number = f"{name} {given}" if 0 < len(given) <= _LONGEST_ID else ""
        if self._deliveries.is_known(number):
            return Reply(200, encode({"pushes": 0, "notified": 0, "repeated": True}))
        pushes = await read_large(request.body, lambda: _read(sender, request), user="hooks")
        notified = await self._notify(name, pushes) if pushes else 0
        self._deliveries.remember(number)
        return Reply(202 if pushes else 200, encode({"pushes": len(pushes), "notified": notified}))

    async def _check_proof(self, request: Request, sender: Sender[P]) -> None:
        if self._is_open and not self._secrets.is_configured:
            refused = refusal_of(request.method, request.headers)
            if refused:
                raise forbidden(refused)
            return
        if not self._secrets.is_configured:
            raise forbidden(f"no secret is configured for webhooks; {self._hint}")
        address = request.peer.address
        _check_rate(self._failed, address)
        try:
            secrets = await self._secrets.get()
        except UnavailableError as error:
            log.error("cannot read secret of webhooks", extra={"reason": str(error)})
            raise RefusalError(503, "the secret of webhooks cannot be read; see the log", _RETRY) from error
        delivery = Delivery(request.headers, request.query, request.body, self._wall_s())
        if not is_proven(sender.prove, delivery, secrets):
            self._failed.spend(address)
            raise unauthorized("the signature or the token of this webhook is not valid")

    async def _notify(self, name: str, pushes: Sequence[P]) -> int:
        try:
            async with asyncio.timeout(DELIVER_WITHIN_S):
                notified = await self._deliver(pushes)
        except TimeoutError:
            message = f"timed out after {DELIVER_WITHIN_S:g} s; send it again"
            raise RefusalError(503, message, _RETRY) from None
        log.info("received webhook", extra={"sender": name, "pushes": len(pushes), "notified": notified})
        return notified


_RETRY: Final = (("Retry-After", "10"),)


def _check_rate(rate: Rate, key: str) -> None:
    wait_s = rate.wait_s(key)
    if wait_s:
        raise RefusalError(429, "too many webhooks; send it again later", (("Retry-After", str(wait_s)),))


def _read(sender: Sender[P], request: Request) -> list[P]:
    try:
        return sender.read(request.headers, decode_object(request.body, in_pieces=is_in_thread()))
    except BadRequestError as error:
        raise RefusalError(400, error.message) from error
    except PayloadError as error:
        raise RefusalError(422, str(error)) from error
