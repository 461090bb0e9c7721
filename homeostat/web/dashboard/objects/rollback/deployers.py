"""Argo CD, Flux and Helm, known by the labels and annotations that they set on what they apply. Pure.

Commands have the names that the labels have; where a label says no name, there is no command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.web.dashboard.html.command import shell
from homeostat.web.dashboard.origin import Origin

_TRACKING: Final = "argocd.argoproj.io/tracking-id"
_ARGO_INSTANCE: Final = "argocd.argoproj.io/instance"
_INSTANCE: Final = "app.kubernetes.io/instance"
_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_RELEASE: Final = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"


def deployer_of(obj: JsonObject) -> Origin | None:
    """Flux installs Helm releases and Argo CD renders charts, so what reconciles comes before Helm."""
    metadata = obj["metadata"]
    labels, annotations = (_names(metadata.get(part) or {}) for part in ("labels", "annotations"))
    if application := _argo_application(labels, annotations, metadata.get("managedFields") or ()):
        return _argo(application)
    for toolkit, kind, word in (
        ("kustomize", "Kustomization", "kustomization"),
        ("helm", "HelmRelease", "helmrelease"),
    ):
        if name := labels.get(f"{toolkit}.toolkit.fluxcd.io/name"):
            return _flux(kind, word, name, labels.get(f"{toolkit}.toolkit.fluxcd.io/namespace", ""))
    if labels.get(_MANAGED_BY) == "Helm":
        return _helm(annotations.get(_RELEASE, ""), annotations.get(_RELEASE_NAMESPACE, ""))
    return None


def _names(texts: Mapping[str, str]) -> dict[str, str]:
    """A text with a leading hyphen is no name: a command would read it as an option."""
    return {name: each for name, each in texts.items() if not each.startswith("-")}


def _argo_application(labels: Mapping[str, str], annotations: Mapping[str, str], managers: object) -> str:
    """`NAMESPACE/NAME` of an application outside the namespace of Argo CD."""
    tracked = annotations.get(_TRACKING, "").partition(":")[0] or labels.get(_ARGO_INSTANCE, "")
    if not tracked and _has_manager(managers, lambda name: name.startswith("argocd")):
        # Charts set the label as well; of these, Argo CD is none of the managers.
        tracked = labels.get(_INSTANCE, "")
    return tracked.replace("_", "/", 1)


def _has_manager(managers: object, is_one: Callable[[str], bool]) -> bool:
    return isinstance(managers, list) and any(is_one(str(each.get("manager", ""))) for each in managers)


def _argo(application: str) -> Origin:
    return Origin(
        "Argo CD",
        f"The Argo CD application {application} declares this workload. A rollback here makes it OutOfSync, and its "
        "next sync reverts it: at once if it heals itself, else with the next commit or a sync by hand.",
        "Roll back the application instead, to the version before; Argo CD refuses that while it syncs automatically:",
        (shell("argocd", "app", "rollback", application),),
    )


def _flux(kind: str, word: str, name: str, namespace: str) -> Origin:
    where = ["-n", namespace] if namespace else []
    return Origin(
        "Flux",
        f"The {kind} {name} of Flux declares this workload and reverts a rollback here with its next reconciliation.",
        "Revert the commit in its source instead. If this cannot wait, suspend Flux first, and resume it afterwards:",
        (shell("flux", "suspend", word, name, *where), shell("flux", "resume", word, name, *where)),
    )


def _helm(release: str, namespace: str) -> Origin:
    where = ["-n", namespace] if namespace else []
    return Origin(
        "Helm",
        f"{f'The Helm release {release}' if release else 'Helm'} declares this workload. A rollback here lasts until "
        "its next upgrade, and the history of the release does not show it.",
        "Roll back the release instead, to the revision before:" if release else "",
        (shell("helm", "rollback", release, *where),) if release else (),
    )
