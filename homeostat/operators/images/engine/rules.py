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
| `commit_status` | `true`: set a status on the commit at GitHub | no |

They are parsed when they are used, so that a Deployment with an invalid one is tracked and reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.objects.time.window import Window, WindowError, parse_windows
from homeostat.operators.images.engine.policy import CommitPolicy, Policy, PolicyError, parse_policy

_PREFIX: Final = "gitops.operator."
_MOST_PLATFORMS: Final = 16


class RulesError(ValueError):
    """An annotation is invalid; the text names it."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    policy: Policy = CommitPolicy()
    pins_digest: bool = False
    minimum_age_s: float = 0.0
    freeze: tuple[Window, ...] = ()
    value_path: str = ""
    platforms: tuple[str, ...] = ()
    gitlab_token_secret_name: str = ""
    gitlab_token_secret_namespace: str = ""
    sets_commit_status: bool = False


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
        sets_commit_status=given("commit_status") == "true",
    )
