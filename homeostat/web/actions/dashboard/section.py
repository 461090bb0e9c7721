"""The section of resources, of the face that also serves the dashboard."""

from __future__ import annotations

from homeostat.operators.actions.api import GROUP, RESOURCES
from homeostat.web.actions.dashboard.listing import HERE, Listing
from homeostat.web.actions.dashboard.overview import ResourceOverview
from homeostat.web.actions.dashboard.phase_counts import PhaseCounts
from homeostat.web.actions.dashboard.report import ResourceReport
from homeostat.web.actions.dashboard.resource import ResourcePage
from homeostat.web.actions.face import Face
from homeostat.web.dashboard.section import Section


def resource_section(face: Face) -> Section:
    counts, resource = PhaseCounts(face.index), ResourcePage(face)
    return Section(
        title="Resources",
        path=HERE,
        views={HERE: Listing(face, counts).show, f"{HERE}/{{id}}": resource.show},
        forms={f"{HERE}/{{id}}/reconcile": resource.reconcile},
        report=ResourceReport(face, counts).make,
        groups=(GROUP, RESOURCES),
        summary=ResourceOverview(face, counts).show,
    )
