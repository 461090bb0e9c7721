"""What a container's probes and hooks may look like."""

from __future__ import annotations

import re

from homeostat.objects.errors import Cause, forbidden, invalid, required
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, numbered, struct, text
from homeostat.server.kinds.builtins.value import check_choice, check_counts, check_port_or_name

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_OF_PROBES = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_HOOKS = ("exec", "httpGet", "tcpSocket", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_header = re.compile("[-A-Za-z0-9]+").fullmatch


def check_handlers(container: JsonObject, path: str, grace_s: int | None) -> list[Cause]:
    """`grace_s` is how long the pod has to stop, which no hook may sleep longer than."""
    causes: list[Cause] = []
    for name in PROBES:
        if isinstance(container.get(name), dict):
            causes += _check_probe(container[name], f"{path}.{name}", is_readiness=name == "readinessProbe")
    for name in ("postStart", "preStop"):
        handler = struct(container, "lifecycle").get(name)
        if isinstance(handler, dict):
            causes += _check_handler(handler, f"{path}.lifecycle.{name}", _OF_HOOKS, grace_s)
    return causes


def _check_probe(probe: JsonObject, path: str, *, is_readiness: bool) -> list[Cause]:
    causes = _check_handler(probe, path, _OF_PROBES) + check_counts(probe, path, *_COUNTS)
    grace, at = probe.get("terminationGracePeriodSeconds"), f"{path}.terminationGracePeriodSeconds"
    if grace is not None and integer(probe, "terminationGracePeriodSeconds") <= 0:
        causes.append(invalid(at, grace, "must be greater than 0"))
    if grace is not None and is_readiness:
        causes.append(invalid(at, grace, "must not be set for readinessProbes"))
    if not is_readiness and integer(probe, "successThreshold", 1) != 1:
        causes.append(invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1"))
    return causes


def _check_handler(handler: JsonObject, path: str, known: tuple[str, ...], grace_s: int | None = None) -> list[Cause]:
    given = [name for name in known if isinstance(handler.get(name), dict)]
    if not given:
        return [required(path, "must specify a handler type")]
    causes = [forbidden(f"{path}.{each}", "may not specify more than 1 handler type") for each in given[1:]]
    name, action = given[0], handler[given[0]]
    at = f"{path}.{name}"
    if name == "exec" and not action.get("command"):
        causes.append(required(f"{at}.command"))
    elif name == "sleep":
        causes += _check_sleep(integer(action, "seconds"), at, grace_s)
    elif name in ("httpGet", "tcpSocket", "grpc"):
        causes += check_port_or_name(action.get("port", 0), f"{at}.port")
    if name == "httpGet":
        causes += check_choice(action, "scheme", at, ("HTTP", "HTTPS"))
        for _, header in numbered(action, "httpHeaders", at):
            if not _header(text(header, "name")):
                message = "a valid HTTP header must consist of alphanumeric characters or '-'"
                causes.append(invalid(f"{at}.httpHeaders", text(header, "name"), message))
        if not action.get("path"):
            causes.append(required(f"{at}.path"))
    return causes


def _check_sleep(seconds: int, path: str, grace_s: int | None) -> list[Cause]:
    if grace_s is None or 0 <= seconds <= grace_s:
        return []
    message = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_s})"
    return [invalid(path, seconds, message)]
