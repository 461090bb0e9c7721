"""Proposals that stand: none is forgotten, each is read once, and the key of its group is the one that is admitted."""

from __future__ import annotations

import pytest

from homeostat.objects.declared import Metadata
from homeostat.operators.images.api import MOST_PROPOSALS, ImageUpdate, ImageUpdateStatus, Proposal
from homeostat.operators.images.batching.group import group_of
from homeostat.operators.images.engine.annotations import Tracked, remembered
from homeostat.operators.images.pulls.index import ProposalIndex
from homeostat.operators.images.pulls.proposal import OpenProposal, TooManyProposalsError, open_proposals, with_proposal

_SETTINGS = {
    "enabled": "true",
    "app_repository": "https://git.example/app.git",
    "manifest_repository": "https://git.example/man.git",
    "image_name": "org/app",
    "deployment_path": "web.yaml",
    "ssh_key_name": "key",
    "ssh_key_namespace": "shop",
}
_REQUESTS = {"delivery": "pull-request", "pull_request_secret_name": "forge"}


def _proposal(branch: str) -> Proposal:
    return Proposal(branch=branch, workload="web", settings=_SETTINGS | _REQUESTS)


def _proposals(name: str = "web", current: Tracked | None = None) -> list[OpenProposal]:
    update = ImageUpdate(metadata=Metadata(name=name, namespace="shop"))
    return open_proposals(update, ImageUpdateStatus(proposals=(_proposal("b"),)), current)


def test_one_proposal_too_many_is_refused_and_a_known_one_is_not() -> None:
    full = tuple(_proposal(str(number)) for number in range(MOST_PROPOSALS))
    with pytest.raises(TooManyProposalsError, match=f"on {MOST_PROPOSALS} other branches.*new is not pushed"):
        with_proposal(full, _proposal("new"))
    assert {each.branch for each in with_proposal(full, _proposal("3"))} == {each.branch for each in full}


def test_a_workload_that_no_longer_asks_for_requests_is_admitted_with_the_key_that_is_used() -> None:
    current = remembered("web", "shop", _SETTINGS | {"ssh_key_name": "other", "ssh_key_namespace": "bank"})
    (found,) = _proposals(current=current)
    assert group_of(found.tracked.settings) == found.group
    assert (found.group.secret_namespace, found.group.secret_name) == ("bank", "other")


def test_only_what_changed_is_read_again() -> None:
    stored = {"web": _proposals("web"), "api": _proposals("api"), "none": []}
    read = list[str]()

    def find(_: str, name: str) -> list[OpenProposal]:
        read.append(name)
        return stored[name]

    index = ProposalIndex(find)
    for name in stored:
        index.mark("shop", name)
    (group,) = index.by_group()
    assert [sorted(each.record[1] for each in index.by_group()[group]) for _ in range(3)] == [["api", "web"]] * 3
    assert sorted(read) == ["api", "none", "web"]
    stored["web"] = []
    index.mark("shop", "web")
    assert [each.record[1] for each in index.by_group()[group]] == ["api"]
    assert sorted(read) == ["api", "none", "web", "web"]
