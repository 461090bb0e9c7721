"""The tags that the Pods of a workload run, by its selector."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import POD
from homeostat.objects.views.image import parse_image
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.workloads import CRON_JOB
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.gate import Question

MOST_READ: Final = 500
_ENDED: Final = ("Succeeded", "Failed")


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] = {}


class _Spec(msgspec.Struct, frozen=True):
    selector: _Selector | None = None


class _Workload(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


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


_workload = msgspec.json.Decoder(_Workload)
_pods = msgspec.json.Decoder(_Pods)


async def running_tags(visit: Visit, client: Client, tracked: Tracked) -> Counter[str] | None:
    """How many Pods run which tag, of the first `MOST_READ`; None if that cannot be seen."""
    allowed = await visit.caller.allows(Question(POD.group, POD.plural, "list", tracked.namespace))
    if tracked.kind == CRON_JOB or not allowed:
        return None
    try:
        found = _workload.decode(await client.fetch("GET", tracked.kind.path(tracked.namespace, tracked.name)))
        labels = found.spec.selector.match_labels if found.spec.selector is not None else {}
        if not labels:
            return None
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        query = {"labelSelector": selector, "limit": MOST_READ}
        pods = _pods.decode(await client.fetch("GET", POD.path(tracked.namespace), query)).items or []
    except (ApiError, msgspec.ValidationError):
        return None
    running = [each for each in pods if each.status.phase not in _ENDED]
    return Counter(tag for each in running if (tag := _tag(each, tracked)))


def _tag(pod: _Pod, tracked: Tracked) -> str:
    images = [each.image for each in pod.spec.containers if each.image.startswith(tracked.container)]
    return (parse_image(images[0]).tag or "latest") if images else ""
