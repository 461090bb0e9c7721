"""The webhooks of the `contracts` operator: a push to a repository reconciles the Pactos that refer to it, at once.

The receiver and the operator may run in different processes, and each of them in several replicas. So the receiver
does not call the operator: it sets an annotation of the affected Pactos to a new value, and the leader, wherever it
runs, sees the change. A webhook that is lost costs time and nothing else: the operator asks each registry regularly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.edge.routes import Routes
from homeostat.edge.server import Handler
from homeostat.objects.errors import NotFoundError
from homeostat.objects.roles import READ, rule
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.operators.contracts.api import GROUP, PACTO, REQUESTED
from homeostat.operators.contracts.engine.reference import parse_parts, registry_reference
from homeostat.operators.contracts.live.projections import SeenMetadata
from homeostat.operators.contracts.spec import ContractRef
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.control.failure_conditions import sole_error
from homeostat.runtime.faces.face import FaceRules, Surroundings
from homeostat.runtime.watch.source import Source
from homeostat.web.kit.answering import Answering
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.readiness import wait_ready
from homeostat.web.kit.refusal import RefusalError, refusal_reply
from homeostat.web.receivers.push import ImagePush
from homeostat.web.receivers.receiver import Receiver
from homeostat.web.receivers.rounds import Rounds
from homeostat.web.receivers.secrets import WebhookSecrets, parse_reference, parse_secrets
from homeostat.web.receivers.senders import REGISTRIES

PATH: Final = "/hooks/contracts"
SECRET: Final = "CONTRACTS_WEBHOOK_SECRET"  # noqa: S105
SECRET_REF: Final = "CONTRACTS_WEBHOOK_SECRET_REF"  # noqa: S105
RULES: Final = FaceRules(
    cluster=(rule(GROUP, ["pactos"], [*READ, "patch"]),), namespace=(rule("", ["secrets"], ["get"]),)
)
SETTLE_S: Final = 1.0
"""Distribution reports a manifest before it stores the tag. A request at that moment returns the old tag, or none."""
_HINT: Final = f"set {SECRET}, or {SECRET_REF} to the Secret that has it"
_AT_ONCE: Final = 8
_ALIASES: Final = {"index.docker.io": "docker.io", "registry-1.docker.io": "docker.io"}


Place = tuple[str, str]
"""Registry and repository."""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    contract_ref: ContractRef = ContractRef()


class Referring(msgspec.Struct, frozen=True):
    """A Pacto, as far as webhooks need it."""

    metadata: SeenMetadata
    spec: _Spec = _Spec()

    @property
    def place(self) -> tuple[str, str]:
        """Registry and repository; both empty for an inline contract."""
        ref = self.spec.contract_ref
        if ref.inline or not ref.oci:
            return "", ""
        parts = parse_parts(registry_reference(ref.oci))
        return _host(parts.registry), parts.repository


class PushedContracts:
    """Knows which Pactos refer to which repository, and requests their reconciliation."""

    def __init__(
        self,
        client: Client,
        *,
        within: str = "",
        settle_s: float = SETTLE_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client, self._settle_s, self._now = client, settle_s, now
        self._informers = Informers(client)
        source = Source(PACTO.kind.path(within), skips_status=True)
        self._pactos = self._informers.get(source, Referring, {"repository": _repositories})
        self._rounds: Rounds[Place] = Rounds(self._request)

    async def run(self) -> None:
        await self._informers.run()

    async def close(self) -> None:
        await self._rounds.close()

    async def deliver(self, pushes: Sequence[ImagePush]) -> int:
        """The number of Pactos whose reconciliation was requested."""
        await wait_ready(self._informers.synced())
        known, unknown = list[Place](), list[Place]()
        for each in dict.fromkeys((_host(push.registry), push.repository) for push in pushes):
            (known if self.referring(each) else unknown).append(each)
        # One wait for all that nobody refers to: a webhook may name a thousand of them.
        waiting = [self._late(unknown)] if unknown else []
        return sum(await _all([*map(self._rounds.run, known), *waiting]))

    def referring(self, place: Place) -> list[tuple[str, str]]:
        """Those that refer to this registry; if there are none, those of any registry with this repository.

        A registry knows itself under the name that it was called by. Pactos may call it by another one.
        """
        named = self._pactos.cache.indexed_names("repository", place) if place[0] else []
        return named or self._pactos.cache.indexed_names("repository", place[1])

    async def _late(self, places: Sequence[Place]) -> int:
        """For those that a Pacto refers to by now, which the cache did not have yet."""
        await asyncio.sleep(self._settle_s)
        return sum(await _all([self._rounds.run(each) for each in places if self.referring(each)]))

    async def _request(self, place: Place) -> int:
        await asyncio.sleep(self._settle_s)
        names = self.referring(place)
        patch = {"metadata": {"annotations": {REQUESTED: format_micro_time(self._now())}}}
        places = asyncio.Semaphore(_AT_ONCE)

        async def request(namespace: str, name: str) -> int:
            async with places:
                try:
                    await self._client.merge(PACTO.kind.path(namespace, name), patch)
                except NotFoundError:
                    return 0
                return 1

        return sum(await _all(request(*each) for each in names))


def check_settings(environment: Mapping[str, str]) -> None:
    """Raises `ValueError` for an invalid setting."""
    try:
        parse_secrets(environment.get(SECRET, ""))
    except ValueError as error:
        raise ValueError(f"{SECRET} {error}") from None
    if environment.get(SECRET_REF):
        try:
            parse_reference(environment[SECRET_REF], namespace="default")
        except ValueError as error:
            raise ValueError(f"{SECRET_REF}: {error}") from None


@asynccontextmanager
async def open_hooks(
    client: Client,
    *,
    namespace: str,
    environment: Mapping[str, str],
    is_open: bool,
    within: str = "",
    settle_s: float = SETTLE_S,
    figures: RestFigures | None = None,
) -> AsyncIterator[Handler]:
    check_settings(environment)
    named = environment.get(SECRET_REF, "")
    reference = parse_reference(named, namespace=namespace) if named else None
    seconds = asyncio.get_running_loop().time
    secrets = WebhookSecrets(client, environment, variable=SECRET, reference=reference, seconds=seconds)
    pushed = PushedContracts(client, within=within, settle_s=settle_s)
    receiver = Receiver(REGISTRIES, secrets, pushed.deliver, is_open=is_open, hint=_HINT, seconds=seconds)
    answering = Answering(figures or RestFigures())
    routes = Routes(lambda status, message: refusal_reply(RefusalError(status, message)))
    pattern = f"{PATH}/{{sender}}"
    routes.add("POST", pattern, answering.page(pattern, receiver.receive))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pushed.run())
        try:
            yield partial(answering.handle, routes)
        finally:
            running.cancel()
            await pushed.close()


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    """Opens the face that the operator declares."""
    try:
        async with open_hooks(
            surroundings.client,
            namespace=surroundings.namespace,
            environment=surroundings.environment,
            is_open=surroundings.is_open,
            within=surroundings.within,
            figures=surroundings.figures.once(HookFigures),
        ) as app:
            yield app
    except ExceptionGroup as group:
        raise sole_error(group) from None


class HookFigures(RestFigures):
    prefix = "homeostat_contracts_webhook"
    title = "webhooks of contracts"


async def _all(work: Iterable[Awaitable[int]]) -> list[int]:
    """One that fails is reported when all have ended, and does not keep the others from being carried out."""
    results = await asyncio.gather(*work, return_exceptions=True)
    failed = next((each for each in results if isinstance(each, BaseException)), None)
    if failed is not None:
        raise failed
    return [each for each in results if isinstance(each, int)]


def _repositories(pacto: Referring) -> Iterable[object]:
    host, repository = pacto.place
    return ((host, repository), repository) if repository else ()


def _host(name: str) -> str:
    return _ALIASES.get(name, name)
