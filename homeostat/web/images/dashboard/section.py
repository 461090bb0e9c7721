"""The section of tracked workloads and their image tags."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.kind import DEPLOYMENT
from homeostat.operators.images.api import IMAGE_UPDATE, REQUESTED
from homeostat.operators.images.engine.annotations import PREFIX
from homeostat.operators.images.engine.workloads import ALL
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.trigger import Trigger
from homeostat.web.images.dashboard.findings import ImageFindings
from homeostat.web.images.dashboard.image import ImagePage
from homeostat.web.images.dashboard.images import HERE, TITLE, Images
from homeostat.web.images.dashboard.origins import ImageOrigins
from homeostat.web.images.dashboard.report import ImageReport
from homeostat.web.images.dashboard.updates import TrackedUpdates
from homeostat.web.kit.gate import Question
from homeostat.web.kit.watched import Watched


def open_section(client: Client, within: str = "") -> Section:
    watched = Watched(client, within)
    updates = TrackedUpdates(watched)
    images, image = Images(updates), ImagePage(client, updates)
    one = f"{HERE}/{{namespace}}/{{record}}"
    trigger = Trigger(REQUESTED, given=(f"{PREFIX}enabled", "true"), served=IMAGE_UPDATE.kind)
    questions = tuple(Question(each.group, each.plural, "list") for each in (IMAGE_UPDATE.kind, DEPLOYMENT))
    return Section(
        title=TITLE,
        purpose="Newer tags of images, written to the manifests in Git.",
        path=HERE,
        views={HERE: images.show, one: image.show},
        forms={f"{one}/update": image.request, f"{one}/pin": image.pin, f"{one}/unpin": image.unpin},
        report=ImageReport(updates).make,
        findings=ImageFindings(updates).find,
        origin=ImageOrigins(updates, questions).find,
        groups=(IMAGE_UPDATE.kind.group,),
        triggers={(each.group, each.plural): trigger for each in ALL},
        is_for_administrators=True,
        questions=questions,
        local_questions=questions,
        local_lists=(HERE,),
        run=watched.run,
    )
