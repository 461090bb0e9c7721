"""The webhooks of the `images` operator: a push to an application's repository, or of its image, starts a pass.

The receiver calls the operator of its own process. A process that does not lead answers 503, so that the sender, or
the Service before several replicas, tries another one. A webhook that is lost costs time and nothing else: passes also
run at an interval.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from homeostat.edge.routes import Routes
from homeostat.edge.server import Handler
from homeostat.objects.roles import rule
from homeostat.objects.views.image import parse_image
from homeostat.operators.images.batching.scheduler import NotLeadingError
from homeostat.operators.images.engine.annotations import PREFIX, Tracked
from homeostat.operators.images.engine.origin import origin_of
from homeostat.operators.images.service import ImageService
from homeostat.runtime.faces.face import FaceRules, Surroundings
from homeostat.web.kit.answering import Answering
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.refusal import RefusalError, refusal_reply
from homeostat.web.receivers.push import GitPush, ImagePush
from homeostat.web.receivers.receiver import Receiver
from homeostat.web.receivers.secrets import WebhookSecrets, parse_reference, parse_secrets
from homeostat.web.receivers.senders import FORGES, REGISTRIES

PATH: Final = "/hooks/images"
SECRET: Final = "IMAGES_WEBHOOK_SECRET"  # noqa: S105
SECRET_REF: Final = "IMAGES_WEBHOOK_SECRET_REF"  # noqa: S105
RULES: Final = FaceRules(namespace=(rule("", ["secrets"], ["get"]),))
_FACE: Final = "image-hooks"
_HINT: Final = f"set {SECRET}, or {SECRET_REF} to the Secret that has it"
_RETRY: Final = (("Retry-After", "10"),)


def check_settings(environment: Mapping[str, str]) -> None:
    """Raises `ValueError` for an invalid setting."""
    try:
        parse_secrets(environment.get(SECRET, ""))
        if environment.get(SECRET_REF):
            parse_reference(environment[SECRET_REF], namespace="default")
    except ValueError as error:
        raise ValueError(f"{SECRET}, {SECRET_REF}: {error}") from None


Matches = Callable[[Tracked], bool]


def matching_commits(pushes: Iterable[GitPush]) -> Matches:
    """Whether one of the pushes moved the branch that a Deployment follows; a merged request moves that of its
    manifests. What was pushed is looked up: there may be thousands of Deployments, and a webhook has many pushes.
    """
    pushed = {(each.branch, origin_of(url)) for each in pushes for url in each.urls}

    def matches(tracked: Tracked) -> bool:
        settings = tracked.settings
        followed = [settings.app_repository]
        if tracked.annotations.get(f"{PREFIX}delivery", "").strip() == "pull-request":
            followed.append(settings.manifest_repository)
        return any((settings.observe_branch, origin_of(each)) in pushed for each in followed)

    return matches


def matching_images(pushes: Iterable[ImagePush]) -> Matches:
    """Registries know themselves by other names than their users, so an unknown one matches by the path."""
    pushed = {(each.registry, each.repository) for each in pushes}

    def matches(tracked: Tracked) -> bool:
        image = parse_image(tracked.settings.image)
        return not pushed.isdisjoint(((image.registry, image.path), ("", image.path)))

    return matches


class Pushes:
    def __init__(self, service: Callable[[], ImageService | None]) -> None:
        self._service = service

    async def commits(self, pushes: Sequence[GitPush]) -> int:
        return await self._trigger(matching_commits(pushes))

    async def images(self, pushes: Sequence[ImagePush]) -> int:
        return await self._trigger(matching_images(pushes))

    async def _trigger(self, matches: Matches) -> int:
        service = self._service()
        if service is None:
            # No Deployment has woken the operator, so none follows anything.
            return 0
        try:
            return await service.trigger(matches)
        except NotLeadingError as error:
            raise RefusalError(503, str(error), _RETRY) from error


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    """Opens the face that the operator declares."""
    environment = surroundings.environment
    check_settings(environment)
    named = environment.get(SECRET_REF, "")
    reference = parse_reference(named, namespace=surroundings.namespace) if named else None
    seconds = asyncio.get_running_loop().time
    secrets = WebhookSecrets(surroundings.client, environment, variable=SECRET, reference=reference, seconds=seconds)

    def service() -> ImageService | None:
        found = surroundings.offered(_FACE)
        return found if isinstance(found, ImageService) else None

    pushes = Pushes(service)
    answering = Answering(surroundings.figures.once(HookFigures))
    routes = Routes(lambda status, message: refusal_reply(RefusalError(status, message)))
    is_open = surroundings.is_open
    commits = Receiver(FORGES, secrets, pushes.commits, is_open=is_open, hint=_HINT, seconds=seconds)
    images = Receiver(REGISTRIES, secrets, pushes.images, is_open=is_open, hint=_HINT, seconds=seconds)
    for kind, page in (("git", commits.receive), ("registry", images.receive)):
        pattern = f"{PATH}/{kind}/{{sender}}"
        routes.add("POST", pattern, answering.page(pattern, page))
    yield partial(answering.handle, routes)


class HookFigures(RestFigures):
    prefix = "homeostat_images_webhook"
    title = "webhooks of image updates"
