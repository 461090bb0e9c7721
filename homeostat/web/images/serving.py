"""Opens the HTTP API of image updates over the operator of this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from homeostat.edge.server import Handler
from homeostat.operators.images.api import IMAGE_UPDATE
from homeostat.operators.images.engine.workloads import ALL, ROLLOUT
from homeostat.operators.images.service import ImageService
from homeostat.runtime.faces.face import Surroundings
from homeostat.runtime.presence import has_objects
from homeostat.web.images.app import images_app
from homeostat.web.images.metrics import HttpFigures
from homeostat.web.kit.gate import Gate, OpenGate, Question
from homeostat.web.kit.review_gate import Kinds, ReviewGate

_FACE = "images"


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    def service() -> ImageService | None:
        found = surroundings.offered(_FACE)
        return found if isinstance(found, ImageService) else None

    async def is_asleep() -> bool:
        """Whether there is no workload at all, so that the operator has not been started."""
        return service() is None and not await has_objects(surroundings.client, ALL, if_served=(ROLLOUT,))

    gate: Gate = OpenGate() if surroundings.is_open else _review_gate(surroundings)
    yield images_app(service, is_asleep, gate, surroundings.figures.once(HttpFigures))


def _review_gate(surroundings: Surroundings) -> Gate:
    kind = IMAGE_UPDATE.kind
    manage = Question(kind.group, kind.plural, "patch")
    kinds = Kinds(of_type=lambda *_: (kind.group, kind.plural), permissions={"manage_types": manage})
    return ReviewGate(surroundings.client, namespace="", kinds=kinds)
