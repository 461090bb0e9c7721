"""Which Deployments a webhook of image updates is about, however many pushes it reports."""

from __future__ import annotations

import pytest

from homeostat.objects.views.image import Image, parse_image
from homeostat.operators.images.engine.annotations import PREFIX, Settings, Tracked
from homeostat.web.receivers.images import matching_commits, matching_images
from homeostat.web.receivers.push import GitPush, ImagePush


def tracked(image: str = "org/app", registry: str | None = None, **annotations: str) -> Tracked:
    settings = Settings(
        enabled=True,
        namespace="shop",
        app_repository="https://git.example/org/app.git",
        manifest_repository="https://git.example/org/manifests",
        image_name=image,
        deployment_path="web.yaml",
        observe_branch="main",
        registry_url=registry,
        ssh_key_name="key",
        ssh_key_namespace="shop",
    )
    return Tracked("web", settings, image, "1", {f"{PREFIX}{name}": value for name, value in annotations.items()})


@pytest.mark.parametrize(
    ("registry", "repository", "is_meant"),
    [
        ("registry.example", "org/app", True),
        ("", "org/app", True),
        ("other.example", "org/app", False),
        ("registry.example", "org/other", False),
    ],
)
def test_a_push_of_an_image_is_matched_by_registry_and_path(registry: str, repository: str, is_meant: bool) -> None:
    found = matching_images([ImagePush("x.example", "a/b"), ImagePush(registry, repository)])
    assert found(tracked(registry="https://registry.example")) is is_meant


@pytest.mark.parametrize(
    ("url", "ref", "annotations", "is_meant"),
    [
        ("git@git.example:org/app", "refs/heads/main", {}, True),
        ("https://git.example/org/app", "refs/heads/other", {}, False),
        ("https://git.example/org/app", "refs/tags/main", {}, False),
        ("https://git.example/org/manifests", "refs/heads/main", {}, False),
        ("https://git.example/org/manifests", "refs/heads/main", {"delivery": "pull-request"}, True),
    ],
)
def test_a_push_of_a_commit_is_matched_by_repository_and_branch(
    url: str, ref: str, annotations: dict[str, str], is_meant: bool
) -> None:
    pushes = [GitPush("a/b", ("https://git.example/a/b",), "refs/heads/main"), GitPush("org/app", (url,), ref)]
    assert matching_commits(pushes)(tracked(**annotations)) is is_meant


def test_a_deployment_is_examined_once_for_all_pushes(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def note(text: str) -> Image:
        parsed.append(text)
        return parse_image(text)

    monkeypatch.setattr("homeostat.web.receivers.images.parse_image", note)
    found = matching_images([ImagePush("", f"org/other-{at}") for at in range(1000)])
    assert ([found(tracked()) for _ in range(3)], len(parsed)) == ([False] * 3, 3)
