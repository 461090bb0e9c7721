"""Workloads that come alive without containers: simulated Nodes, and controllers and a kubelet by rule.

Off by default: `homeostat up --workloads simulated` runs it. It declares no kinds of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.kind import CONFIG_MAP, DEPLOYMENT, POD, REPLICA_SET
from homeostat.operators.workloads.access import RULES
from homeostat.operators.workloads.api import NODE, REPLICATION_CONTROLLER, RULES_LABEL, Pod, Rules, Workload
from homeostat.operators.workloads.creation import Creation
from homeostat.operators.workloads.deployments.controller import Deployments
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import FAMILY, POD_INDEXES
from homeostat.operators.workloads.nodes.controller import Nodes
from homeostat.operators.workloads.pods.controller import Pods
from homeostat.operators.workloads.pods.rules import Fate
from homeostat.operators.workloads.replicas.controller import Replicas
from homeostat.operators.workloads.scheduling.scheduler import Scheduler
from homeostat.operators.workloads.settings import NAMES, read_settings
from homeostat.runtime.setup import Setup

__all__ = ["KINDS", "RULES", "SETTINGS", "check_environment", "register"]

KINDS: tuple[CustomKind, ...] = ()
SETTINGS = NAMES
_REPLICATED = ((REPLICA_SET, "replicaset-controller"), (REPLICATION_CONTROLLER, "replication-controller"))


def register(setup: Setup) -> None:
    settings = read_settings(setup.environment)
    scheduler, events = Scheduler(), Events(setup.recorder, asyncio.get_running_loop().time)
    pods = setup.watch(POD, Pod, indexes=POD_INDEXES)
    nodes = setup.watch(NODE, Workload)
    rules = setup.watch(CONFIG_MAP, Rules, labels=RULES_LABEL)
    Nodes(setup, nodes, pods, settings)
    Pods(setup, pods, nodes, rules, scheduler=scheduler, events=events, usual=Fate(after_s=settings.ready_after_s))
    sets = setup.watch(REPLICA_SET, Workload, indexes=FAMILY)
    Deployments(setup, setup.watch(DEPLOYMENT, Workload), sets, pods, events)
    for kind, component in _REPLICATED:
        creation = Creation(setup.client, scheduler, events, kind, component=component)
        Replicas(setup, kind, setup.watch(kind, Workload), pods, creation)


def check_environment(environment: Mapping[str, str]) -> None:
    """Raises `ValueError` for settings that `register` would refuse."""
    read_settings(environment)
