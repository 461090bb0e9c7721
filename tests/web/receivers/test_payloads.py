"""What is read of the payloads of registries and forges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import JsonObject
from homeostat.web.receivers.push import MOST_PUSHES, GitPush, Headers, ImagePush, PayloadError
from homeostat.web.receivers.senders import FORGES, REGISTRIES
from tests.web.receivers.payloads import (
    DIGEST,
    DISTRIBUTION,
    DOCKER_HUB,
    GITEA_PACKAGE,
    GITHUB_PUSH,
    GITLAB_PUSH,
    HARBOR,
    HARBOR_CLOUD_EVENT,
    QUAY,
    event,
    github_package,
)

SHOP = GitPush(
    repository="acme/shop",
    urls=(
        "https://git.example.org/acme/shop.git",
        "git@git.example.org:acme/shop.git",
        "https://git.example.org/acme/shop",
    ),
    ref="refs/heads/main",
    commit="c" * 40,
)


@pytest.mark.parametrize(
    ("sender", "headers", "body", "expected"),
    [
        ("distribution", {}, DISTRIBUTION, [("registry.example.org:5000", "contracts/ledger", "1.4.0", DIGEST)]),
        ("distribution", {}, event(), [("registry.example.org:5000", "contracts/ledger", "1.4.0", DIGEST)]),
        ("distribution", {}, {"events": [event("delete")]}, []),
        ("docker-hub", {}, DOCKER_HUB, [("docker.io", "acme/ledger", "1.4.0", "")]),
        ("harbor", {}, HARBOR, [("harbor.example.org", "contracts/ledger", "1.4.0", DIGEST)]),
        ("harbor", {}, HARBOR_CLOUD_EVENT, [("harbor.example.org", "contracts/ledger", "", DIGEST)]),
        ("harbor", {}, HARBOR | {"type": "PULL_ARTIFACT"}, []),
        (
            "quay",
            {},
            QUAY,
            [
                ("quay.example.org", "contracts/ledger", "1.4.0", ""),
                ("quay.example.org", "contracts/ledger", "latest", ""),
            ],
        ),
        ("quay", {}, {"docker_url": "quay.example.org/a/b", "vulnerability": {}}, []),
        (
            "github",
            {"x-github-event": "registry_package"},
            github_package(),
            [("ghcr.io", "acme/ledger", "1.4.0", DIGEST)],
        ),
        (
            "github",
            {"x-github-event": "package"},
            github_package("package", "updated"),
            [("ghcr.io", "acme/ledger", "1.4.0", DIGEST)],
        ),
        ("github", {"x-github-event": "package"}, github_package("package", kind="npm"), []),
        ("github", {"x-github-event": "ping"}, {"zen": "x"}, []),
        ("gitea", {"x-gitea-event": "package"}, GITEA_PACKAGE, [("git.example.org", "acme/ledger", "1.4.0", "")]),
        ("gitea", {"x-gitea-event": "package"}, GITEA_PACKAGE | {"action": "deleted"}, []),
    ],
)
def test_pushes_to_registries(sender: str, headers: Headers, body: JsonObject, expected: list[tuple[str, ...]]) -> None:
    assert REGISTRIES[sender].read(headers, body) == [ImagePush(*each) for each in expected]


@pytest.mark.parametrize(
    ("sender", "headers", "body", "expected"),
    [
        ("github", {"x-github-event": "push"}, GITHUB_PUSH, [SHOP]),
        ("gitea", {"x-gitea-event": "push"}, GITHUB_PUSH, [SHOP]),
        ("gitea", {"x-forgejo-event": "push"}, GITHUB_PUSH, [SHOP]),
        ("gitlab", {"x-gitlab-event": "Push Hook"}, GITLAB_PUSH, [SHOP]),
        ("github", {"x-github-event": "issues"}, GITHUB_PUSH, []),
        ("gitlab", {"x-gitlab-event": "Note Hook"}, GITLAB_PUSH, []),
    ],
)
def test_pushes_to_forges(sender: str, headers: Headers, body: JsonObject, expected: list[GitPush]) -> None:
    assert FORGES[sender].read(headers, body) == expected


def test_a_deleted_branch_has_no_commit_and_a_tag_has_no_branch() -> None:
    gone = FORGES["github"].read({"x-github-event": "push"}, GITHUB_PUSH | {"after": "0" * 40})[0]
    tagged = FORGES["gitlab"].read({"x-gitlab-event": "Tag Push Hook"}, GITLAB_PUSH | {"ref": "refs/tags/v1"})[0]
    assert (gone.commit, gone.branch, tagged.branch) == ("", "main", "")


@pytest.mark.parametrize("sender", sorted({*REGISTRIES} - {"github", "gitea"}))
def test_a_payload_of_another_sender_is_an_error(sender: str) -> None:
    with pytest.raises(PayloadError, match="missing"):
        REGISTRIES[sender].read({}, {"zen": "x"})


def test_a_payload_has_limits() -> None:
    with pytest.raises(PayloadError, match="at most 1000"):
        REGISTRIES["distribution"].read({}, {"events": [event()] * (MOST_PUSHES + 1)})
    with pytest.raises(PayloadError, match="1024 characters"):
        REGISTRIES["docker-hub"].read({}, {"push_data": {}, "repository": {"repo_name": "x" * 2000}})


_OUTER = ["events", "push_data", "repository", "package", "type", "updated_tags", "object_kind", "project", "ref"]
_INNER = [*_OUTER, "target", "data", "event_data", "resources", "action", "name"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_INNER), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(_OUTER), JSON))
def test_any_payload_is_read_or_refused(body: JsonObject) -> None:
    headers = {"x-github-event": "package", "x-gitea-event": "push", "x-gitlab-event": "Push Hook"}
    for read in (*(each.read for each in REGISTRIES.values()), *(each.read for each in FORGES.values())):
        try:
            read(headers, body)
        except PayloadError:
            continue
