"""`/resources/{id}/logs`: the output of the current or last run of a resource."""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.declared import Metadata
from homeostat.objects.json import encode
from homeostat.operators.actions.api import Resource
from homeostat.operators.actions.runs.last_output import last_output
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.lookup import find_numbered
from homeostat.web.kit.form import read_number


class Logs:
    def __init__(self, face: Face) -> None:
        self._face = face

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, number = await self._face.identify(request), read_number(captured, "id")
        found = await find_numbered(self._face, caller, number, "READ")
        metadata = found.entry.metadata
        resource = Resource(metadata=Metadata(metadata.name, metadata.namespace, metadata.uid))
        output = await last_output(self._face.client, resource, found.entry.read_status())
        body = {
            "resource_id": number,
            "run": output.run,
            "state": output.state,
            "is_running": output.is_running,
            "purpose": output.purpose,
            "trigger_reason": output.trigger,
            "generation": output.generation,
            "started_at": output.started,
            "ended_at": output.ended,
            "error_message": output.error,
            "output": output.text,
            "length": output.length,
        }
        return Reply(200, encode(body))
