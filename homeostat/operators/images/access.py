"""The permissions of the operator and of its pages in a cluster, as rules of a role. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, rule
from homeostat.operators.images.api import GROUP
from homeostat.operators.images.engine.workloads import ROLLOUT_DEFINITION

RULES: Final[list[JsonObject]] = [
    rule("apps", ["deployments", "statefulsets", "daemonsets"], FOLLOW),
    rule("batch", ["jobs", "cronjobs"], FOLLOW),
    rule("argoproj.io", ["rollouts"], FOLLOW),
    # Says whether there are Rollouts on this server.
    {**rule("apiextensions.k8s.io", ["customresourcedefinitions"], FOLLOW), "resourceNames": [ROLLOUT_DEFINITION]},
    rule(GROUP, ["imageupdates"], [*FOLLOW, "create", "patch", "delete"]),
    rule(GROUP, ["imageupdates/status"], ["patch"]),
    # Secrets that annotations name: keys of repositories, credentials of registries, tokens, webhooks.
    rule("", ["secrets"], ["get"]),
    rule("", ["events"], ["create", "patch"]),
]
DASHBOARD_RULES: Final = (
    rule("apps", ["deployments", "statefulsets", "daemonsets"], FOLLOW),
    rule("batch", ["jobs", "cronjobs"], FOLLOW),
    rule("argoproj.io", ["rollouts"], FOLLOW),
    # The tags that the Pods of a workload run.
    rule("", ["pods"], ["list"]),
    # Pin and unpin. To trigger a pass, a workload is patched: the page offers that only where somebody allowed it.
    rule(GROUP, ["imageupdates"], [*FOLLOW, "create", "patch"]),
)
