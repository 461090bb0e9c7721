"""`/dashboard/images/{namespace}/{record}`: one tracked workload: its tags, what was committed, and pins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.operators.images.api import IMAGE_UPDATE, PINNED, REQUESTED, Written, owned
from homeostat.operators.images.engine.annotations import PREFIX, Tracked
from homeostat.web.dashboard.commit import commit_link
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.command import Action, actions, command, nothing, shell
from homeostat.web.dashboard.html.components import chip, facts, many, message_text, moment, path_text
from homeostat.web.dashboard.html.conditions import conditions_table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el, link
from homeostat.web.dashboard.html.redaction import plain_text, without_credentials
from homeostat.web.dashboard.link import joined, object_link
from homeostat.web.dashboard.objects.access import may
from homeostat.web.dashboard.visit import Visit
from homeostat.web.images.dashboard.images import HERE, TITLE, image_path, state_chip, tag_text
from homeostat.web.images.dashboard.pods import running_tags
from homeostat.web.images.dashboard.update import NOT_APPLIED, Update
from homeostat.web.images.dashboard.updates import TrackedUpdates
from homeostat.web.kit.gate import Question
from homeostat.web.kit.refusal import RefusalError, forbidden, unknown

_KIND: Final = IMAGE_UPDATE.kind
_LONGEST_REASON: Final = 1000
_MOST_OF_BATCH: Final = 20
_RULES: Final = ("update_policy", "minimum_age", "freeze", "delivery", "pin_digest", "platforms", "value_path")


class ImagePage:
    def __init__(
        self, client: Client, updates: TrackedUpdates, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._client, self._updates, self._now = client, updates, now

    async def show(self, visit: Visit) -> Page:
        update = await self._find(visit)
        tracked, result = update.tracked, update.status.result
        title = el("h1", tracked.label, " ", state_chip(update))
        said = update.explanation or (plain_text(result.message) if result is not None else "")
        message = message_text(said, "message") if said else None
        content: list[Node] = [
            el("p", el("a", TITLE, href=HERE), class_="crumbs"),
            el("div", el("div", title, message), class_="title"),
            actions(visit.viewer.proof, await self._actions(visit, update)),
            _hint(update),
            await self._tags(visit, update),
            _facts(update, await _objects(visit, update)),
            _rules(tracked),
            _history(update, await self._updates.all(visit)),
            conditions_table(update.status.conditions, (PINNED,)),
            el("p", "To see the next change before it is pushed: ", command(_dry_run(tracked)), class_="note"),
        ]
        return Page(tracked.label, content, TITLE)

    async def request(self, visit: Visit) -> str:
        """Triggers a pass over the workload."""
        update = await self._find(visit)
        tracked = update.tracked
        await _check(visit, _of_workload(tracked))
        if update.pin is not None:
            unpin = shell("homeostat", "image", "unpin", tracked.key)
            raise RefusalError(409, f"{tracked.title} is pinned at {update.pin.tag}; unpin it first: {unpin}")
        patch: JsonObject = {"metadata": {"annotations": {REQUESTED: format_micro_time(self._now())}}}
        await visit.client(self._client).merge(tracked.kind.path(tracked.namespace, tracked.name), patch)
        return image_path(update)

    async def pin(self, visit: Visit) -> str:
        update = await self._find(visit)
        tracked = update.tracked
        await _check(visit, _of_record(tracked))
        given = read_form(visit.request).get("reason", "").strip()[:_LONGEST_REASON]
        reason = given or f"pinned by {visit.caller.username}"
        spec: JsonObject = {"pin": {"tag": update.status.tag or tracked.version, "reason": reason}}
        try:
            await visit.client(self._client).merge(_KIND.path(tracked.namespace, tracked.record), {"spec": spec})
        except NotFoundError:
            await _check(visit, _of_record(tracked, "create"))
            await visit.client(self._client).create(_KIND.path(tracked.namespace), {**owned(tracked), "spec": spec})
        return image_path(update)

    async def unpin(self, visit: Visit) -> str:
        update = await self._find(visit)
        tracked = update.tracked
        await _check(visit, _of_record(tracked))
        await visit.client(self._client).merge(_KIND.path(tracked.namespace, tracked.record), {"spec": {"pin": None}})
        return image_path(update)

    async def _find(self, visit: Visit) -> Update:
        namespace, record = visit.captured["namespace"], visit.captured["record"]
        found = await self._updates.find(visit, namespace, record)
        if found is None:
            raise unknown(f"no tracked workload {namespace}/{record}; list them with: homeostat image status")
        return found

    async def _tags(self, visit: Visit, update: Update) -> Markup:
        """The way of a tag: from the newest commit to the manifests, to the workload, to its Pods."""
        tracked, status = update.tracked, update.status
        since = el("span", "since ", moment(status.since), class_="note") if status.since else None
        pods = await running_tags(visit, self._client, update)
        run = "unknown" if not pods else "same" if set(pods) <= {tracked.version} else "other"
        steps: list[tuple[str, Node, str]] = [
            ("Newest", [tag_text(status.wanted or ""), since], "same" if status.wanted else "unknown"),
            ("In Git", tag_text(status.tag or ""), _compared(status.tag, status.wanted)),
            (f"In the {tracked.kind.kind}", tag_text(tracked.version), _compared(tracked.version, status.tag)),
            ("Pods run", _pods(pods), run),
        ]
        items = [
            el("li", el("span", name, class_="step"), el("div", value), class_=look) for name, value, look in steps
        ]
        return el("ol", items, class_="way", aria_label="How far the newest tag has come")

    async def _actions(self, visit: Visit, update: Update) -> list[Action]:
        tracked, path, found = update.tracked, image_path(update), list[Action]()
        workload = _of_workload(tracked)
        # Of a pinned workload a pass changes nothing, so that a button would promise too much.
        if update.pin is None and await visit.caller.allows(workload) and await self._may_act(visit, tracked):
            label = shell("homeostat", "image", "update", tracked.key)
            found.append(Action("Update now", f"{path}/update", label, is_primary=True))
        if not await visit.caller.allows(_of_record(tracked)):
            return found
        if update.pin is not None:
            unpin = shell("homeostat", "image", "unpin", tracked.key)
            return [*found, Action("Unpin", f"{path}/unpin", unpin, is_primary=True)]
        if not update.exists and not await visit.caller.allows(_of_record(tracked, "create")):
            return found
        return [*found, Action("Pin", f"{path}/pin", shell("homeostat", "image", "pin", tracked.key))]

    async def _may_act(self, visit: Visit, tracked: Tracked) -> bool:
        """Administrators of the REST API act as this server, which by default may only read workloads of a cluster."""
        return await may(visit.client(self._client), "patch", tracked.kind, tracked.namespace, tracked.name)


def _compared(tag: str | None, before: str | None) -> str:
    """With the step before; a tag that nobody could read is not called the same."""
    if not tag or not before:
        return "unknown"
    return "same" if tag == before else "other"


async def _check(visit: Visit, question: Question) -> None:
    if not await visit.caller.allows(question):
        raise forbidden(
            f"{visit.caller.username} is not allowed to {question.verb} {question.resource} in the namespace "
            f"{question.namespace}"
        )


def _of_workload(tracked: Tracked) -> Question:
    return Question(tracked.kind.group, tracked.kind.plural, "patch", tracked.namespace, tracked.name)


def _of_record(tracked: Tracked, verb: str = "patch") -> Question:
    # A name is not known to the server before an object is created.
    name = "" if verb == "create" else tracked.record
    return Question(_KIND.group, _KIND.plural, verb, tracked.namespace, name)


def _hint(update: Update) -> Node:
    """What somebody does next, where the buttons do not say it."""
    tracked = update.tracked
    if update.pin is not None:
        text = "Pinned: passes change nothing until somebody unpins it. Then wait for the next pass, or update it now: "
        return el("p", text, command(shell("homeostat", "image", "update", tracked.key)), class_="note")
    if update.state == NOT_APPLIED:
        path = tracked.settings.deployment_path
        text = "The program that deploys the manifests repository applies them; by hand, in a checkout of it: "
        return el("p", text, command(shell("homeostat", "apply", "-f", path)), class_="note")
    return None


def _pods(counts: Mapping[str, int] | None) -> Node:
    if counts is None:
        return el("span", "unknown", class_="quiet")
    if not counts:
        return el("span", "no Pods", class_="quiet")
    return [
        el("div", tag_text(tag), " ", el("span", many(count, "Pod"), class_="note"))
        for tag, count in sorted(counts.items(), key=lambda each: -each[1])
    ]


def _dry_run(tracked: Tracked) -> str:
    return shell("homeostat", "image", "update", "--dry-run", tracked.key)


async def _objects(visit: Visit, update: Update) -> Node:
    tracked = update.tracked
    found = [await object_link(visit, tracked.kind, tracked.namespace, tracked.name)]
    if update.exists:
        found.append(await object_link(visit, _KIND, tracked.namespace, tracked.record))
    return joined(found)


def _facts(update: Update, objects: Node) -> Markup:
    tracked, status = update.tracked, update.status
    settings, pull, result = tracked.settings, status.pull_request, status.result
    request = link(without_credentials(pull.url)) if pull is not None and pull.url else ""
    return facts(
        ("Namespace", tracked.namespace),
        ("Image", path_text(tracked.container)),
        ("Pinned", _pin(update)),
        ("Application", _repository(settings.app_repository, settings.observe_branch)),
        ("Manifests", _repository(settings.manifest_repository, "")),
        ("File", el("code", settings.deployment_path)),
        ("Last commit", commit_link(settings.manifest_repository, status.commit or "")),
        (
            "Request",
            [request, " ", chip(pull.state, "good" if pull.state == "open" else "warn")] if pull is not None else "",
        ),
        (
            "Last result",
            [result.action.replace("_", " "), el("span", moment(result.time), class_="note")] if result else "",
        ),
        ("Notifications to send", len(status.outbox) or ""),
        wide=[("Objects", objects)],
    )


def _pin(update: Update) -> Node:
    if update.pin is None:
        return "no"
    return [tag_text(update.pin.tag), el("span", plain_text(update.pin.reason), class_="note")]


def _repository(url: str, branch: str) -> Node:
    return [path_text(without_credentials(url)), el("span", f"branch {branch}", class_="note") if branch else None]


def _rules(tracked: Tracked) -> Node:
    given = [(each, tracked.annotations.get(f"{PREFIX}{each}", "")) for each in _RULES]
    shown = [(name.replace("_", " ").capitalize(), el("code", value)) for name, value in given if value]
    return el("section", el("h2", "Rules"), facts(*shown)) if shown else None


def _history(update: Update, known: Sequence[Update]) -> Markup:
    """`known` are all tracked workloads: a pass writes those of one repository with one commit."""
    title = el("h2", "Commits")
    if not update.status.history:
        return el("section", title, nothing("The operator has not changed the tag yet."))
    others = [each for each in known if each.tracked.key != update.tracked.key]
    entries = [
        _entry(update.tracked, each, _committed_with(each, others), at) for at, each in enumerate(update.status.history)
    ]
    return el("section", title, el("ol", entries, class_="history commits"))


def _difference(tracked: Tracked, written: Written) -> list[Node]:
    image, settings = tracked.settings.image, tracked.settings
    where = f"{settings.deployment_path} in {without_credentials(settings.manifest_repository)}"
    lines: list[Node] = [el("span", where, class_="at")]
    if written.old:
        lines.append(el("del", f"- image: {image}:{written.old}"))
    lines.append(el("ins", f"+ image: {image}:{written.new}"))
    return lines


def _committed_with(written: Written, others: Sequence[Update]) -> list[tuple[Update, Written]]:
    """What the same commit changed of other workloads."""
    if not written.commit:
        return []
    return [(each, one) for each in others for one in each.status.history if one.commit == written.commit]


def _entry(tracked: Tracked, written: Written, batch: Sequence[tuple[Update, Written]], at: int) -> Markup:
    """The operator changes nothing but the tag, so the difference follows from the two tags."""
    summary = el(
        "summary",
        chip("committed" if written.commit else "merged", "good"),
        el("span", tag_text(written.old), " → ", tag_text(written.new), class_="why"),
        moment(written.time),
    )
    lines = _difference(tracked, written)
    for other, change in batch[:_MOST_OF_BATCH]:
        lines += _difference(other.tracked, change)
    where = (
        ("Commit", commit_link(tracked.settings.manifest_repository, written.commit)) if written.commit else ("", "")
    )
    links = [el("a", other.tracked.key, href=image_path(other)) for other, _ in batch[:_MOST_OF_BATCH]]
    more = f" and {len(batch) - len(links):,} more" if len(batch) > len(links) else ""
    inside: list[Node] = [
        facts(where, wide=[("In the same commit", [joined(links), more] if links else "")]) if written.commit else None,
        el("div", lines, class_="diff", role="group", aria_label="What the commit changed", tabindex=0),
    ]
    return el(
        "li",
        el("details", summary, el("div", inside, class_="inside"), id=f"commit-{at}-all", open=at == 0),
        id=f"commit-{at}",
    )
