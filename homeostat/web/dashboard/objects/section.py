"""The section of all objects: for administrators and for users of the Kubernetes API, with their own permissions."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.web.dashboard.objects.index import TITLE, Index
from homeostat.web.dashboard.objects.kinds import HERE, ServedKinds
from homeostat.web.dashboard.objects.listing import Listing
from homeostat.web.dashboard.section import Section


def objects_section(client: Client, kinds: ServedKinds) -> Section:
    of_kind = f"{HERE}/{{group}}/{{plural}}"
    return Section(
        title=TITLE,
        path=HERE,
        views={HERE: Index(client, kinds).show, of_kind: Listing(client, kinds).show},
        is_for_cluster_users=True,
    )
