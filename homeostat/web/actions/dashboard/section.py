"""The section of resources, of the face that also serves the dashboard."""

from __future__ import annotations

from homeostat.operators.actions.api import GROUP, REQUESTED, RESOURCES
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.web.actions.dashboard.findings import ResourceFindings
from homeostat.web.actions.dashboard.inputs import INPUTS, RUNS, Inputs
from homeostat.web.actions.dashboard.listing import HERE, Listing
from homeostat.web.actions.dashboard.overview import ResourceOverview
from homeostat.web.actions.dashboard.phase_counts import PhaseCounts
from homeostat.web.actions.dashboard.report import ResourceReport
from homeostat.web.actions.dashboard.resource import ResourcePage
from homeostat.web.actions.dashboard.runs import RunsPage
from homeostat.web.actions.dashboard.search import ResourceSearch
from homeostat.web.actions.face import Face
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.trigger import Trigger


def resource_section(face: Face) -> Section:
    counts, resource, inputs = PhaseCounts(face.index, face.walks), ResourcePage(face), Inputs(face)
    runs = RunsPage(face, counts)
    one = f"{HERE}/{{id}}"
    return Section(
        title="Resources",
        purpose="Infrastructure of types that you define, kept by HTTP, programs, Terraform or pipelines.",
        path=HERE,
        pages=(("Runs of resources", RUNS), ("Inputs of resources", INPUTS), ("REST API", "/docs")),
        views={
            HERE: Listing(face, counts).show,
            one: resource.show,
            RUNS: runs.show,
            INPUTS: inputs.show,
            f"{INPUTS}/{{name}}": inputs.show_one,
        },
        forms={
            f"{one}/reconcile": resource.reconcile,
            f"{one}/cancel": resource.cancel,
            f"{one}/pause": resource.pause,
            f"{one}/resume": resource.resume,
        },
        report=ResourceReport(face, counts).make,
        find=ResourceSearch(face).find,
        findings=ResourceFindings(face).find,
        groups=(GROUP, RESOURCES),
        triggers={(RESOURCES, "*"): Trigger(REQUESTED, pause=PAUSE)},
        summary=ResourceOverview(face, counts).show,
        run=runs.run,
    )
