"""Conditions that the server itself writes into objects of built-in kinds. In place."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import ensure_struct, struct, structs, text

_AVAILABLE = {"status": "True", "reason": "Local", "message": "Local APIServices are always available"}
_UNAVAILABLE = {
    "status": "False",
    "reason": "AggregationNotSupported",
    "message": "this server does not forward requests to other API servers; send them to the Service itself",
}


def date_conditions(obj: JsonObject, old: JsonObject | None, now: str) -> None:
    """Set the times of conditions that have none."""
    since = {
        (each.get("type"), each.get("status")): each.get("lastTransitionTime")
        for each in structs(struct(old, "status"), "conditions")
    }
    for condition in structs(struct(obj, "status"), "conditions"):
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        former = since.get((condition.get("type"), condition.get("status")))
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or former or now


def set_available(obj: JsonObject, old: JsonObject | None, now: str) -> None:
    """An APIService is available if this server serves the group itself."""
    status = ensure_struct(obj, "status")
    if status is None:
        return
    found = _UNAVAILABLE if isinstance(struct(obj, "spec").get("service"), dict) else _AVAILABLE
    former = next(
        (each for each in structs(struct(old, "status"), "conditions") if text(each, "type") == "Available"), {}
    )
    since = text(former, "lastTransitionTime") if former.get("status") == found["status"] else ""
    others = [each for each in structs(status, "conditions") if text(each, "type") != "Available"]
    status["conditions"] = [{"type": "Available", "lastTransitionTime": since or now, **found}, *others]


def date_phase(obj: JsonObject, old: JsonObject | None, now: str) -> None:
    """Set the time of a volume's last change of phase, unless the writer set it."""
    if (status := ensure_struct(obj, "status")) is None:
        return
    former = struct(old, "status")
    if old is None or status.get("phase") != former.get("phase"):
        if old is None or status.get("lastPhaseTransitionTime") == former.get("lastPhaseTransitionTime"):
            status["lastPhaseTransitionTime"] = now
    elif "lastPhaseTransitionTime" in former:
        status.setdefault("lastPhaseTransitionTime", former["lastPhaseTransitionTime"])


WRITTEN = {
    ("", "PersistentVolume"): date_phase,
    ("certificates.k8s.io", "CertificateSigningRequest"): date_conditions,
    ("apiregistration.k8s.io", "APIService"): set_available,
}
