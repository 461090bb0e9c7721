"""What Nodes may look like."""

from __future__ import annotations

import ipaddress

from homeostat.objects.errors import Cause, invalid
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.affinity import check_taints
from homeostat.server.kinds.builtins.members import strings, struct
from homeostat.server.kinds.builtins.value import check_quantity

_NO_RANGE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def _check_node(obj: JsonObject) -> list[Cause]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    causes = check_taints(spec) if spec.get("taints") else []
    causes += _check_ranges(strings(spec, "podCIDRs"))
    for name in ("capacity", "allocatable"):
        for resource, amount in struct(status, name).items():
            causes += check_quantity(amount, f"status.{name}.{resource}")
    return causes


def _check_ranges(ranges: list[str]) -> list[Cause]:
    families: list[int] = []
    causes: list[Cause] = []
    for index, each in enumerate(ranges):
        try:
            families.append(ipaddress.ip_network(each, strict=False).version)
        except ValueError:
            causes.append(invalid(f"spec.podCIDRs[{index}]", each, _NO_RANGE))
    if not causes and (len(ranges) > 2 or len(set(families)) != len(families)):
        causes.append(invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"))
    return causes


CHECKS = {("", "Node"): _check_node}
