"""Checks of the images of containers."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.views.image import parse_image
from homeostat.objects.views.pod import Container, Pod
from homeostat.operators.policy.engine.check import FOREIGN_REGISTRY, LATEST_TAG, UNPINNED_IMAGE, Finding
from homeostat.operators.policy.engine.checks.base import Test, each_container
from homeostat.operators.policy.spec import PolicySpec


def latest_tag(spec: PolicySpec) -> Test | None:
    """An image that ends with `:latest`; with `untaggedIsLatest` also an image without tag and digest."""
    if not spec.forbid_latest_tag:
        return None
    check = LATEST_TAG.for_policy(spec)
    if spec.untagged_is_latest:
        return each_container(check, lambda _, container: "latest" if _is_floating(container) else "")

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [Finding(check, each.name) for each in pod.containers if each.image and each.image.endswith(":latest")]

    return test


def _is_floating(container: Container) -> bool:
    if not container.image:
        return False
    image = parse_image(container.image)
    return not image.digest and image.tag in ("", "latest")


def foreign_registry(spec: PolicySpec) -> Test | None:
    if not spec.allowed_registries:
        return None
    registries = frozenset(each.removesuffix("/") for each in spec.allowed_registries)
    longest = max(map(len, registries))

    def fault(_: Pod, container: Container) -> str:
        if not container.image:
            return "names no image"
        image = parse_image(container.image)
        if any(each in registries for each in _places(image.repository, longest)):
            return ""
        return f"uses image '{container.image}' from a registry that is not allowed"

    return each_container(FOREIGN_REGISTRY.for_policy(spec), fault)


def _places(repository: str, longest: int) -> Iterator[str]:
    """The repository and every path above it, up to its registry, as far as they are not longer than `longest`."""
    if len(repository) <= longest:
        yield repository
    end = repository.rfind("/", 0, longest + 1)
    while end > 0:
        yield repository[:end]
        end = repository.rfind("/", 0, end)


def unpinned_image(spec: PolicySpec) -> Test | None:
    """An image without a digest; with `requireImagePin: tag` a tag is enough."""
    if spec.require_image_pin is None:
        return None
    suffices = spec.require_image_pin == "tag"

    def fault(_: Pod, container: Container) -> str:
        if not container.image:
            return "names no image"
        image = parse_image(container.image)
        if image.digest or (suffices and image.tag):
            return ""
        return f"uses image '{container.image}' without a {'tag or digest' if suffices else 'digest'}"

    return each_container(UNPINNED_IMAGE.for_policy(spec), fault)
