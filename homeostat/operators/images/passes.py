"""A pass over one group: observe, decide, act once, and report the outcome of each Deployment."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from homeostat.client.base import UnreachableError
from homeostat.edge.turn import Turn, map_concurrently
from homeostat.external.git.errors import GitError
from homeostat.objects.errors import ApiError
from homeostat.objects.time.age import epoch_of
from homeostat.operators.images.act import Actor, retry_after_s
from homeostat.operators.images.batching.group import Group
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.decide import Due, Settled, decide
from homeostat.operators.images.engine.annotations import DEFAULT_NAMESPACE, Tracked
from homeostat.operators.images.engine.entry import Entry, failed, patched
from homeostat.operators.images.engine.rules import rules_of
from homeostat.operators.images.observe import Observer
from homeostat.operators.images.pulls.batch import Batch, batches_of, is_proposed, without
from homeostat.operators.images.pulls.proposal import OpenProposal, TooManyProposalsError
from homeostat.operators.images.pulls.propose import Proposer
from homeostat.operators.images.records import Records
from homeostat.operators.images.reporting.reporter import NOT_RECORDED, Found, Reporter, all_failed, failure_note
from homeostat.operators.images.sources.repositories import Repositories, git_problem
from homeostat.operators.images.sources.secrets import MissingSecretError, SecretName, UnreadableSecretError
from homeostat.operators.images.status import Outcome
from homeostat.operators.images.world import Problem

log = logging.getLogger(__name__)
_WRITES_AT_ONCE: Final = 32
_CLEAR_AGAIN_S: Final = 60.0


class Outcomes(msgspec.Struct, frozen=True):
    """By `NAMESPACE/NAME`: the entries, and when to reconcile again sooner than at the next interval."""

    entries: Mapping[str, Entry]
    retries_s: Mapping[str, float]


class _Scope(msgspec.Struct, frozen=True):
    """What one pass is about."""

    group: Group
    members: Sequence[Tracked]
    proposals: Sequence[OpenProposal]
    unknown: frozenset[str]
    """Workloads that may not use what they name, or of which it is not known whether they exist, by `NAMESPACE/NAME`.
    """


class _Cleared(msgspec.Struct, frozen=True):
    """What a pass did with proposals that nobody needs."""

    gone: list[OpenProposal]
    """No longer on their branches."""
    problems: dict[str, str]
    """By branch: why it could not be cleared."""


class Passes:
    def __init__(
        self,
        repositories: Repositories,
        observer: Observer,
        actor: Actor,
        proposer: Proposer,
        *,
        records: Records,
        reporter: Reporter,
        current: Callable[[str, str], Tracked | None],
        knows: Callable[[str, str], bool],
        keep_s: float,
    ) -> None:
        self._repositories, self._observer = repositories, observer
        self._actor, self._proposer = actor, proposer
        self._records, self._reporter = records, reporter
        self._current, self._knows, self._keep_s = current, knows, keep_s
        self._turn = Turn()
        self._waits: dict[str, tuple[str, int]] = {}
        self._problems: dict[Group, dict[str, str]] = {}
        """Why branches of a group could not be cleared, as it was last logged."""

    def groups(self) -> set[Group]:
        """Those with proposals, also where no workload is left."""
        return set(self._records.open_proposals())

    async def run(self, group: Group, members: Sequence[Tracked], memory: Memory) -> Outcomes:
        """Checks who may use what it names, delivers what is due, clears what nobody needs, and reports all of it."""
        began = time.monotonic()
        proposals = tuple(self._records.open_proposals().get(group, ()))
        admitted, refused = await self._observer.admit(members, memory)
        found = [each for one, problem in refused for each in all_failed([one], problem)]
        cleared = _Cleared([], {})
        unclearable = {one.key for one, _ in refused}
        unclearable |= await self._unclearable(
            [each for each in proposals if each.key not in unclearable], cleared, memory
        )
        # A Secret is used for a proposal only if it might be used for the workload as well.
        if admitted or any(each.key not in unclearable for each in proposals):
            found += await self._deliver(_Scope(group, admitted, proposals, frozenset(unclearable)), memory, cleared)
        waiting_s = await self._release(proposals, cleared.gone, memory)
        self._log_problems(group, proposals, cleared)
        await map_concurrently(self._reporter.report, found, at_once=_WRITES_AT_ONCE, turn=self._turn)
        self._reporter.count_pass(found, time.monotonic() - began)
        retries = {each.tracked.key: each.retry_s for each in found if each.retry_s is not None}
        return Outcomes({each.tracked.key: each.outcome.entry for each in found}, retries | waiting_s)

    async def _unclearable(self, proposals: Sequence[OpenProposal], cleared: _Cleared, memory: Memory) -> set[str]:
        """The workloads whose proposals stay, because they must not be cleared, or may be needed; adds the reasons to
        `cleared`.
        """
        _, refused = await self._observer.admit([each.tracked for each in proposals], memory)
        reasons = {one.key: problem.text for one, problem in refused}
        for each in proposals:
            if self._current(*each.record) is None and not self._knows(each.record[0], each.tracked.label):
                text = f"whether {each.key} exists is unknown: its kind is not served, was not listed, or is unreadable"
                reasons.setdefault(each.key, text)
        cleared.problems.update({each.branch: reasons[each.key] for each in proposals if each.key in reasons})
        return set(reasons)

    def _log_problems(self, group: Group, proposals: Sequence[OpenProposal], cleared: _Cleared) -> None:
        """Once, until the reason is another one."""
        last = self._problems.pop(group, {})
        for branch, reason in cleared.problems.items():
            if last.get(branch) != reason:
                log.warning("failed to clear pull request", extra={"branch": branch, "reason": reason})
        kept = {each.branch for each in proposals if each not in cleared.gone}
        known = {branch: reason for branch, reason in (last | cleared.problems).items() if branch in kept}
        if known:
            self._problems[group] = known

    async def _deliver(self, scope: _Scope, memory: Memory, cleared: _Cleared) -> list[Found]:
        """Adds to `cleared` what it did with the branches."""
        group, members = scope.group, scope.members
        remote = await self._observer.remote(group, memory)
        if isinstance(remote, Problem):
            return all_failed(members, remote)
        # The tags are asked for first: who only waits for a branch should not hold the cache of the manifests.
        subjects = await self._observer.subjects(group, members, memory)
        try:
            async with self._repositories.cache.open(remote) as repository:
                world, _ = await self._observer.world(group, subjects, repository)
                verdicts = await self._observer.survey(world)
                states = await self._observer.states(verdicts, memory)
                plan = decide(verdicts, states, self._waited(members))
                settled = [self._settled(each) for each in plan.settled]
                batches = batches_of(group, plan, scope.proposals, scope.unknown)
                if not plan.updates and not batches:
                    return settled
                pushed = dict[str, Outcome]()
                batches = await self._record_attempts(plan.updates, batches, pushed)
                secrets = self._observer.secrets(memory)
                signing = await secrets.signing(SecretName(group.secret_namespace, group.secret_name))
                if direct := [each for each in plan.updates if not is_proposed(each)]:
                    pushed |= await self._actor.push(repository, group.branch, direct, signing)
                records = {each.key: self._records.of(each) for each in members}
                for batch in batches:
                    delivered = await self._proposer.propose(repository, batch, records, secrets, signing)
                    pushed |= delivered.outcomes
                    if delivered.is_clear:
                        cleared.gone.extend(batch.unneeded)
                    elif delivered.problem and not batch.updates:
                        cleared.problems[batch.branch] = delivered.problem
        except GitError as error:
            return all_failed(members, git_problem(error, "manifest_repository", remote, group.branch))
        return settled + [self._updated(each.tracked, each.commit, pushed[each.tracked.key]) for each in plan.updates]

    async def _record_attempts(
        self, updates: Sequence[Due], batches: Sequence[Batch], outcomes: dict[str, Outcome]
    ) -> list[Batch]:
        """Writes what is about to be pushed. A proposal that could not be written is left out, with its outcome added
        to `outcomes`: after a crash nobody would know of its branch.
        """
        branches = {each.tracked.key: batch.branch for batch in batches for each in batch.updates}

        async def note(due: Due) -> None:
            key = due.tracked.key
            problem = await self._record_attempt(due, branches.get(key, ""))
            if problem and key in branches:
                outcomes[key] = _not_recorded(due, problem)

        await map_concurrently(note, updates, at_once=_WRITES_AT_ONCE, turn=self._turn)
        found = [without(each, outcomes.keys()) for each in batches]
        return [new for old, new in zip(batches, found, strict=True) if new.updates or not old.updates]

    async def _release(
        self, proposals: Sequence[OpenProposal], cleared: Sequence[OpenProposal], memory: Memory
    ) -> dict[str, float]:
        """Forgets proposals that were cleared, and those of a deleted ImageUpdate that cannot be. Returns when to try
        again.
        """
        waiting_s = dict[str, float]()
        for each in proposals:
            if each in cleared:
                await self._records.release(each)
            elif each.deleted is None:
                continue
            elif self._current(*each.record) is not None:
                # Somebody deleted only the ImageUpdate, or the workload is there again: the next pass creates it.
                await self._records.release(each)
            elif await self._is_hopeless(each, memory):
                log.warning("gave up clearing pull request", extra={"deployment": each.key, "branch": each.branch})
                await self._records.release(each)
            else:
                waiting_s["/".join(each.record)] = _CLEAR_AGAIN_S
        return waiting_s

    async def _is_hopeless(self, proposal: OpenProposal, memory: Memory) -> bool:
        """Whether a Secret that is needed is gone, as in a namespace that is deleted, or it has taken too long."""
        deleted_s = epoch_of(proposal.deleted or "")
        if deleted_s is None or self._observer.now().timestamp() - deleted_s >= self._keep_s:
            return True
        secrets, tokens = self._observer.secrets(memory), rules_of(proposal.tracked.annotations).pull_rules.secrets
        names = [SecretName(proposal.group.secret_namespace, proposal.group.secret_name)]
        names += [SecretName(each.namespace or DEFAULT_NAMESPACE, each.name) for each in tokens]
        for name in names:
            try:
                await secrets.find(name)
            except UnreadableSecretError:
                continue
            except MissingSecretError:
                return True
        return False

    def _waited(self, members: Sequence[Tracked]) -> dict[str, int]:
        return {each.key: self._waits[each.key][1] for each in members if each.key in self._waits}

    def _settled(self, settled: Settled) -> Found:
        key = settled.tracked.key
        if settled.reason == "Building":
            tag, count = self._waits.get(key, ("", 0))
            self._waits[key] = (settled.wanted, count + 1 if tag == settled.wanted else 1)
        else:
            self._waits.pop(key, None)
        outcome = Outcome(
            entry=settled.entry,
            reason=settled.reason,
            tag=settled.tag,
            wanted=settled.wanted,
            since=settled.since,
            pin=settled.pin,
        )
        note = settled.note or failure_note(outcome) or self._recovered_note(settled)
        return Found(settled.tracked, outcome, settled.retry_s, note, settled.commit)

    def _recovered_note(self, settled: Settled) -> str:
        """Of a tag that we pushed just before a crash: the push succeeded, and nobody was notified."""
        before = self._records.status(settled.tracked)
        is_ours = settled.reason == "UpToDate" and before.attempt == settled.tag and before.tag != settled.tag
        return patched(settled.tracked, old=before.tag or "", new=settled.tag).message if is_ours else ""

    def _updated(self, tracked: Tracked, commit: str, outcome: Outcome) -> Found:
        self._waits.pop(tracked.key, None)
        is_patched = outcome.entry.action == "patched"
        note = outcome.entry.message if is_patched else failure_note(outcome)
        return Found(tracked, outcome, outcome.retry_s or retry_after_s(outcome), note, commit)

    async def _record_attempt(self, due: Due, branch: str) -> str:
        """Why it could not be written; empty if it was."""
        try:
            await self._records.attempt(due.tracked, due.target.tag, old=due.old, branch=branch)
        except (ApiError, UnreachableError) as error:
            log.warning("failed to record attempt", extra={"deployment": due.tracked.key, "reason": str(error)})
            return f"cannot write its ImageUpdate: {error}; the next pass tries again"
        except TooManyProposalsError as error:
            return str(error)
        return ""


def _not_recorded(due: Due, problem: str) -> Outcome:
    return Outcome(
        entry=failed(due.tracked, f"{due.target.tag} is not proposed: {problem}"),
        reason=NOT_RECORDED,
        wanted=due.target.tag,
        since=due.since,
    )
