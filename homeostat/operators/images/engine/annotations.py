"""The settings of a tracked workload, from its `gitops.operator.*` annotations. Pure.

A workload that lacks a required annotation, a namespace or a container with an image, or that is being deleted, is not
tracked at all. Optional
settings stay None here, so that `/debug` shows what was written; their defaults apply where they are used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, Literal

import msgspec

from homeostat.objects.kind import DEPLOYMENT, Kind
from homeostat.objects.views.image import parse_image
from homeostat.objects.views.workload import Workload
from homeostat.operators.images.engine.reference import DEFAULT_REGISTRY, full_reference, untagged

PREFIX: Final = "gitops.operator."
DEFAULT_NAMESPACE: Final = "gitops-operator"
"""Where Secrets of registries, notifications and GitHub are, unless an annotation says otherwise."""
DEFAULT_REGISTRY_SECRET: Final = "regcred"  # noqa: S105
DEFAULT_BRANCH: Final = "master"
_REQUIRED: Final = (
    "enabled",
    "app_repository",
    "manifest_repository",
    "image_name",
    "deployment_path",
    "ssh_key_name",
    "ssh_key_namespace",
)
_SHORT_DIGITS: Final = 7
_SIMILAR: Final = 0.7
"""`ssh_key_secret_name` is like `ssh_key_name`; `registry_secret_namespace` is not like `ssh_key_namespace`."""

TagType = Literal["short", "long"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """In the order in which `/debug` lists them."""

    enabled: bool
    namespace: str
    app_repository: str
    manifest_repository: str
    image_name: str
    deployment_path: str
    observe_branch: str = DEFAULT_BRANCH
    tag_type: TagType = "long"
    ssh_key_name: str
    ssh_key_namespace: str
    notifications_secret_name: str | None = None
    notifications_secret_namespace: str | None = None
    registry_url: str | None = None
    registry_secret_name: str | None = None
    registry_secret_namespace: str | None = None
    github_token_secret_name: str | None = None
    github_token_secret_namespace: str | None = None

    @property
    def image(self) -> str:
        """The image with its registry and without a tag."""
        return untagged(full_reference(self.registry_url or DEFAULT_REGISTRY, self.image_name))

    def tag_of(self, commit: str) -> str:
        """The tag of the image that was built from this commit, given with all its digits."""
        return commit[:_SHORT_DIGITS] if self.tag_type == "short" else commit


class Tracked(msgspec.Struct, frozen=True):
    """A workload with all required annotations."""

    name: str
    settings: Settings
    container: str
    """The image of its tracked container, without tag and digest."""
    version: str
    """The tag of that image."""
    annotations: Mapping[str, str]
    uid: str = ""
    kind: Kind = DEPLOYMENT

    @property
    def namespace(self) -> str:
        return self.settings.namespace

    @property
    def label(self) -> str:
        return label_of(self.kind, self.name)

    @property
    def title(self) -> str:
        """For messages: `Deployment NAME`."""
        return f"{self.kind.kind} {self.name}"

    @property
    def key(self) -> str:
        """`NAMESPACE/NAME` of a Deployment, `NAMESPACE/statefulset/NAME` of another kind."""
        return f"{self.namespace}/{self.label}"

    @property
    def record(self) -> str:
        """The name of its ImageUpdate."""
        return self.name if self.kind == DEPLOYMENT else f"{self.name}.{self.kind.kind.lower()}"


def label_of(kind: Kind, name: str) -> str:
    """The name of a Deployment, as the original shows it; for other kinds `statefulset/NAME`."""
    return name if kind == DEPLOYMENT else f"{kind.kind.lower()}/{name}"


def tracked_of(deployment: Workload, kind: Kind = DEPLOYMENT) -> Tracked | None:
    """None for a workload that nobody asked to track, or that lacks what is required."""
    annotations = {name: value for name, value in deployment.annotations.items() if value is not None}
    given = {name.removeprefix(PREFIX): value for name, value in annotations.items() if name.startswith(PREFIX)}
    namespace = deployment.metadata.namespace
    images = _images(deployment)
    if not namespace or not images or _missing(given):
        return None
    if deployment.metadata.deletion_timestamp is not None:
        # A Job that waits for its finalizers may stay for ever.
        return None
    image = next((each for each in images if given["image_name"] in each), images[0])
    if not image:
        return None
    parsed = parse_image(image)
    return Tracked(
        name=deployment.metadata.name,
        settings=_settings(given, namespace),
        container=_without_tag(image, parsed.tag),
        version=parsed.tag or "latest",
        annotations=annotations,
        uid=deployment.metadata.uid,
        kind=kind,
    )


def untracked_problem(workload: Workload) -> str:
    """Why a workload that lacks exactly one required annotation is not tracked; empty for any other. Its author meant
    it to be, and misspelt a name.
    """
    found = workload.annotations.items()
    given = {name.removeprefix(PREFIX) for name, value in found if name.startswith(PREFIX) and value is not None}
    missing = _missing(given)
    if len(missing) != 1 or workload.metadata.deletion_timestamp is not None:
        return ""
    similar = get_close_matches(missing[0], sorted(given.difference(_REQUIRED)), n=1, cutoff=_SIMILAR)
    advice = f"rename {PREFIX}{similar[0]}" if similar else "add it"
    return f"the annotation {PREFIX}{missing[0]} is missing; {advice}"


def remembered(label: str, namespace: str, given: Mapping[str, str]) -> Tracked | None:
    """A workload as its annotations, without their prefix, once declared it; None if a required one is missing."""
    if not namespace or _missing(given):
        return None
    annotations = {f"{PREFIX}{name}": value for name, value in given.items()}
    return Tracked(label, _settings(given, namespace), "", "", annotations)


def _missing(given: Collection[str]) -> list[str]:
    return [name for name in _REQUIRED if name not in given]


def _images(deployment: Workload) -> Sequence[str]:
    spec = deployment.template.spec
    return [each.image or "" for each in (spec and spec.containers) or ()]


def _without_tag(image: str, tag: str) -> str:
    name = image.partition("@")[0]
    return name.removesuffix(f":{tag}") if tag else name


def _settings(given: Mapping[str, str], namespace: str) -> Settings:
    return Settings(
        enabled=given["enabled"].strip() == "true",
        namespace=namespace,
        app_repository=given["app_repository"],
        manifest_repository=given["manifest_repository"],
        image_name=given["image_name"],
        deployment_path=given["deployment_path"],
        observe_branch=given.get("observe_branch", DEFAULT_BRANCH),
        tag_type="short" if given.get("tag_type") == "short" else "long",
        ssh_key_name=given["ssh_key_name"],
        ssh_key_namespace=given["ssh_key_namespace"],
        notifications_secret_name=given.get("notifications_secret_name"),
        notifications_secret_namespace=given.get("notifications_secret_namespace"),
        registry_url=given.get("registry_secret_url"),
        registry_secret_name=given.get("registry_secret_name"),
        registry_secret_namespace=given.get("registry_secret_namespace"),
        github_token_secret_name=given.get("github_token_secret_name"),
        github_token_secret_namespace=given.get("github_token_secret_namespace"),
    )
