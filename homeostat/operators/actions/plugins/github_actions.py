"""Reconciles resources by GitHub Actions workflows: one to apply, and optional ones to plan and to destroy.

    plugin: github_actions
    config:
      owner: acme
      repo: infrastructure
      workflow: apply.yml
      planWorkflow: plan.yml
      destroyWorkflow: destroy.yml
      ticketInput: ticket        # a workflow with `run-name: apply ${{ inputs.ticket }}`
      actionInput: action        # gets plan, apply or destroy

Owner, repo, workflow, ref and inputs may also be in the spec. Without inputs the workflow gets the spec as JSON, in the
input `spec`. A declaration is applied once. It is applied again if a run of the plan workflow reports drift, with an
artifact that contains `{"changed": true}`; without a plan workflow, only when a reconciliation is requested.

If the answer to a start was lost, the run is found by its ticket in the names of runs. Without a `ticketInput` it is
found by its time, among the runs that belong to nobody else; if several match, the run fails as ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.external.environment import number
from homeostat.external.forges.github import API, Artifact, Dispatched, GitHub, Repository, WorkflowRun
from homeostat.external.secrets.secrets import SecretText
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Tools
from homeostat.operators.actions.plugins.remote_run import (
    MissingRuns,
    RunOwners,
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

_LONGEST_S: Final = 10**9


class GitHubConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    owner: str = ""
    repo: str = ""
    workflow: str = ""
    ref: str = ""
    inputs: dict[str, Any] | None = None
    plan_workflow: str = ""
    destroy_workflow: str = ""
    ticket_input: str = ""
    action_input: str = ""
    outputs_artifact: str = "homeostat-outputs"
    drift: Literal["artifact", "failure"] = "artifact"
    """How a run of the plan workflow reports drift: by its artifact, or by failing."""
    token: SecretText | None = None
    api_url: str = ""
    """The API of a GitHub other than the operator's; it requires its own token."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=604_800)] | None = None
    poll_seconds: Annotated[int, Meta(ge=1, le=3600)] | None = None


class _Target(msgspec.Struct, frozen=True):
    repository: Repository
    workflow: str
    ref: str


class GitHubActionsPlugin:
    name, version, config = "github_actions", "1.1.0", GitHubConfig
    addresses, credentials = frozenset({"apiUrl"}), frozenset({"token"})
    targets = frozenset(
        {
            "owner",
            "repo",
            "workflow",
            "ref",
            "inputs",
            "planWorkflow",
            "destroyWorkflow",
            "ticketInput",
            "actionInput",
            "outputsArtifact",
        }
    )
    aliases: Final = {
        "api_base_url": "apiUrl",
        "github_token": "token",
        "poll_interval": "pollSeconds",
        "timeout": "timeoutSeconds",
    }

    def __init__(self, tools: Tools) -> None:
        environment = tools.environment
        self._http = tools.http
        self._token = environment.get("GITHUB_TOKEN", "")
        self._api = environment.get("GITHUB_API_URL") or API
        self._timeout_s = _seconds(environment, "GITHUB_ACTIONS_TIMEOUT", 3600)
        self._poll_s = _seconds(environment, "GITHUB_ACTIONS_POLL_INTERVAL", 10)
        self._sought, self._claims = MissingRuns(), RunOwners()

    async def plan(self, job: Job[GitHubConfig]) -> Plan:
        _target(job, "apply")
        return plan_of_remote(job, has_plan=bool(job.config.plan_workflow), option="planWorkflow")

    async def start(self, job: Job[GitHubConfig]) -> Underway | Outcome:
        if job.purpose == "destroy" and not job.config.destroy_workflow:
            return Outcome(is_success=True, message="no destroy workflow is configured; nothing was started")
        target = _target(job, job.purpose)
        github = await self._github(job)

        def underway(found: Dispatched | None) -> Underway:
            if found is None:
                return Underway(None, 2.0)
            return self._underway(job, target, found.workflow_run_id, found.html_url)

        dispatch = github.dispatch(target.repository, target.workflow, target.ref, _inputs(job))
        return await started(dispatch, underway, poll_s=self._poll(job))

    async def follow(self, job: Job[GitHubConfig]) -> Underway | Outcome | Lost:
        target = _whereabouts(job)
        github = await self._github(job)
        observation = (
            self._find(job, github, target)
            if job.handle is None
            else self._check(job, github, target, int(job.handle["runId"]))
        )
        return await followed(observation, late_s=self._overdue_s(job))

    async def cancel(self, job: Job[GitHubConfig]) -> None:
        assert job.handle is not None
        github = await self._github(job)
        await github.cancel(_whereabouts(job).repository, int(job.handle["runId"]))

    async def _find(self, job: Job[GitHubConfig], github: GitHub, target: _Target) -> Underway | Outcome | Lost:
        runs = await github.dispatched_runs(target.repository, target.workflow, started_since(job))
        found = [each for each in runs if not self._claims.is_owned_by_another(each.id, job.ticket)]
        if job.config.ticket_input:
            found = [each for each in found if _carries(each, job.ticket)]
        if len(found) == 1 or (found and job.config.ticket_input):
            # Several runs with one ticket are retries by GitHub of one dispatch; the first one counts.
            run = min(found, key=lambda each: each.id)
            self._sought.forget(job.ticket)
            return self._underway(job, target, run.id, run.html_url)
        if found:
            message = f"{len(found)} runs match the one that was started; set ticketInput to identify it"
            return Outcome(is_success=False, reason="Ambiguous", message=message)
        return self._sought.note_missing(job, self._poll(job))

    async def _check(self, job: Job[GitHubConfig], github: GitHub, target: _Target, run_id: int) -> Underway | Outcome:
        run = await github.run(target.repository, run_id)
        if run.is_completed:
            return await self._ended(job, github, target, run)
        cancel = partial(github.cancel, target.repository, run_id)
        return await unfinished(job, cancel, late_s=self._overdue_s(job), poll_s=self._poll(job), url=run.html_url)

    async def _ended(self, job: Job[GitHubConfig], github: GitHub, target: _Target, run: WorkflowRun) -> Outcome:
        is_success = run.conclusion == "success"
        if job.purpose == "plan" and job.config.drift == "failure" and run.conclusion in ("success", "failure"):
            return Outcome(is_success=True, is_changed=not is_success, url=run.html_url)
        if not is_success:
            message = f"the run ended with {run.conclusion}"
            return Outcome(is_success=False, reason="RunFailed", message=message, url=run.html_url)
        artifacts = await github.artifacts(target.repository, run.id)
        values = await _values(job, github, target.repository, artifacts)
        if job.purpose == "plan":
            if not isinstance(values.get("changed"), bool):
                message = f'the plan run has no artifact "{job.config.outputs_artifact}" that contains "changed"'
                return Outcome(is_success=False, reason="NoPlan", message=message, url=run.html_url)
            return Outcome(is_success=True, is_changed=values["changed"], url=run.html_url)
        jobs = await github.jobs(target.repository, run.id)
        outputs = {
            **values,
            "jobs": [msgspec.to_builtins(each) for each in jobs],
            "artifacts": [_shown(each) for each in artifacts],
        }
        return Outcome(is_success=True, changes=Changes(updated=1), outputs=outputs, url=run.html_url)

    async def _github(self, job: Job[GitHubConfig]) -> GitHub:
        config = job.config
        token = await reveal_token(job, config.token, self._token, api_url=config.api_url)
        return GitHub(self._http, token, api=config.api_url or self._api, now_s=job.now.timestamp)

    def _underway(self, job: Job[GitHubConfig], target: _Target, run_id: int, url: str) -> Underway:
        self._claims.claim(run_id, job.ticket)
        where = f"{target.repository.owner}/{target.repository.name}"
        return Underway({"runId": run_id, "url": url, "repository": where}, self._poll(job))

    def _overdue_s(self, job: Job[GitHubConfig]) -> float:
        return overdue_s(job, job.config.timeout_seconds or self._timeout_s)

    def _poll(self, job: Job[GitHubConfig]) -> float:
        return float(job.config.poll_seconds or self._poll_s)


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    return number(environment, name, default, most=_LONGEST_S, excludes_least=True, unit="seconds")


