"""An open proposal: a branch with a change of a workload, which the operator has to clear once nobody needs it.

It is written to the status of the workload's ImageUpdate before the branch is pushed, together with the annotations
that say where the branch is, and removed when the change is no longer on it. So a request is closed also if its
workload was deleted, lost its annotations or names another repository by now. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final, NamedTuple

import msgspec

from homeostat.operators.images.api import MOST_PROPOSALS, ImageUpdate, ImageUpdateStatus, Proposal
from homeostat.operators.images.batching.group import Group, group_of
from homeostat.operators.images.engine.annotations import DEFAULT_BRANCH, PREFIX, Tracked, remembered
from homeostat.operators.images.engine.rules import FORGES, RulesError, rules_of

_NEEDED: Final = frozenset(
    {
        "enabled",
        "app_repository",
        "manifest_repository",
        "image_name",
        "deployment_path",
        "observe_branch",
        "ssh_key_name",
        "ssh_key_namespace",
        "registry_secret_url",
        "registry_secret_name",
        "registry_secret_namespace",
        "delivery",
        "forge",
        "pull_request_branch",
        "pull_request_secret_name",
        "pull_request_secret_namespace",
        *(f"{each}_token_secret_{part}" for each in FORGES for part in ("name", "namespace")),
    }
)
"""What says where the branch is and which credentials may be used there."""
Key = tuple[str, str]


class TooManyProposalsError(ValueError):
    """A workload has proposals on too many branches; the text says what to do."""


class OpenProposal(NamedTuple):
    record: Key
    """Namespace and name of the ImageUpdate."""
    branch: str
    tracked: Tracked
    """The workload: as it is if it still proposes changes to the same branch of the same repository, else as it was,
    but always with the key of the group: who may use the one may not use the other.
    """
    group: Group
    """With the key that the workload names now, if it still names the repository."""
    deleted: str | None = None
    """When the ImageUpdate was deleted; it stays until its proposals are cleared."""

    @property
    def key(self) -> str:
        return self.tracked.key


def proposal_of(tracked: Tracked, branch: str) -> Proposal:
    settings = {name.removeprefix(PREFIX): value for name, value in tracked.annotations.items()}
    return Proposal(
        branch=branch,
        workload=tracked.label,
        settings={name: value for name, value in sorted(settings.items()) if name in _NEEDED},
    )


def open_proposals(update: ImageUpdate, status: ImageUpdateStatus, current: Tracked | None) -> list[OpenProposal]:
    """`current` is the workload, if it is tracked. A proposal that cannot be read is not the operator's."""
    found = list[OpenProposal]()
    for each in status.proposals:
        old = remembered(each.workload, update.metadata.namespace, each.settings)
        if old is not None and _asks_for_requests(old):
            tracked, group = _now(old, current)
            key = (update.metadata.namespace, update.metadata.name)
            found.append(OpenProposal(key, each.branch, tracked, group, update.metadata.deletion_timestamp))
    return found


def _now(old: Tracked, current: Tracked | None) -> tuple[Tracked, Group]:
    before = group_of(old.settings)
    if current is None or not current.settings.enabled:
        return old, before
    now = group_of(current.settings)
    if (now.repository, now.branch) != (before.repository, before.branch):
        return old, before
    if _asks_for_requests(current):
        return current, now
    key = msgspec.structs.replace(old.settings, ssh_key_namespace=now.secret_namespace, ssh_key_name=now.secret_name)
    return msgspec.structs.replace(old, settings=key), now


def _asks_for_requests(tracked: Tracked) -> bool:
    try:
        return rules_of(tracked.annotations).pull is not None
    except RulesError:
        return False


def with_proposal(proposals: Iterable[Proposal], new: Proposal) -> tuple[Proposal, ...]:
    """The newest first; `TooManyProposalsError` rather than to forget one."""
    kept = [each for each in proposals if _place(each) != _place(new)]
    if len(kept) >= MOST_PROPOSALS:
        raise TooManyProposalsError(
            f"it has proposals on {len(kept)} other branches, and at most {MOST_PROPOSALS} are remembered, so "
            f"{new.branch} is not pushed; see status.proposals of its ImageUpdate, and let the operator reach those "
            "repositories to clear them"
        )
    return (new, *kept)


def without_proposal(proposals: Iterable[Proposal], gone: OpenProposal) -> tuple[Proposal, ...]:
    place = (gone.group.repository, gone.group.branch, gone.branch)
    return tuple(each for each in proposals if _place(each) != place)


def _place(proposal: Proposal) -> tuple[str, str, str]:
    """One branch of one repository, whatever key it is reached with."""
    given = proposal.settings
    return given.get("manifest_repository", ""), given.get("observe_branch", DEFAULT_BRANCH), proposal.branch


def unneeded_of(
    proposals: Iterable[OpenProposal], branches: Mapping[str, str], unknown: Set[str]
) -> list[OpenProposal]:
    """Those that no workload needs: `branches` has the branch of each workload with a change that is due, by
    `NAMESPACE/NAME`, and `unknown` those of which it is not known now what they need.
    """
    return [each for each in proposals if branches.get(each.key) != each.branch and each.key not in unknown]
