"""The page of the resource that an object of a resource type's kind is, or of a ResourceInput."""

from __future__ import annotations

from homeostat.operators.actions.api import ID, RESOURCES
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.web.actions.dashboard.inputs import INPUTS
from homeostat.web.actions.dashboard.listing import HERE
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.entry import phase_of
from homeostat.web.dashboard.finding import Finding, Subject
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.records.ids import number_in


class ResourceFindings:
    def __init__(self, face: Face) -> None:
        self._face = face

    async def find(self, visit: Visit, subject: Subject) -> list[Finding]:
        if subject.namespace != self._face.namespace:
            return []
        if subject.is_of(RESOURCE_INPUT.kind):
            return [Finding(subject.name, f"{INPUTS}/{subject.name}")]
        if subject.kind.group != RESOURCES:
            return []
        labels = subject.whole.get("metadata", {}).get("labels") or {}
        found = self._face.index.find(number_in(str(labels.get(ID, ""))))
        type_ = self._face.index.type_of(found) if found is not None else None
        if found is None or type_ is None or found.entry.metadata.name != subject.name:
            return []
        if not await visit.caller.may(type_.spec.name, type_.spec.version, "READ"):
            return []
        status = found.entry.read_status()
        phase = phase_of(found.entry, status)
        return [Finding(subject.name, f"{HERE}/{found.entry.number}", phase, f"phase-{phase}", status.message)]
