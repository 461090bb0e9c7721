"""The section of all objects: for administrators and for users of the Kubernetes API, with their own permissions."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.client.base import Client
from homeostat.web.dashboard.objects.bulk.page import BulkPage
from homeostat.web.dashboard.objects.bulk.selection import MOST_FIELDS
from homeostat.web.dashboard.objects.findings import Findings
from homeostat.web.dashboard.objects.forms.create import CREATE, CreatePage
from homeostat.web.dashboard.objects.forms.delete import DeletePage
from homeostat.web.dashboard.objects.forms.edit import EditPage
from homeostat.web.dashboard.objects.forms.manifest import LARGEST_FORM
from homeostat.web.dashboard.objects.index import TITLE, Index
from homeostat.web.dashboard.objects.kinds import HERE, ServedKinds
from homeostat.web.dashboard.objects.listing import Listing
from homeostat.web.dashboard.objects.logs import PAGE as LOGS
from homeostat.web.dashboard.objects.logs import LogsPage
from homeostat.web.dashboard.objects.object import ObjectPage
from homeostat.web.dashboard.objects.rollback.page import PAGE, RollbackPage
from homeostat.web.dashboard.section import Section


def objects_section(client: Client, kinds: ServedKinds, sections: Sequence[Section] = ()) -> Section:
    """`sections` are the others, whose pages about an object its page links to."""
    of_kind = f"{HERE}/{{group}}/{{plural}}"
    one = f"{of_kind}/{{namespace}}/{{name}}"
    create, edit, delete = CreatePage(client, kinds), EditPage(client, kinds), DeletePage(client, kinds)
    origins = [each.origin for each in sections if each.origin is not None]
    bulk = BulkPage(client, kinds, {place: each for section in sections for place, each in section.triggers.items()})
    rollback = RollbackPage(client, kinds, origins)
    return Section(
        title=TITLE,
        path=HERE,
        pages=(("Create object", CREATE),),
        views={
            HERE: Index(client, kinds).show,
            CREATE: create.show,
            of_kind: Listing(client, kinds, bulk.offered).show,
            one: ObjectPage(client, kinds, Findings(sections)).show,
            f"{one}/edit": edit.show,
            f"{one}/delete": delete.show,
            f"{one}/{PAGE}": rollback.show,
            f"{one}/{LOGS}": LogsPage(client, kinds).show,
        },
        forms={
            CREATE: create.take,
            f"{one}/edit": edit.take,
            f"{one}/delete": delete.take,
            f"{one}/{PAGE}": rollback.take,
            f"{of_kind}/bulk": bulk.take,
        },
        largest_form=LARGEST_FORM,
        most_fields={f"{of_kind}/bulk": MOST_FIELDS},
        is_for_cluster_users=True,
    )
