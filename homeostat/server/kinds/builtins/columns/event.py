"""The columns of Events, the same for both API groups."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import UNKNOWN, since
from homeostat.server.kinds.builtins.columns.column import Cell, Column, Printer, name_of, shown, wide
from homeostat.server.kinds.builtins.convert import event_to_core
from homeostat.server.kinds.builtins.members import integer, struct, text


def _event(obj: JsonObject) -> list[Cell]:
    if text(obj, "apiVersion") == "events.k8s.io/v1":
        obj = event_to_core(obj)
    first, last = _seen(obj)
    about = struct(obj, "involvedObject")
    kind, name = text(about, "kind").lower(), text(about, "name")
    series = obj.get("series")
    return [
        last,
        text(obj, "type"),
        text(obj, "reason"),
        f"{kind}/{name}" if name else kind,
        text(about, "fieldPath"),
        _source(obj),
        text(obj, "message").strip(),
        first,
        integer(series, "count") if isinstance(series, dict) else integer(obj, "count") or 1,
        name_of(obj),
    ]


def _seen(obj: JsonObject) -> tuple[Cell, Cell]:
    first = since(obj.get("firstTimestamp"))
    if first == UNKNOWN:
        first = since(obj.get("eventTime"))
    series = obj.get("series")
    if isinstance(series, dict):
        return first, since(series.get("lastObservedTime"))
    last = since(obj.get("lastTimestamp"))
    return first, first if last == UNKNOWN else last


def _source(obj: JsonObject) -> str:
    source = struct(obj, "source")
    component = text(source, "component") or text(obj, "reportingComponent")
    instance = text(source, "host") or text(obj, "reportingInstance")
    return f"{component}, {instance}" if instance else component


_EVENT = Printer(
    (
        shown("Last Seen", "How long ago it happened last."),
        shown("Type"),
        shown("Reason"),
        shown("Object", "The object that the event is about."),
        wide("Subobject", "The part of the object."),
        wide("Source", "Who reported it."),
        shown("Message"),
        wide("First Seen", "How long ago it happened first."),
        wide("Count", "How often it happened."),
        Column("Name", format="name", priority=1),
    ),
    _event,
)

PRINTERS = {("", "Event"): _EVENT, ("events.k8s.io", "Event"): _EVENT}