def _target(job: Job[GitHubConfig], purpose: str) -> _Target:
    config, spec = job.config, job.spec
    owner, repo = config.owner or spec.get("owner"), config.repo or spec.get("repo")
    workflow = {"plan": config.plan_workflow, "destroy": config.destroy_workflow}.get(purpose) or (
        config.workflow or spec.get("workflow")
    )
    ref = config.ref or spec.get("ref") or "main"
    for name, value in (("owner", owner), ("repo", repo), ("workflow", workflow), ("ref", ref)):
        if not value or not isinstance(value, str | int):
            message = f"required; set it here or as spec.{name}"
            raise ActionError("InvalidConfig", f"action.config.{name}: {message}")
    return _Target(Repository(str(owner), str(repo)), str(workflow), str(ref))


def _whereabouts(job: Job[GitHubConfig]) -> _Target:
    """Returns the repository of the run, even if the type names another one now."""
    owner, _, name = str((job.handle or {}).get("repository", "")).partition("/")
    return _Target(Repository(owner, name), "", "") if name else _target(job, job.purpose)


def _inputs(job: Job[GitHubConfig]) -> dict[str, str]:
    """The configured inputs; else those of the spec, if it names a workflow; else the spec itself."""
    config, spec = job.config, job.spec
    inputs: JsonObject
    if config.inputs is not None:
        inputs = filled(job, config.inputs, "inputs")
    elif "workflow" in spec:
        given = spec.get("inputs")
        inputs = given if isinstance(given, dict) else {}
    else:
        inputs = {"spec": spec}
    more = {config.ticket_input: job.ticket, config.action_input: job.purpose}
    return {**as_texts(inputs), **{key: each for key, each in more.items() if key}}


def _carries(run: WorkflowRun, ticket: str) -> bool:
    """Returns whether the run's name contains the whole ticket: a ticket may be a prefix of another."""
    return re.search(rf"(?<![\w-]){re.escape(ticket)}(?![\w-])", f"{run.display_title} {run.name or ''}") is not None


async def _values(
    job: Job[GitHubConfig], github: GitHub, repository: Repository, artifacts: tuple[Artifact, ...]
) -> JsonObject:
    """Reads the outputs artifact."""
    wanted = (each for each in artifacts if each.name == job.config.outputs_artifact and not each.expired)
    found = next(wanted, None)
    if found is None:
        return {}
    raw = await github.artifact_json(repository, found)
    return bare_outputs(raw)


def _shown(artifact: Artifact) -> JsonObject:
    return {
        "name": artifact.name,
        "size_in_bytes": artifact.size_in_bytes,
        "archive_download_url": artifact.archive_download_url,
    }
