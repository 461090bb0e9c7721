"""What a pass would do, computed in this process and without writing: the same engine as the operator's."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from homeostat.cli.image.targets import Known
from homeostat.client.base import Client
from homeostat.external.git.errors import GitError
from homeostat.external.rest.client import RestClient
from homeostat.operators.images.act import apply
from homeostat.operators.images.batching.group import group_of, grouped
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.decide import Due, Plan, Settled, decide
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.entry import failed, skipped
from homeostat.operators.images.observe import Observer
from homeostat.operators.images.pulls.batch import branch_of
from homeostat.operators.images.settings import read_settings
from homeostat.operators.images.sources.builds import Builds
from homeostat.operators.images.sources.forges import Forges, UnknownForgeError
from homeostat.operators.images.sources.images import Images
from homeostat.operators.images.sources.repositories import Repositories, git_problem
from homeostat.operators.images.sources.secrets import MissingSecretError, Secrets
from homeostat.operators.images.world import Problem


class Preview:
    """The plan of one repository, and the difference that it would push."""

    def __init__(self, plan: Plan, diff: str) -> None:
        self.plan, self.diff = plan, diff


async def previews(client: Client, tracked: Sequence[Tracked], known: Known, *, allows_file: bool) -> list[Preview]:
    """One for each manifests repository, and one for all that are not enabled."""
    settings = read_settings(os.environ)
    off = [
        Settled(tracked=each, entry=skipped(each), reason="Disabled") for each in tracked if not each.settings.enabled
    ]
    found = [Preview(Plan(tuple(off), ()), "")] if off else []
    with TemporaryDirectory(prefix="homeostat-image-") as directory:
        async with RestClient() as rest:
            forges = Forges(rest, settings)
            repositories = Repositories(Path(directory), lambda *_: None, rest, allows_file=allows_file)
            observer = Observer(
                client,
                repositories,
                images=Images(rest, lambda _: None),
                builds=Builds(rest, forges, github_api=settings.github_api, gitlab_api=settings.gitlab_api),
                records=known,
                settings=settings,
            )
            memory = Memory()
            for group, all_members in grouped(tracked).items():
                members, refused = await observer.admit(all_members, memory)
                found += [_failed([each], problem) for each, problem in refused]
                if not members:
                    continue
                remote = await observer.remote(group, memory)
                if isinstance(remote, Problem):
                    found.append(_failed(members, remote))
                    continue
                subjects = await observer.subjects(group, members, memory)
                try:
                    async with repositories.cache.open(remote) as repository:
                        world, _ = await observer.world(group, subjects, repository)
                except GitError as error:
                    problem = git_problem(error, "manifest_repository", remote, group.branch)
                    found.append(_failed(members, problem))
                    continue
                verdicts = await observer.survey(world)
                plan = decide(verdicts, await observer.states(verdicts, memory), {})
                plan = await _proposable(plan, forges, observer.secrets(memory))
                applied = apply(world.files, plan.updates)
                found.append(Preview(plan, "".join(diffs(world.files, applied.files))))
    return found


async def _proposable(plan: Plan, forges: Forges, secrets: Secrets) -> Plan:
    """Without changes that no pull request can be opened for: the forge is unknown, or its token."""
    settled, updates = list(plan.settled), list[Due]()
    for due in plan.updates:
        try:
            if due.rules.pull is not None:
                await forges.pulls(due.tracked.settings.manifest_repository, due.rules.pull, secrets)
            updates.append(due)
        except (UnknownForgeError, MissingSecretError) as error:
            entry = failed(due.tracked, str(error))
            settled.append(Settled(tracked=due.tracked, entry=entry, reason="InvalidAnnotation"))
    return Plan(tuple(settled), tuple(updates))


def delivery_of(due: Due) -> str:
    """How a change would reach its branch."""
    settings, pull = due.tracked.settings, due.rules.pull
    if pull is None:
        return f"a push to {settings.observe_branch}"
    return f"a pull request from {branch_of(group_of(settings), pull)} to {settings.observe_branch}"


def signed_of(due: Due) -> str:
    """Only an image whose signature is valid is due where one is required."""
    return f", signed by a key of the Secret {due.rules.cosign_secret_name}" if due.rules.cosign_secret_name else ""


def diffs(before: Mapping[str, bytes | Problem], after: Mapping[str, bytes]) -> Iterator[str]:
    """Unified differences, as `git diff` prints them."""
    for path, data in sorted(after.items()):
        old = before[path]
        lines = _lines(old) if isinstance(old, bytes) else []
        for line in difflib.unified_diff(lines, _lines(data), fromfile=f"a/{path}", tofile=f"b/{path}"):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    return data.decode(errors="replace").splitlines(keepends=True)


def _failed(members: Sequence[Tracked], problem: Problem) -> Preview:
    settled = [Settled(tracked=each, entry=failed(each, problem.text), reason=problem.reason) for each in members]
    return Preview(Plan(tuple(settled), ()), "")
