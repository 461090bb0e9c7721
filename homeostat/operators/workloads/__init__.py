"""Workloads that come alive without containers: simulated Nodes, and controllers and a kubelet by rule.

Off by default: `homeostat up --workloads simulated` runs it, and `--workloads nodes` its Nodes and kubelet alone. It
declares no kinds of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.kind import CONFIG_MAP, DAEMON_SET, DEPLOYMENT, POD, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.workloads.access import RULES
from homeostat.operators.workloads.api import (
    AUTOSCALER,
    BUDGET,
    CLAIM,
    CONTROLLER_REVISION,
    CRON_JOB,
    ENDPOINT_SLICE,
    ENDPOINTS,
    JOB,
    NODE,
    REPLICATION_CONTROLLER,
    RULES_LABEL,
    SERVICE,
    STORAGE_CLASS,
    VOLUME,
    Pod,
    Revision,
    Rules,
    Workload,
)
from homeostat.operators.workloads.autoscalers.controller import Autoscalers
from homeostat.operators.workloads.budgets.controller import Budgets
from homeostat.operators.workloads.collector.controller import Collector
from homeostat.operators.workloads.creation import OF_STATEFUL_SETS, USUAL, Creation, Words
from homeostat.operators.workloads.cronjobs.controller import CronJobs
from homeostat.operators.workloads.daemonsets.controller import DaemonSets
from homeostat.operators.workloads.deployments.controller import Deployments
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import FAMILY, POD_INDEXES
from homeostat.operators.workloads.jobs.controller import Jobs
from homeostat.operators.workloads.metrics.reader import MetricsReader
from homeostat.operators.workloads.nodes.controller import Nodes
from homeostat.operators.workloads.nodes.evictions import Evictions
from homeostat.operators.workloads.pods.controller import Pods
from homeostat.operators.workloads.pods.rules import Fate, Rulebook
from homeostat.operators.workloads.replicas.controller import Replicas
from homeostat.operators.workloads.revisions import Revisions
from homeostat.operators.workloads.scheduling.scheduler import Scheduler
from homeostat.operators.workloads.selection import SELECTED
from homeostat.operators.workloads.services.controller import SLICE_INDEXES, Services, StoredSlice
from homeostat.operators.workloads.services.endpoints import StoredEndpoints
from homeostat.operators.workloads.settings import NAMES, read_settings
from homeostat.operators.workloads.statefulsets.controller import StatefulSets
from homeostat.operators.workloads.volumes.binding import StorageClass
from homeostat.operators.workloads.volumes.controller import Volumes
from homeostat.operators.workloads.volumes.decide import CLAIM_INDEXES, VOLUME_INDEXES
from homeostat.operators.workloads.volumes.protection import Protection
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

__all__ = ["KINDS", "NEEDS_PLANE", "RULES", "SETTINGS", "check_environment", "register"]

KINDS: tuple[CustomKind, ...] = ()
SETTINGS = NAMES
NEEDS_PLANE = True
_REPLICATED = ((REPLICA_SET, "replicaset-controller"), (REPLICATION_CONTROLLER, "replication-controller"))


def register(setup: Setup) -> None:
    settings = read_settings(setup.environment)
    scheduler, events = Scheduler(), Events(setup.recorder, asyncio.get_running_loop().time)
    pods = setup.watch(POD, Pod, indexes=POD_INDEXES)
    nodes = setup.watch(NODE, Workload)
    rules = setup.watch(CONFIG_MAP, Rules, labels=RULES_LABEL)
    Nodes(setup, nodes, settings, events)
    rulebook = Rulebook(Fate(after_s=settings.ready_after_s))
    claims = setup.watch(CLAIM, Workload, indexes=CLAIM_INDEXES)
    budgets = setup.watch(BUDGET, Workload, indexes=SELECTED)
    schedules = not settings.is_nodes_only
    Pods(
        setup,
        pods,
        nodes,
        rules,
        claims,
        budgets,
        scheduler=scheduler,
        events=events,
        rulebook=rulebook,
        schedules=schedules,
    )
    MetricsReader(setup, pods, nodes, rulebook)
    if settings.is_nodes_only:
        return
    Evictions(setup, pods, nodes, events)
    Collector(setup, pods, settings.ended_pods)
    sets = setup.watch(REPLICA_SET, Workload, indexes=FAMILY)
    Deployments(setup, setup.watch(DEPLOYMENT, Workload, indexes=SELECTED), sets, pods, events)

    def creation_of(kind: Kind, component: str, words: Words = USUAL) -> Creation:
        return Creation(setup.client, scheduler, events, pods.cache, kind, component=component, words=words)

    for kind, component in _REPLICATED:
        Replicas(setup, kind, setup.watch(kind, Workload, indexes=SELECTED), pods, creation_of(kind, component))
    jobs = setup.watch(JOB, Workload, indexes=FAMILY)
    Jobs(setup, jobs, pods, creation_of(JOB, "job-controller"), events)
    CronJobs(setup, setup.watch(CRON_JOB, Workload), jobs, events)
    revisions = Revisions(setup.client, setup.watch(CONTROLLER_REVISION, Revision, indexes=FAMILY).cache)
    stateful_sets = setup.watch(STATEFUL_SET, Workload, indexes=SELECTED)
    stateful = creation_of(STATEFUL_SET, "statefulset-controller", OF_STATEFUL_SETS)
    StatefulSets(setup, stateful_sets, pods, revisions=revisions, creation=stateful, events=events)
    DaemonSets(
        setup,
        setup.watch(DAEMON_SET, Workload, indexes=SELECTED),
        nodes,
        pods,
        revisions=revisions,
        scheduler=scheduler,
        creation=creation_of(DAEMON_SET, "daemonset-controller"),
        events=events,
    )
    Autoscalers(setup, setup.watch(AUTOSCALER, Workload), pods, rules, rulebook=rulebook, events=events)
    Budgets(setup, budgets, pods, events)
    _register_services(setup, pods)
    _register_volumes(setup, claims, pods, events)


def _register_services(setup: Setup, pods: Informer[Pod]) -> None:
    slices = setup.watch(ENDPOINT_SLICE, StoredSlice, indexes=SLICE_INDEXES)
    Services(
        setup, setup.watch(SERVICE, Workload, indexes=SELECTED), slices, setup.watch(ENDPOINTS, StoredEndpoints), pods
    )


def _register_volumes(setup: Setup, claims: Informer[Workload], pods: Informer[Pod], events: Events) -> None:
    classes = setup.watch(STORAGE_CLASS, StorageClass)
    volumes = setup.watch(VOLUME, Workload, indexes=VOLUME_INDEXES)
    Volumes(setup, claims, volumes, classes, pods, events=events)
    Protection(setup, claims, volumes, pods)


def check_environment(environment: Mapping[str, str]) -> None:
    """Raises `ValueError` for settings that `register` would refuse."""
    read_settings(environment)
