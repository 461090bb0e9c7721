"""Keeps resources by GitLab CI pipelines: one project's, told by a variable what to do.

    plugin: gitlab_ci
    config:
      project: acme/infrastructure
      hasPlan: true
      hasDestroy: true

A pipeline gets `HOMEOSTAT_ACTION` (plan, apply or destroy), `HOMEOSTAT_TICKET`, by which it is found again, and the
spec as JSON in `HOMEOSTAT_SPEC` or the variables that are given. It is started once for each declaration: what was
applied is not applied again unless a pipeline that plans finds drift or, without one, somebody asks for it. A job
leaves outputs in the file `homeostat-outputs.json` among its artifacts; of a plan `{"changed": true}`, or false.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from homeostat.external.forges.gitlab import API, GitLab, Pipeline, PipelineJob
from homeostat.external.secrets.secrets import SecretText
from homeostat.objects.json import Json, JsonObject, encode
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Tools
from homeostat.operators.actions.plugins.remote_run import (
    CANCEL_WITHIN_S,
    Sought,
    bare_outputs,
    followed,
    late_s,
    sought_since,
    started,
)
from homeostat.operators.actions.plugins.template import TemplateError, fill
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
    """Of another GitLab than the operator's; it needs a token of its own."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=604_800)] = 3600
    poll_seconds: Annotated[int, Meta(ge=1, le=3600)] = 10


class GitLabCiPlugin:
    name, version, config = "gitlab_ci", "1.0.0", GitLabConfig
    addresses, credentials = frozenset({"apiUrl"}), frozenset({"token"})

    def __init__(self, tools: Tools) -> None:
        self._http = tools.http
        self._token = tools.environment.get("GITLAB_TOKEN", "")
        self._api = tools.environment.get("GITLAB_API_URL") or API
        self._sought = Sought()

    async def plan(self, job: Job[GitLabConfig]) -> Plan:
        if not job.is_applied:
            return Plan(True, Changes(updated=1), "not applied yet")
        if job.config.has_plan:
            return Plan(None)
        return Plan(False, output="hasPlan is not set; drift is not checked", is_assumed=True)

    async def start(self, job: Job[GitLabConfig]) -> Underway | Outcome:
        if job.purpose == "destroy" and not job.config.has_destroy:
            return Outcome(is_success=True, message="no destroy pipeline is configured; nothing was started")
        gitlab = await self._gitlab(job)
        poll_s = float(job.config.poll_seconds)
        start = gitlab.start(job.config.ref, _variables(job))
        return await started(start, lambda pipeline: Underway(_handle(job, pipeline), poll_s), poll_s=poll_s)

    async def follow(self, job: Job[GitLabConfig]) -> Underway | Outcome | Lost:
        gitlab = await self._gitlab(job)
        look = self._find(job, gitlab) if job.handle is None else _look(job, gitlab, int(job.handle["pipelineId"]))
        return await followed(look, overdue_s=late_s(job, job.config.timeout_seconds))

    async def _find(self, job: Job[GitLabConfig], gitlab: GitLab) -> Underway | Lost:
        for each in await gitlab.started_pipelines(job.config.ref, sought_since(job)):
            if (await gitlab.variables(each.id)).get(TICKET) == job.ticket:
                self._sought.forget(job.ticket)
                return Underway(_handle(job, each), float(job.config.poll_seconds))
        return self._sought.in_vain(job, job.config.poll_seconds)

    async def _gitlab(self, job: Job[GitLabConfig]) -> GitLab:
        config = job.config
        if config.api_url and config.token is None:
            told = "a GitLab URL other than the operator's requires its own token"
            raise ActionError("InvalidConfig", f"action.config.apiUrl: {told}")
        token = self._token if config.token is None else await job.secrets.reveal(config.token)
        job.secrets.hide(token)
        # A pipeline is where it was started, though the type may name another project by now.
        project = (job.handle or {}).get("project") or config.project
        return GitLab(self._http, token, project, api=config.api_url or self._api, now_s=job.now.timestamp)


async def _look(job: Job[GitLabConfig], gitlab: GitLab, pipeline_id: int) -> Underway | Outcome:
    pipeline = await gitlab.pipeline(pipeline_id)
    if pipeline.is_ended:
        return await _ended(job, gitlab, pipeline)
    late = late_s(job, job.config.timeout_seconds)
    if late >= 0:
        # What has taken too long is ended, so that a retry does not run beside it.
        await gitlab.cancel(pipeline_id)
    if late < CANCEL_WITHIN_S:
        return Underway(job.handle, float(job.config.poll_seconds))
    told = "the pipeline timed out and did not stop after it was cancelled"
    return Outcome(is_success=False, reason="RunTimedOut", message=told, url=pipeline.web_url)


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
            told = (
                f'no job of the plan pipeline has an artifact file "{job.config.outputs_file}" that contains "changed"'
            )
            return Outcome(is_success=False, reason="NoPlan", message=told, url=url)
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
        values = {
            "name": job.name,
            "namespace": job.namespace,
            "uid": job.uid,
            "spec": job.spec,
            "outputs": job.outputs,
        }
        try:
            given = fill(job.config.variables, values)
        except TemplateError as error:
            raise ActionError("InvalidConfig", f"action.config.variables: {error}") from error
    return {**{name: _text(each) for name, each in given.items()}, TICKET: job.ticket, ACTION: job.purpose}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _handle(job: Job[GitLabConfig], pipeline: Pipeline) -> JsonObject:
    return {"pipelineId": pipeline.id, "url": pipeline.web_url, "project": job.config.project}
