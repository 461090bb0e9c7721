"""`/dashboard/sync/policies/{namespace}/{name}`: one SyncPolicy, what differs, and what its next sync would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from homeostat.client.base import Client
from homeostat.objects.conditions import READY, find
from homeostat.objects.errors import NotFoundError
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.operators.sync.api.policy import PLAN_REQUESTED, REQUESTED, SYNC_POLICY, PolicyStatus, SyncPolicy
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY
from homeostat.operators.sync.api.server import MANAGED_SERVER
from homeostat.web.dashboard.html.command import Action, actions, annotate, command, nothing, shell
from homeostat.web.dashboard.html.components import chip, facts, many, message_text, moment
from homeostat.web.dashboard.html.conditions import conditions_table, unobserved
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.link import edit_action, edit_link, joined, object_link
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.gate import Question
from homeostat.web.kit.refusal import forbidden, unknown
from homeostat.web.kit.watched import Watched
from homeostat.web.sync.dashboard.dependencies import Dependency, repository_status, repository_url
from homeostat.web.sync.dashboard.differences import resource_list
from homeostat.web.sync.dashboard.plan import plan_section
from homeostat.web.sync.dashboard.policies import (
    HERE,
    REPOSITORIES,
    SERVERS,
    TITLE,
    Clock,
    drift_text,
    policy_path,
    resources_text,
)
from homeostat.web.sync.dashboard.state import PolicyRow, next_run, row_of, state_chip
from homeostat.web.sync.dashboard.syncs import syncs_section

_KIND: Final = SYNC_POLICY.kind


class PolicyPage:
    def __init__(self, client: Client, watched: Watched, now: Clock = lambda: datetime.now(UTC)) -> None:
        self._client, self._watched, self._now = client, watched, now

    async def show(self, visit: Visit) -> Page:
        each = await self._find(visit)
        policy, status = each.policy, each.status
        may_act = await visit.caller.allows(_question(policy.metadata.namespace, policy.metadata.name))
        repository = await self._repository(policy)
        # The newest commit that the operator has seen.
        branch = (repository_status(repository).last_fetched_revision or "") if repository is not None else ""
        content: list[Node] = [
            el("p", el("a", TITLE, href=HERE), class_="crumbs"),
            _title(each),
            await _buttons(visit, policy) if may_act and not policy.is_terminating else None,
            unobserved(policy.metadata.generation, status.observed_generation, status.conditions),
            await _observing(visit, each) if may_act and not policy.is_terminating else None,
            _facts(each, await _objects(visit, policy)),
            _resources(each),
            self._plan(each),
            plan_section(visit.viewer.proof if may_act else "", policy, status, branch),
            syncs_section(status, repository_url(repository) if repository is not None else ""),
            conditions_table(status.conditions),
        ]
        return Page(policy.metadata.name, content, TITLE)

    async def sync(self, visit: Visit) -> str:
        return await self._change(visit, {"metadata": {"annotations": {REQUESTED: format_micro_time(self._now())}}})

    async def plan(self, visit: Visit) -> str:
        stamp = format_micro_time(self._now())
        return await self._change(visit, {"metadata": {"annotations": {PLAN_REQUESTED: stamp}}})

    async def suspend(self, visit: Visit) -> str:
        return await self._change(visit, {"spec": {"suspend": True}})

    async def resume(self, visit: Visit) -> str:
        return await self._change(visit, {"spec": {"suspend": False}})

    async def _change(self, visit: Visit, patch: dict[str, object]) -> str:
        namespace, name = visit.captured["namespace"], visit.captured["name"]
        if not await visit.caller.allows(_question(namespace, name)):
            raise forbidden(
                f"{visit.caller.username} is not allowed to patch syncpolicies in the namespace {namespace}"
            )
        try:
            await visit.client(self._client).merge(_KIND.path(namespace, name), patch)
        except NotFoundError as error:
            raise _missing(namespace, name) from error
        return policy_path(namespace, name)

    async def _find(self, visit: Visit) -> PolicyRow:
        namespace, name = visit.captured["namespace"], visit.captured["name"]
        cache = await self._watched.all(_KIND, SyncPolicy)
        found = cache.readable(namespace, name) if cache is not None else None
        if found is None:
            raise _missing(namespace, name)
        return row_of(found)

    async def _repository(self, policy: SyncPolicy) -> Dependency | None:
        cache = await self._watched.all(RESOURCE_REPOSITORY.kind, Dependency)
        name = policy.spec.resource_repository_ref.name
        return cache.readable(policy.metadata.namespace, name) if cache is not None else None

    def _plan(self, each: PolicyRow) -> Markup:
        """What the next sync would do, as far as the last one has seen it."""
        due, spec, status = next_run(each, self._now()), each.policy.spec, each.status
        steps: list[Node] = [
            [el("strong", "When: "), moment(due.time) if due.time else "", f" ({due.why})" if due.time else due.why],
            [el("strong", "Mode: "), _mode(each)],
        ]
        counts = (
            (status.resource_stats.failed if status.resource_stats is not None else 0, "failed resource", "retried"),
            (
                status.held or 0 if spec.sync.mode != "observe" else 0,
                "held change",
                "checked again, and carried out if allowed by then",
            ),
        )
        steps += [
            f"{many(count, noun)} {'is' if count == 1 else 'are'} {verb}." for count, noun, verb in counts if count
        ]
        undeclared = sum(one.result == "undeclared" for one in status.resources)
        if undeclared:
            what = "deleted" if spec.sync.prune else "kept, because prune is off"
            steps.append(f"{many(undeclared, 'object')} that no file declares: {what}.")
        if spec.sync.mode == "observe":
            steps.append("Nothing is changed: the mode is observe.")
        else:
            steps.append("Everything that differs by then is applied as declared.")
        if spec.sync.mode == "observe":
            return _next_sync(steps, None)
        look = shell(
            "homeostat", "patch", "syncpolicy", each.policy.metadata.name, "-n", each.policy.metadata.namespace
        )
        patch = """--type merge -p '{"spec":{"sync":{"mode":"observe"}}}'"""
        how = el("p", "To see every difference before it is applied: ", command(f"{look} {patch}"), class_="note")
        return _next_sync(steps, how)


def _next_sync(steps: Sequence[Node], how: Node) -> Markup:
    return el("section", el("h2", "Next sync"), el("ul", [el("li", one) for one in steps], class_="steps"), how)


async def _buttons(visit: Visit, policy: SyncPolicy) -> Node:
    edit = await edit_action(visit, _KIND, policy.metadata.namespace, policy.metadata.name)
    return actions(visit.viewer.proof, [*_actions(policy), edit])


async def _observing(visit: Visit, each: PolicyRow) -> Node:
    """Why a sync changes nothing, and what lets it; None in other modes."""
    if each.policy.spec.sync.mode != "observe":
        return None
    where = each.policy.metadata
    patch = shell("homeostat", "patch", "syncpolicy", where.name, "-n", where.namespace, "--type", "merge", "-p")
    text = "edit it and set spec.sync.mode to enforce"
    edit = await edit_link(visit, _KIND, where.namespace, where.name, text)
    return el(
        "p",
        "Nothing is changed: mode is observe, so a sync only compares. To let it change what differs, ",
        [edit, ", or " if edit is not None else ""],
        command(f"""{patch} '{{"spec":{{"sync":{{"mode":"enforce"}}}}}}'"""),
        class_="note",
    )


async def _objects(visit: Visit, policy: SyncPolicy) -> Node:
    spec, namespace = policy.spec, policy.metadata.namespace
    return joined(
        [
            await object_link(visit, _KIND, namespace, policy.metadata.name),
            await object_link(visit, RESOURCE_REPOSITORY.kind, namespace, spec.resource_repository_ref.name),
            await object_link(visit, MANAGED_SERVER.kind, namespace, spec.managed_server_ref.name),
        ]
    )


def _question(namespace: str, name: str) -> Question:
    return Question(_KIND.group, _KIND.plural, "patch", namespace, name)


def _missing(namespace: str, name: str) -> Exception:
    return unknown(f"SyncPolicy {namespace}/{name} not found")


def _mode(each: PolicyRow) -> str:
    options = each.policy.spec.sync
    rules = [options.mode, "prune" if options.prune else "no prune"]
    if set(options.verbs) != {"create", "update", "delete"}:
        rules.append(f"only {', '.join(options.verbs)}")
    rules += [f"allowed {options.allow_windows}"] if options.allow_windows else []
    rules += [f"not {options.deny_windows}"] if options.deny_windows else []
    return ", ".join(rules)


def _title(each: PolicyRow) -> Markup:
    ready = find(each.status.conditions, READY)
    name = el("h1", each.policy.metadata.name, " ", state_chip(each.state))
    message = message_text(ready.message, "message") if ready is not None and ready.message else None
    return el("div", el("div", name, message), class_="title")


def _actions(policy: SyncPolicy) -> list[Action]:
    where = policy.metadata
    path = policy_path(where.namespace, where.name)
    patch = shell("homeostat", "patch", "syncpolicy", where.name, "-n", where.namespace, "--type", "merge", "-p")
    if policy.spec.suspend:
        return [Action("Resume", f"{path}/resume", f"""{patch} '{{"spec":{{"suspend":false}}}}'""", is_primary=True)]
    return [
        Action(
            "Sync now",
            f"{path}/sync",
            annotate("syncpolicy", where.namespace, where.name, REQUESTED),
            is_primary=True,
        ),
        Action("Suspend", f"{path}/suspend", f"""{patch} '{{"spec":{{"suspend":true}}}}'"""),
    ]


def _facts(each: PolicyRow, objects: Node) -> Markup:
    where, spec, status = each.policy.metadata, each.policy.spec, each.status
    repository, server = spec.resource_repository_ref.name, spec.managed_server_ref.name
    return facts(
        ("Namespace", where.namespace),
        ("Source", el("code", spec.source.path)),
        ("Repository", el("a", repository, href=f"{REPOSITORIES}/{where.namespace}/{repository}")),
        ("Server", el("a", server, href=f"{SERVERS}/{where.namespace}/{server}")),
        ("Secret store", spec.secret_store_ref.name),
        ("Interval", spec.sync_interval),
        ("Cron", spec.full_resync_cron or ""),
        ("Last sync", moment(status.last_successful_sync_time, "never")),
        ("Trigger", status.last_trigger or ""),
        ("Last attempt", moment(status.last_attempt_time, "never")),
        ("Last full sync", moment(status.last_full_resync_time, "never")),
        ("Applied revision", _revision(status.last_applied_repo_revision)),
        ("Compared revision", _revision(_attempted(status))),
        ("Resources", resources_text(each)),
        ("Drift", drift_text(each)),
        ("Held", chip(str(status.held), "warn") if status.held else ""),
        ("Failures in a row", status.failure.count if status.failure is not None else ""),
        wide=[("Objects", objects)],
    )


def _attempted(status: PolicyStatus) -> str:
    """Where that is not the applied one: in the mode observe, or if something failed or is held."""
    tried = status.last_attempted_repo_revision or ""
    return tried if tried != status.last_applied_repo_revision else ""


def _revision(revision: str | None) -> Node:
    return el("code", revision[:12], title=revision) if revision else ""


def _resources(each: PolicyRow) -> Markup:
    status = each.status
    title = el("h2", "Differences in the last sync")
    if not status.resources:
        text = (
            "Every resource was as declared in the last sync."
            if status.resource_stats is not None
            else "Not compared yet."
        )
        return el("section", title, nothing(text))
    more = f" {status.resources_omitted:,} more are not listed." if status.resources_omitted else ""
    counts = Counter(each.result for each in status.resources)
    found = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    note = el(
        "p", f"{found}. As the last sync saw them, failed ones first. Secrets are hidden.{more}", class_="summary"
    )
    return el("section", title, note, resource_list(status.resources))
