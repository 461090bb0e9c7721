"""How a Deployment is updated, from annotations that the original does not have. Pure.

| annotation | meaning | default |
|---|---|---|
| `update_policy` | which tag it gets (`policy.py`) | `commit` |
| `pin_digest` | `true`: write the digest behind the tag | no |
| `minimum_age` | how long a tag is known before it is written, such as `2h` | none |
| `freeze` | windows in which nothing is written (`window.py`) | none |
| `value_path` | the path of the value in a file of Helm values | the containers of workloads |
| `platforms` | platforms that the image must have, such as `linux/amd64,linux/arm64` | any |
| `gitlab_token_secret_name`, `_namespace` | a token that may read pipelines (key `gitlab-token`) | none |
| `gitea_token_secret_name`, `_namespace` | a token that may read statuses of commits (key `gitea-token`) | none |
| `commit_status` | `true`: set a status on the application's commit | no |
| `cosign_secret_name`, `_namespace` | a Secret with `cosign.pub`, by which images must be signed | none |
| `delivery` | `push`, or `pull-request` | `push` |
| `forge` | `github`, `gitlab` or `gitea`, where the host does not say | by the host |
| `pull_request_secret_name`, `_namespace` | a Secret with `token`, for requests | the token of the forge |
| `pull_request_branch` | the branch of the request | one for each base branch |
| `pull_request_labels` | labels of a new request, separated by commas | none |

They are parsed when they are used, so that a Deployment with an invalid one is tracked and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, cast

import msgspec

from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.objects.time.window import Window, WindowError, parse_windows
from homeostat.operators.images.engine.policy import CommitPolicy, Policy, PolicyError, parse_policy

_PREFIX: Final = "gitops.operator."
_MOST_PLATFORMS: Final = 16
_MOST_LABELS: Final = 10
_LONGEST_LABEL: Final = 50
_NAME: Final = "secret_name"
_NAMESPACE: Final = "secret_namespace"
ForgeName = Literal["github", "gitlab", "gitea"]
FORGES: Final[tuple[ForgeName, ...]] = ("github", "gitlab", "gitea")


class RulesError(ValueError):
    """An annotation is invalid; the text names it."""


class TokenSecret(msgspec.Struct, frozen=True):
    name: str
    namespace: str
    member: str
    forge: ForgeName | Literal[""] = ""
    """Empty for one that is for any forge."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.member}"


class PullRules(msgspec.Struct, frozen=True, kw_only=True):
    """How pull requests are made."""

    is_on: bool = False
    forge: ForgeName | Literal[""] = ""
    branch: str = ""
    secrets: tuple[TokenSecret, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def shared(self) -> PullRules:
        """Without what may differ in one request."""
        return PullRules(is_on=True, forge=self.forge, branch="", secrets=self.secrets)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    policy: Policy = CommitPolicy()
    pins_digest: bool = False
    minimum_age_s: float = 0.0
    freeze: tuple[Window, ...] = ()
    value_path: str = ""
    platforms: tuple[str, ...] = ()
    gitlab_token_secret_name: str = ""
    gitlab_token_secret_namespace: str = ""
    gitea_token_secret_name: str = ""
    gitea_token_secret_namespace: str = ""
    sets_commit_status: bool = False
    cosign_secret_name: str = ""
    cosign_secret_namespace: str = ""
    pull_rules: PullRules = PullRules()

    @property
    def pull(self) -> PullRules | None:
        """None where tags are pushed."""
        return self.pull_rules if self.pull_rules.is_on else None


def rules_of(annotations: Mapping[str, str]) -> Rules:
    def given(name: str) -> str:
        return annotations.get(f"{_PREFIX}{name}", "").strip()

    name = "update_policy"
    try:
        policy = parse_policy(given(name) or "commit")
        name = "minimum_age"
        age = parse_duration(given(name) or "0")
        name = "freeze"
        freeze = parse_windows(given(name))
    except (PolicyError, DurationError, WindowError) as error:
        raise RulesError(f"the annotation {_PREFIX}{name}: {error}") from error
    platforms = tuple(each.strip() for each in given("platforms").split(",") if each.strip())
    if len(platforms) > _MOST_PLATFORMS or any(not 1 <= each.count("/") <= 2 for each in platforms):
        raise RulesError(f"the annotation {_PREFIX}platforms: expected platforms such as linux/amd64,linux/arm64")
    return Rules(
        policy=policy,
        pins_digest=given("pin_digest") == "true",
        minimum_age_s=max(age, 0) / 1e9,
        freeze=freeze,
        value_path=given("value_path"),
        platforms=platforms,
        gitlab_token_secret_name=given("gitlab_token_secret_name"),
        gitlab_token_secret_namespace=given("gitlab_token_secret_namespace"),
        gitea_token_secret_name=given("gitea_token_secret_name"),
        gitea_token_secret_namespace=given("gitea_token_secret_namespace"),
        sets_commit_status=given("commit_status") == "true",
        cosign_secret_name=given("cosign_secret_name"),
        cosign_secret_namespace=given("cosign_secret_namespace"),
        pull_rules=_pull_rules(given),
    )


def _pull_rules(given: Callable[[str], str]) -> PullRules:
    delivery, forge, branch = given("delivery") or "push", given("forge"), given("pull_request_branch")
    if delivery not in ("push", "pull-request"):
        raise RulesError(f"the annotation {_PREFIX}delivery: expected push or pull-request, not {delivery[:100]!r}")
    if forge not in ("", *FORGES):
        raise RulesError(f"the annotation {_PREFIX}forge: expected {', '.join(FORGES)}, not {forge[:100]!r}")
    if branch and branch == (given("observe_branch") or "master"):
        raise RulesError(f"the annotation {_PREFIX}pull_request_branch: expected another branch than observe_branch")
    labels = tuple(each.strip() for each in given("pull_request_labels").split(",") if each.strip())
    if len(labels) > _MOST_LABELS or any(len(each) > _LONGEST_LABEL for each in labels):
        raise RulesError(
            f"the annotation {_PREFIX}pull_request_labels: expected at most {_MOST_LABELS} labels of at most "
            f"{_LONGEST_LABEL} characters"
        )
    secrets = [TokenSecret(given(f"pull_request_{_NAME}"), given(f"pull_request_{_NAMESPACE}"), "token")]
    secrets += [
        TokenSecret(given(f"{each}_token_{_NAME}"), given(f"{each}_token_{_NAMESPACE}"), f"{each}-token", each)
        for each in FORGES
    ]
    return PullRules(
        is_on=delivery == "pull-request",
        forge=cast("ForgeName", forge),
        branch=branch,
        secrets=tuple(each for each in secrets if each.name),
        labels=labels,
    )
