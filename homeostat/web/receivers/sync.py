"""The push webhooks of the `sync` operator: a push triggers a fetch of its ResourceRepository.

    POST /hooks/v1/repositorywebhooks/NAMESPACE/NAME    of a RepositoryWebhook
    POST /webhooks/repository/NAMESPACE/NAME            of a ResourceRepository with the deprecated spec.git.webhook

The receiver does not call the operator: it sets annotations of the repository, and the leader, wherever it runs, sees
the change. So it works on every replica. A webhook that is lost costs time and nothing else.

| answer | when |
|---|---|
| 202 `accepted` | the repository will be fetched |
| 202 `suspended`, `duplicate`, `pong`, `ignored`, `filtered` | it is valid, and there is nothing to do |
| 400, 401, 404, 405, 413, 500 | the path or the payload, the proof, the object, the method, the size, the Secret |
| 429 | too many without a valid proof from one address, or too many of one webhook: each causes two writes |
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeVar

import msgspec

from homeostat.client.base import Client
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.edge.server import Handler
from homeostat.external.secrets.scrub import Scrubber
from homeostat.objects.errors import BadRequestError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject, decode_object
from homeostat.objects.kind import Kind
from homeostat.objects.roles import rule
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.sync.api.parts import GROUP, SecretKey
from homeostat.operators.sync.api.repository import (
    RESOURCE_REPOSITORY,
    WEBHOOK_EVENT,
    WEBHOOK_RECEIVED,
    ResourceRepository,
)
from homeostat.operators.sync.api.webhook import HOOKS, REPOSITORY_WEBHOOK, BranchFilter, RepositoryWebhook
from homeostat.operators.sync.credentials.secrets import SecretValueError, SecretValues
from homeostat.operators.sync.dependencies.observe import read_spec
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.glob import matches
from homeostat.operators.sync.validation.environment import Variables
from homeostat.runtime.faces.face import FaceRules, Surroundings
from homeostat.web.kit.answering import Answering
from homeostat.web.kit.large_body import is_in_thread, read_large
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.refusal import RefusalError, refusal_reply, unauthorized, unknown
from homeostat.web.receivers.limits import Deliveries, Rate
from homeostat.web.receivers.receiver import BURST, EVERY_S, FAILURES, FAILURES_EVERY_S
from homeostat.web.receivers.senders import PROVIDERS, Provider
from homeostat.web.receivers.signature import Delivery

T = TypeVar("T")

LEGACY: Final = "/webhooks/repository"
LARGEST_BODY: Final = 1 << 20
RULES: Final = FaceRules(
    cluster=(
        rule(GROUP, ["repositorywebhooks"], ["get"]),
        rule(GROUP, ["repositorywebhooks/status"], ["patch"]),
        rule(GROUP, ["resourcerepositories"], ["get", "patch"]),
        rule("", ["secrets"], ["get"]),
    )
)
_TEXT: Final = "text/plain; charset=utf-8"
_REPEATS_S: Final = 600.0
_MOST_DELIVERIES: Final = 4096
_LONGEST_ID: Final = 256
_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.05
_LONGEST_REF: Final = 4096
_is_label = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII).fullmatch
_is_subdomain = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII).fullmatch
_unsafe = re.compile(r"[^\x21-\x7e]")


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """What a webhook declares, whichever of the two objects declares it."""

    namespace: str
    name: str
    provider: str
    secret: SecretKey
    repository: str
    events: tuple[str, ...] = ("push",)
    branches: BranchFilter = BranchFilter()
    is_suspended: bool = False
    is_legacy: bool = False


class SyncReceiver:
    def __init__(
        self,
        client: Client,
        environment: Mapping[str, str],
        *,
        seconds: Callable[[], float],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._client, self._environment, self._now, self._wall_ns = client, environment, now, wall_ns
        self._deliveries = Deliveries(seconds=seconds, most_kept=_MOST_DELIVERIES, life_s=_REPEATS_S)
        self._failed = Rate(burst=FAILURES, every_s=FAILURES_EVERY_S, seconds=seconds)
        self._accepted = Rate(burst=BURST, every_s=EVERY_S, seconds=seconds)

    async def receive(self, request: Request, captured: Mapping[str, str]) -> Reply:
        return await self._answer(request, await self._hook(*object_name(captured["rest"])))

    async def receive_legacy(self, request: Request, captured: Mapping[str, str]) -> Reply:
        return await self._answer(request, await self._embedded(*object_name(captured["rest"])))

    async def _answer(self, request: Request, hook: Hook) -> Reply:
        if hook.is_suspended:
            return _said("suspended")
        if len(request.body) > LARGEST_BODY:
            raise RefusalError(413, f"the body has {len(request.body)} bytes; at most {LARGEST_BODY} are read")
        provider = PROVIDERS[hook.provider]
        await self._check(request, hook, provider)
        number = _unsafe.sub("", request.headers.get(provider.delivery, ""))[:_LONGEST_ID]
        key = f"{hook.namespace}/{hook.name} {hook.is_legacy} {hook.provider} {number}" if number else ""
        if self._deliveries.is_known(key):
            return _said("duplicate")
        self._check_rate(f"{hook.namespace}/{hook.name} {hook.is_legacy}")
        event, ref = await read_large(request.body, lambda: _read(request, provider), user="hooks")
        word = _meaning(event, ref, hook, provider)
        if word == "accepted":
            await self._request_fetch(hook, number)
        if word in ("accepted", "pong"):
            await self._note(hook, number)
        self._deliveries.remember(key)
        return _said(word)

    def _check_rate(self, key: str) -> None:
        """A signed body can be sent again with other headers, and so with another id of its delivery."""
        wait_s = self._accepted.wait_s(key)
        if wait_s:
            raise RefusalError(429, "too many webhooks; send it again later", (("Retry-After", str(wait_s)),))
        self._accepted.spend(key)

    async def _check(self, request: Request, hook: Hook, provider: Provider) -> None:
        address = request.peer.address
        wait_s = self._failed.wait_s(address)
        if wait_s:
            raise RefusalError(429, "too many webhooks without a valid proof", (("Retry-After", str(wait_s)),))
        try:
            secret = await SecretValues(self._client, hook.namespace, Scrubber()).line(hook.secret)
        except SecretValueError as error:
            raise RefusalError(500, "the secret of this webhook cannot be read") from error
        delivery = Delivery(request.headers, request.query, request.body, self._wall_ns() / 1e9)
        if not provider.prove(delivery, secret):
            self._failed.spend(address)
            raise unauthorized("the signature or the token of this webhook is not valid")

    async def _declared(self, kind: Kind, namespace: str, name: str, type_: type[T]) -> T:
        try:
            found = await self._client.get(kind.path(namespace, name))
        except NotFoundError:
            raise unknown(f"there is no such {kind.kind}") from None
        return msgspec.convert({"metadata": found["metadata"], "spec": found["spec"]}, type_)

    async def _hook(self, namespace: str, name: str) -> Hook:
        declared = await self._declared(REPOSITORY_WEBHOOK.kind, namespace, name, RepositoryWebhook)
        spec = read_spec(declared.spec, self._environment)[0]
        return Hook(
            namespace=namespace,
            name=name,
            provider=spec.provider,
            secret=spec.secret_ref,
            repository=spec.repository_ref.name,
            events=spec.events or ("push",),
            branches=spec.branch_filter or BranchFilter(),
            is_suspended=bool(spec.suspend),
        )

    async def _embedded(self, namespace: str, name: str) -> Hook:
        declared = await self._declared(RESOURCE_REPOSITORY.kind, namespace, name, ResourceRepository)
        git = read_spec(declared.spec, self._environment)[0].git
        if git is None or git.webhook is None:
            raise unknown("the ResourceRepository has no spec.git.webhook")
        return Hook(
            namespace=namespace,
            name=name,
            provider=git.webhook.provider,
            secret=git.webhook.secret_ref,
            repository=name,
            branches=BranchFilter(include=(git.branch,)),
            is_legacy=True,
        )

    async def _request_fetch(self, hook: Hook, number: str) -> None:
        nanoseconds = self._wall_ns()
        moment = datetime.fromtimestamp(nanoseconds // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        annotations = {WEBHOOK_RECEIVED: f"{moment}.{nanoseconds % 10**9:09d}Z", WEBHOOK_EVENT: number}
        patch: JsonObject = {"metadata": {"annotations": annotations}}
        for attempt in range(_ATTEMPTS):
            try:
                await self._client.merge(RESOURCE_REPOSITORY.kind.path(hook.namespace, hook.repository), patch)
                return
            except NotFoundError:
                raise unknown("the ResourceRepository of this webhook does not exist") from None
            except ConflictError:
                # Many webhooks at once write the same object; a sender may not repeat what failed.
                await asyncio.sleep(_PAUSE_S * attempt)
        raise RefusalError(503, "the ResourceRepository is changed too often; send it again", (("Retry-After", "5"),))

    async def _note(self, hook: Hook, number: str) -> None:
        if hook.is_legacy:
            return
        status = {"lastEventTime": format_time(self._now()), "lastDeliveryID": number or None}
        path = REPOSITORY_WEBHOOK.kind.path(hook.namespace, hook.name, "status")
        try:
            await self._client.merge(path, {"status": status})
        except (NotFoundError, ConflictError):
            # Deleted or noted by another webhook meanwhile; the repository is fetched all the same.
            return


def object_name(rest: str) -> tuple[str, str]:
    """Namespace and name; 400 for anything else."""
    parts = rest.strip("/").split("/")
    if len(parts) != 2 or not _is_label(parts[0]) or not _is_subdomain(parts[1]):
        raise RefusalError(400, "expected a namespace and a name at the end of the path")
    return parts[0], parts[1]


def _read(request: Request, provider: Provider) -> tuple[str, str]:
    """The event and the ref that was pushed."""
    event = request.headers.get(provider.event, "")
    if not event:
        raise RefusalError(400, f"the header {provider.event} is missing; is this webhook of another provider?")
    try:
        body = decode_object(request.body, in_pieces=is_in_thread())
    except BadRequestError as error:
        raise RefusalError(400, f"the body is not a JSON object: {error.message}") from error
    ref = body.get("ref", "")
    if event == provider.push and (not isinstance(ref, str) or not ref):
        raise RefusalError(400, "the payload of a push has no ref")
    if isinstance(ref, str) and len(ref) > _LONGEST_REF:
        raise RefusalError(400, f"the ref of the payload has {len(ref)} characters; at most {_LONGEST_REF} are read")
    return event, ref if isinstance(ref, str) else ""


def _meaning(event: str, ref: str, hook: Hook, provider: Provider) -> str:
    if provider.ping and event == provider.ping:
        return "pong" if "ping" in hook.events else "ignored"
    if event != provider.push or "push" not in hook.events:
        return "ignored"
    return "accepted" if is_wanted(ref.removeprefix("refs/heads/"), hook.branches) else "filtered"


def is_wanted(branch: str, branches: BranchFilter) -> bool:
    """Exclude first; without include all others."""
    if any(_matches(each, branch) for each in branches.exclude):
        return False
    return not branches.include or any(_matches(each, branch) for each in branches.include)


def _matches(glob: str, branch: str) -> bool:
    parts, names = glob.split("/"), branch.split("/")
    try:
        return len(parts) == len(names) and all(map(matches, parts, names))
    except ValidationError:
        return False


def _said(word: str) -> Reply:
    return Reply(202, f"{word}\n".encode(), _TEXT)


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    """Opens the face that the operator declares."""
    seconds = asyncio.get_running_loop().time
    receiver = SyncReceiver(surroundings.client, Variables(surroundings.environment), seconds=seconds)
    answering = Answering(surroundings.figures.once(HookFigures))
    routes = Routes(lambda status, message: refusal_reply(RefusalError(status, message)))
    for path, page in ((HOOKS, receiver.receive), (LEGACY, receiver.receive_legacy)):
        pattern = f"{path}/{{rest:path}}"
        routes.add("POST", pattern, answering.page(pattern, page))
    routes.add("GET", "/healthz", lambda *_: Reply(200, b"ok", _TEXT))
    yield partial(answering.handle, routes)


class HookFigures(RestFigures):
    prefix = "homeostat_sync_webhook"
    title = "webhooks of repositories"
