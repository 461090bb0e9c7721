"""Reconciles resources by the GitLab CI pipelines of one project; a variable says what to do.

    plugin: gitlab_ci
    config:
      project: acme/infrastructure
      hasPlan: true
      hasDestroy: true

A pipeline gets `HOMEOSTAT_ACTION` (plan, apply or destroy), `HOMEOSTAT_TICKET`, by which it is found again, and the
spec as JSON in `HOMEOSTAT_SPEC`, or the configured variables. A declaration is applied once. It is applied again if a
plan pipeline reports drift; without one, only when a reconciliation is requested. A job writes outputs to the file
`homeostat-outputs.json` among its artifacts, a plan `{"changed": true}` or false.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from homeostat.external.forges.gitlab import API, GitLab, Pipeline, PipelineJob
from homeostat.external.secrets.secrets import SecretText
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.plugins.plugin import Job, Tools
from homeostat.operators.actions.plugins.remote_run import (
    MissingRuns,
    as_texts,
    bare_outputs,
    filled,
    followed,
    overdue_s,
    plan_of_remote,
    reveal_token,
    started,
    started_since,
    unfinished,
)
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.world import Lost, Plan, Underway

TICKET, ACTION, SPEC = "HOMEOSTAT_TICKET", "HOMEOSTAT_ACTION", "HOMEOSTAT_SPEC"


class GitLabConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    project: Annotated[str, Meta(min_length=1)]
    ref: str = "main"
    variables: dict[str, Any] | None = None
    has_plan: bool = False
    has_destroy: bool = False
    outputs_file: str = "homeostat-outputs.json"
    token: SecretText | None = None
    api_url: str = ""
    """The API of a GitLab other than the operator's; it requires its own token."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=604_800)] = 3600
    poll_seconds: Annotated[int, Meta(ge=1, le=3600)] = 10


class GitLabCiPlugin:
    name, version, config = "gitlab_ci", "1.0.0", GitLabConfig
    addresses, credentials = frozenset({"apiUrl"}), frozenset({"token"})
    targets = frozenset({"project", "ref", "variables", "hasPlan", "hasDestroy", "outputsFile"})

    def __init__(self, tools: Tools) -> None:
        self._http = tools.http
        self._token = tools.environment.get("GITLAB_TOKEN", "")
        self._api = tools.environment.get("GITLAB_API_URL") or API
        self._sought = MissingRuns()

    async def plan(self, job: Job[GitLabConfig]) -> Plan:
        return plan_of_remote(job, has_plan=job.config.has_plan, option="hasPlan")

    async def start(self, job: Job[GitLabConfig]) -> Underway | Outcome:
        if job.purpose == "destroy" and not job.config.has_destroy:
            return Outcome(is_success=True, message="no destroy pipeline is configured; nothing was started")
        gitlab = await self._gitlab(job)
        poll_s = float(job.config.poll_seconds)
        start = gitlab.start(job.config.ref, _variables(job))
        return await started(start, lambda pipeline: Underway(_handle(job, pipeline), poll_s), poll_s=poll_s)

    async def follow(self, job: Job[GitLabConfig]) -> Underway | Outcome | Lost:
        gitlab = await self._gitlab(job)
        observation = (
            self._find(job, gitlab) if job.handle is None else _check(job, gitlab, int(job.handle["pipelineId"]))
        )
        return await followed(observation, late_s=overdue_s(job, job.config.timeout_seconds))

    async def cancel(self, job: Job[GitLabConfig]) -> None:
        assert job.handle is not None
        await (await self._gitlab(job)).cancel(int(job.handle["pipelineId"]))

    async def _find(self, job: Job[GitLabConfig], gitlab: GitLab) -> Underway | Lost:
        for each in await gitlab.started_pipelines(job.config.ref, started_since(job)):
            if (await gitlab.variables(each.id)).get(TICKET) == job.ticket:
                self._sought.forget(job.ticket)
                return Underway(_handle(job, each), float(job.config.poll_seconds))
        return self._sought.note_missing(job, job.config.poll_seconds)

    async def _gitlab(self, job: Job[GitLabConfig]) -> GitLab:
        config = job.config
        token = await reveal_token(job, config.token, self._token, api_url=config.api_url)
        # The pipeline is in the project where it was started, even if the type names another one now.
        project = (job.handle or {}).get("project") or config.project
        return GitLab(self._http, token, project, api=config.api_url or self._api, now_s=job.now.timestamp)


async def _check(job: Job[GitLabConfig], gitlab: GitLab, pipeline_id: int) -> Underway | Outcome:
    config, pipeline = job.config, await gitlab.pipeline(pipeline_id)
    if pipeline.is_ended:
        return await _ended(job, gitlab, pipeline)
    late_s = overdue_s(job, config.timeout_seconds)
    cancel = partial(gitlab.cancel, pipeline_id)
    return await unfinished(job, cancel, late_s=late_s, poll_s=float(config.poll_seconds), url=pipeline.web_url)


async def _ended(job: Job[GitLabConfig], gitlab: GitLab, pipeline: Pipeline) -> Outcome:
    url = pipeline.web_url
    if pipeline.status != "success":
        return Outcome(
            is_success=False, reason="RunFailed", message=f"the pipeline ended with {pipeline.status}", url=url
        )
    jobs = await gitlab.jobs(pipeline.id)
    values = await _values(job, gitlab, jobs)
    if job.purpose == "plan":
        if not isinstance(values.get("changed"), bool):
            message = (
                f'no job of the plan pipeline has an artifact file "{job.config.outputs_file}" that contains "changed"'
            )
            return Outcome(is_success=False, reason="NoPlan", message=message, url=url)
        return Outcome(is_success=True, is_changed=values["changed"], url=url)
    shown = [{"name": each.name, "status": each.status, "finished_at": each.finished_at} for each in jobs]
    return Outcome(is_success=True, changes=Changes(updated=1), outputs={**values, "jobs": shown}, url=url)


async def _values(job: Job[GitLabConfig], gitlab: GitLab, jobs: list[PipelineJob]) -> JsonObject:
    for each in jobs:
        if each.artifacts_file is not None:
            found = await gitlab.artifact_json(each, job.config.outputs_file)
            if found is not None:
                return bare_outputs(found)
    return {}


def _variables(job: Job[GitLabConfig]) -> dict[str, str]:
    given: JsonObject = {SPEC: job.spec}
    if job.config.variables is not None:
        given = filled(job, job.config.variables, "variables")
    return {**as_texts(given), TICKET: job.ticket, ACTION: job.purpose}


def _handle(job: Job[GitLabConfig], pipeline: Pipeline) -> JsonObject:
    return {"pipelineId": pipeline.id, "url": pipeline.web_url, "project": job.config.project}
