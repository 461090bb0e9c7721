"""The tags that the Pods of a workload run, by its selector."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import POD
from homeostat.objects.views.image import parse_image
from homeostat.web.dashboard.visit import Visit
from homeostat.web.images.dashboard.update import Update
from homeostat.web.kit.gate import Question

MOST_READ: Final = 500
_ENDED: Final = ("Succeeded", "Failed")


class _Container(msgspec.Struct, frozen=True):
    image: str = ""


class _PodSpec(msgspec.Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _PodStatus(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


class _Pods(msgspec.Struct, frozen=True):
    items: list[_Pod] | None = None


_pods = msgspec.json.Decoder(_Pods)


async def running_tags(visit: Visit, client: Client, update: Update) -> Counter[str] | None:
    """How many Pods run which tag, of the first `MOST_READ`; None if that cannot be seen."""
    tracked, labels = update.tracked, update.pod_labels
    allowed = await visit.caller.allows(Question(POD.group, POD.plural, "list", tracked.namespace))
    if not labels or not allowed:
        return None
    selector = ",".join(f"{name}={value}" for name, value in labels.items())
    query = {"labelSelector": selector, "limit": MOST_READ}
    try:
        pods = _pods.decode(await client.fetch("GET", POD.path(tracked.namespace), query)).items or []
    except (ApiError, msgspec.ValidationError):
        return None
    running = [each for each in pods if each.status.phase not in _ENDED]
    repository = parse_image(tracked.container).repository
    return Counter(tag for each in running if (tag := _tag(each, repository)))


def _tag(pod: _Pod, repository: str) -> str:
    images = [parse_image(each.image) for each in pod.spec.containers]
    return next((each.tag or "latest" for each in images if each.repository == repository), "")
