"""Reconciles a PostgreSQL cluster in three steps, each by another action plugin.

| step | by default | does |
|---|---|---|
| infrastructure | `terraform` | creates machines; its outputs, such as `leader`, are inputs of the next steps |
| configuration | `command` | configures them, for example with Ansible |
| health | `http` | reads the state of the leader from Patroni and compares it with what is declared |

The type says which plugin does a step and with which configuration, so Terraform may as well run in a workflow of
GitHub. This plugin only knows the order, and reports one condition for each step.
"""

import asyncio

import msgspec

from homeostat.sdk import Condition
from homeostat.sdk.plugins import ActionError, Changes, Job, Outcome, Plan, Tools

INFRASTRUCTURE, CONFIGURATION, HEALTH = "InfrastructureProvisioned", "ConfigurationApplied", "ClusterHealthy"


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    plugin: str
    config: dict[str, object] = {}


class Config(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    infrastructure: Step
    configuration: Step
    health: Step
    health_attempts: int = 30
    """How often the health is checked after an apply, before the apply fails."""
    health_seconds: float = 10.0
    """Between two checks."""


class PostgresCluster:
    name, version, config = "postgres_cluster", "1.0.0", Config
    resource_types = ("PostgresCluster",)
    type_only = frozenset({"infrastructure", "configuration", "health"})

    def __init__(self, tools: Tools) -> None:
        """The work is done by other plugins, which each job gives access to."""

    async def plan(self, job: Job[Config]) -> Plan:
        """The first step that differs decides: those after it depend on its outputs."""
        found = await _plan(job, job.config.infrastructure, job.spec)
        if found.is_changed:
            return _named("infrastructure", found)
        inputs = {**job.spec, **await _outputs(job, job.config.infrastructure)}
        found = await _plan(job, job.config.configuration, inputs)
        if found.is_changed:
            return _named("configuration", found)
        found = await _plan(job, job.config.health, inputs)
        if found.is_changed:
            return _named("health", found)
        return Plan(False, output="provisioned, configured and healthy")

    async def apply(self, job: Job[Config]) -> Outcome:
        conditions: list[Condition] = []
        try:
            provisioned = await _apply(job, job.config.infrastructure, job.spec, INFRASTRUCTURE, conditions)
            inputs = {**job.spec, **provisioned.outputs}
            configured = await _apply(job, job.config.configuration, inputs, CONFIGURATION, conditions)
            await _await_health(job, inputs, conditions)
        except ActionError as error:
            return Outcome(
                is_success=False,
                reason=error.reason,
                message=error.message,
                conditions=(*conditions, _failed(conditions, error)),
            )
        return Outcome(
            is_success=True,
            changes=_sum(provisioned.changes, configured.changes),
            output="\n".join(filter(None, (provisioned.output, configured.output))),
            outputs={**provisioned.outputs, **configured.outputs},
            conditions=tuple(conditions),
        )

    async def destroy(self, job: Job[Config]) -> Outcome:
        config = job.config
        inputs = {**job.spec, **await _outputs(job, config.infrastructure)}
        unconfigured = await job.plugins.get(config.configuration.plugin).destroy(config.configuration.config, inputs)
        removed = await job.plugins.get(config.infrastructure.plugin).destroy(config.infrastructure.config, job.spec)
        return Outcome(is_success=True, changes=_sum(unconfigured.changes, removed.changes), output=removed.output)


async def _plan(job: Job[Config], step: Step, spec: dict[str, object]) -> Plan:
    return await job.plugins.get(step.plugin).plan(step.config, spec)


async def _outputs(job: Job[Config], step: Step) -> dict[str, object]:
    return await job.plugins.get(step.plugin).outputs()


async def _apply(
    job: Job[Config], step: Step, spec: dict[str, object], condition: str, conditions: list[Condition]
) -> Outcome:
    """A step that has nothing to change is not applied again."""
    plugin = job.plugins.get(step.plugin)
    if (await plugin.plan(step.config, spec)).is_changed:
        job.echo(f"{step.plugin}: applying\n")
        outcome = await plugin.apply(step.config, spec)
    else:
        outcome = Outcome(is_success=True, outputs=await plugin.outputs())
    conditions.append(Condition(condition, "True", "Applied", f"Applied by {step.plugin}"))
    return outcome


async def _await_health(job: Job[Config], inputs: dict[str, object], conditions: list[Condition]) -> None:
    for attempt in range(job.config.health_attempts):
        found = await _plan(job, job.config.health, inputs)
        if not found.is_changed:
            conditions.append(Condition(HEALTH, "True", "HealthCheckPassed", "The leader is running"))
            return
        job.echo(f"health: {found.output}\n")
        if attempt + 1 < job.config.health_attempts:
            await asyncio.sleep(job.config.health_seconds)
    raise ActionError("Unhealthy", f"the cluster is not healthy: {found.output}")


def _failed(done: list[Condition], error: ActionError) -> Condition:
    """The step after the last one that succeeded."""
    step = (INFRASTRUCTURE, CONFIGURATION, HEALTH)[len(done)]
    return Condition(step, "False", error.reason, error.message[:1024])


def _named(step: str, plan: Plan) -> Plan:
    return msgspec.structs.replace(plan, output=f"{step}: {plan.output}")


def _sum(one: Changes, other: Changes) -> Changes:
    return Changes(
        created=one.created + other.created, updated=one.updated + other.updated, deleted=one.deleted + other.deleted
    )
