"""What the operator remembers of a workload ends with its ImageUpdate."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from homeostat.operators.images import KINDS
from homeostat.operators.images.api import IMAGE_UPDATE, ImageUpdate
from homeostat.operators.images.engine.annotations import remembered
from homeostat.operators.images.engine.entry import up_to_date
from homeostat.operators.images.records import Records
from homeostat.operators.images.status import Outcome
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.installation import install
from homeostat.runtime.watch.source import Source
from tests.cluster.fixtures import Api


async def test_a_workload_does_not_inherit_the_status_of_a_deleted_one(plane: Api) -> None:
    await install(plane.client, KINDS)
    settings = dict.fromkeys(
        (
            "app_repository",
            "manifest_repository",
            "image_name",
            "deployment_path",
            "ssh_key_name",
            "ssh_key_namespace",
        ),
        "x",
    )
    found = remembered("web", "default", settings | {"enabled": "true"})
    assert found is not None
    tracked = msgspec.structs.replace(found, uid="b5ff7ab4-5d2d-4b0e-8e0e-1f4f4d6f2a11")
    updates = Informers(plane.client).get(Source(IMAGE_UPDATE.kind.path("")), ImageUpdate)
    records = Records(plane.client, updates.cache, lambda *_: None)
    outcome = Outcome(entry=up_to_date(tracked, new="1.0"), reason="UpToDate", tag="1.0")
    await records.keep(tracked, outcome, datetime.now(UTC))
    await records.reported(tracked, "here")
    assert records.of(tracked).tag == "1.0"
    await plane.client.delete(IMAGE_UPDATE.kind.path("default", "web"))
    await records.reported(tracked, "gone")
    assert records.of(tracked).tag == ""
