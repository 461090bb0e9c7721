"""GET and LIST of kinds whose objects are computed when they are read, such as metrics: no history, no pages."""

from __future__ import annotations

from homeostat.edge.threads import in_thread
from homeostat.objects.errors import BadRequestError, NotFoundError
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.selectors import FieldTerm, parse_fields, parse_labels
from homeostat.server.request.call import Answer, Call
from homeostat.server.view.answer import many, one, rendered, table_of

_FIELDS = ("metadata.name", "metadata.namespace")
_MANY = 2_000
"""More objects are selected and encoded in a thread."""


async def read_computed(call: Call) -> Answer:
    kind = call.kind
    assert kind.compute is not None
    objects = await kind.compute(call.namespace)
    if call.name:
        found = next((each for each in objects if each["metadata"]["name"] == call.name), None)
        if found is None:
            raise NotFoundError(f'{kind.group_resource} "{call.name}" not found', kind=kind.plural, name=call.name)
        return one(call, encode(found))

    def body() -> bytes:
        listed = _listed(call, _selected(call, objects))
        return rendered(listed, call.representation) if call.representation.encoding == "protobuf" else encode(listed)

    return await many(call, await in_thread(body, user=call.user.name) if len(objects) > _MANY else body())


def _listed(call: Call, items: list[JsonObject]) -> JsonObject:
    match call.representation.form:
        case "table":
            return table_of(call, items, "")
        case "partial":
            version = f"meta.k8s.io/{call.representation.version}"
            whose = [
                {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": each["metadata"]} for each in items
            ]
            return {"kind": "PartialObjectMetadataList", "apiVersion": version, "metadata": {}, "items": whose}
    return {"kind": f"{call.kind.kind}List", "apiVersion": call.kind.api_version, "metadata": {}, "items": items}


def _selected(call: Call, objects: list[JsonObject]) -> list[JsonObject]:
    if call.options.label_selector:
        labels = parse_labels(call.options.label_selector)
        objects = [each for each in objects if labels.matches(each["metadata"].get("labels") or {})]
    for term in parse_fields(call.options.field_selector) if call.options.field_selector else ():
        objects = [each for each in objects if _holds(call, term, each["metadata"])]
    return objects


def _holds(call: Call, term: FieldTerm, metadata: JsonObject) -> bool:
    if term.field not in _FIELDS:
        known = ", ".join(_FIELDS)
        raise BadRequestError(f'field label not supported: "{term.field}"; {call.kind.group_resource} have: {known}')
    return (metadata.get(term.field.removeprefix("metadata."), "") == term.value) is term.equal
