"""Defaults of what runs pods: apps, batch, ReplicationController, autoscaler."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.defaults.pod import default_template
from homeostat.server.kinds.builtins.defaults.storage import default_claim_template
from homeostat.server.kinds.builtins.members import ensure_struct, integer, set_default, struct, structs


def _absent(obj: JsonObject, **values: object) -> None:
    for name, value in values.items():
        if obj.get(name) is None:
            obj[name] = value


def _default_deployment(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    _absent(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = ensure_struct(spec, "strategy")
    if strategy is not None:
        set_default(strategy, "type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate" and (rolling := ensure_struct(strategy, "rollingUpdate")) is not None:
            _absent(rolling, maxUnavailable="25%", maxSurge="25%")
    default_template(spec)


def _default_replica_set(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is not None:
        _absent(spec, replicas=1)
        default_template(spec)


def _default_replication_controller(obj: JsonObject) -> None:
    """Its selector and its own labels are those of its template."""
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    _absent(spec, replicas=1)
    if isinstance(spec.get("template"), dict):
        default_template(spec)
    labels = struct(spec, "template", "metadata", "labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        metadata = ensure_struct(obj, "metadata")
        if metadata is not None and not metadata.get("labels"):
            metadata["labels"] = dict(labels)


def _default_stateful_set(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    set_default(spec, "podManagementPolicy", "OrderedReady")
    _absent(spec, replicas=1, revisionHistoryLimit=10)
    if (retention := ensure_struct(spec, "persistentVolumeClaimRetentionPolicy")) is not None:
        set_default(retention, "whenDeleted", "Retain")
        set_default(retention, "whenScaled", "Retain")
    strategy = ensure_struct(spec, "updateStrategy")
    if strategy is not None:
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            ensure_struct(strategy, "rollingUpdate")
        if strategy["type"] == "RollingUpdate" and isinstance(rolling := strategy.get("rollingUpdate"), dict):
            _absent(rolling, partition=0)
    if isinstance(ordinals := spec.get("ordinals"), dict):
        _absent(ordinals, start=0)
    default_template(spec)
    for claim in structs(spec, "volumeClaimTemplates"):
        default_claim_template(claim)


def _default_daemon_set(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    _absent(spec, revisionHistoryLimit=10)
    strategy = ensure_struct(spec, "updateStrategy")
    if strategy is not None:
        set_default(strategy, "type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate" and (rolling := ensure_struct(strategy, "rollingUpdate")) is not None:
            _absent(rolling, maxUnavailable=1, maxSurge=0)
        elif isinstance(unused := strategy.get("rollingUpdate"), dict):
            _absent(unused, maxUnavailable=0, maxSurge=0)
    default_template(spec)


def _default_job(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is not None:
        _default_job_spec(spec)


def _default_job_spec(spec: JsonObject) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    _absent(spec, parallelism=1, suspend=False, manualSelector=False, completionMode="NonIndexed")
    # With a limit for each index, the job as a whole has none.
    _absent(spec, backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1)
    for rule in structs(struct(spec, "podFailurePolicy"), "rules"):
        for pattern in structs(rule, "onPodConditions"):
            set_default(pattern, "status", "True")
    _absent(spec, podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed")
    default_template(spec)


def _default_cron_job(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    set_default(spec, "concurrencyPolicy", "Allow")
    _absent(spec, suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    if (job := ensure_struct(spec, "jobTemplate")) is not None:
        job.setdefault("metadata", {})
        # Unlike in a Job, the counts stay unset: the created Jobs get them.
        if (job_spec := ensure_struct(job, "spec")) is not None:
            default_template(job_spec)


def _default_autoscaler(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    _absent(spec, minReplicas=1)
    is_v1 = obj.get("apiVersion") == "autoscaling/v1"
    if not is_v1 and not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    for name, rules in _BEHAVIOUR.items() if isinstance(spec.get("behavior"), dict) else ():
        _default_scaling(spec["behavior"], name, rules)


_BEHAVIOUR: dict[str, JsonObject] = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [("Pods", 4), ("Percent", 100)]},
    "scaleDown": {"policies": [("Percent", 100)]},
}


def _default_scaling(behaviour: JsonObject, name: str, rules: JsonObject) -> None:
    scaling = ensure_struct(behaviour, name)
    if scaling is None:
        return
    if "stabilizationWindowSeconds" in rules:
        _absent(scaling, stabilizationWindowSeconds=rules["stabilizationWindowSeconds"])
    _absent(scaling, selectPolicy="Max")
    if scaling.get("policies") is None:
        scaling["policies"] = [{"type": kind, "value": value, "periodSeconds": 15} for kind, value in rules["policies"]]


def _default_controller_revision(obj: JsonObject) -> None:
    obj["revision"] = integer(obj, "revision")


DEFAULTS = {
    ("apps", "Deployment"): _default_deployment,
    ("apps", "ReplicaSet"): _default_replica_set,
    ("apps", "StatefulSet"): _default_stateful_set,
    ("apps", "DaemonSet"): _default_daemon_set,
    ("apps", "ControllerRevision"): _default_controller_revision,
    ("", "ReplicationController"): _default_replication_controller,
    ("batch", "Job"): _default_job,
    ("batch", "CronJob"): _default_cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): _default_autoscaler,
}
