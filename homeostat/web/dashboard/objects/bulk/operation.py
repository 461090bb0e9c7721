"""What is done with each selected object: one request, first as a dry run. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.client.base import MERGE_PATCH
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.command import shell
from homeostat.web.dashboard.objects.commands import word_of
from homeostat.web.dashboard.objects.forms.manifest import MANAGER
from homeostat.web.dashboard.objects.rollback.revisions import is_rollable
from homeostat.web.dashboard.trigger import Trigger

_pair: Final = re.compile(r"([A-Za-z0-9._/-]+)=([A-Za-z0-9._-]*)")
_removal: Final = re.compile(r"([A-Za-z0-9._/-]+)-")


class InvalidOperationError(Exception):
    """The form does not say what to do; says why, for the person who sent it."""


class Sent(NamedTuple):
    method: str
    query: Mapping[str, str]
    body: JsonObject
    content_type: str


class Operation(NamedTuple):
    """`word` is its value in the form, `verb` what a visitor must be allowed to do."""

    word: str
    label: str
    verb: str
    done: str


DELETE: Final = Operation("delete", "Delete", "delete", "deleted")
LABEL: Final = Operation("label", "Set label", "patch", "labelled")
RECONCILE: Final = Operation("reconcile", "Reconcile now", "patch", "requested")
PAUSE: Final = Operation("pause", "Pause", "patch", "paused")
RESUME: Final = Operation("resume", "Resume", "patch", "resumed")
RESTART: Final = Operation("restart", "Restart", "patch", "restarted")
_RESTARTED: Final = "kubectl.kubernetes.io/restartedAt"


def operations_of(kind: Kind, trigger: Trigger | None) -> list[Operation]:
    possible: list[Operation] = []
    if trigger is not None and trigger.annotation:
        possible.append(RECONCILE)
    if is_rollable(kind):
        possible.append(RESTART)
    if trigger is not None and trigger.pause:
        possible += [PAUSE, RESUME]
    possible += [LABEL, DELETE]
    return [each for each in possible if each.verb in kind.verbs]


class Change(NamedTuple):
    """An operation with what it needs: a label, or the annotation that triggers, pauses or restarts."""

    operation: Operation
    name: str = ""
    value: str | None = None
    """None removes the label or the annotation."""
    given: tuple[str, str] | None = None
    """An annotation that an object must have."""

    @property
    def title(self) -> str:
        if self.operation is not LABEL:
            return self.operation.label
        return f"Remove label {self.name}" if self.value is None else f"Set label {self.name}={self.value}"

    def sent(self, uid: str, *, is_dry: bool) -> Sent:
        """Only for the object of this uid."""
        if self.operation is DELETE:
            # In the body: kube-apiserver ignores the query of a deletion with a body, and would delete.
            options: dict[str, Json] = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
            options |= {"dryRun": ["All"]} if is_dry else {}
            about = {"apiVersion": "v1", "kind": "DeleteOptions"}
            return Sent("DELETE", {}, {**about, **options}, "application/json")
        field = "labels" if self.operation is LABEL else "annotations"
        metadata: dict[str, Json] = {"uid": uid}
        body: JsonObject = {"metadata": metadata}
        if self.operation is RESTART:
            # A new template: the controller replaces the Pods, as `kubectl rollout restart` lets it.
            body["spec"] = {"template": {"metadata": {"annotations": {self.name: self.value}}}}
        else:
            metadata[field] = {self.name: self.value}
        query = {"fieldManager": MANAGER, "dryRun": "All" if is_dry else ""}
        return Sent("PATCH", query, body, MERGE_PATCH)

    def obstacle(self, annotations: Mapping[str, str]) -> str:
        """Why the change would have no effect on an object that then has these; empty if it would."""
        if self.given is None:
            return ""
        name, value = self.given
        return (
            "" if annotations.get(name) == value else f"No operator reconciles it: it has no annotation {name}={value}."
        )

    def command(self, kind: Kind, namespace: str, names: Sequence[str]) -> str:
        """Does the same for objects of one namespace."""
        where = ["-n", namespace] if namespace else []
        if self.operation is DELETE:
            return shell("homeostat", "delete", word_of(kind), *names, *where)
        if self.operation is LABEL:
            change = f"{self.name}-" if self.value is None else f"{self.name}={self.value}"
            return shell("homeostat", "label", word_of(kind), *names, change, *where, "--overwrite")
        if self.operation is RESTART:
            return shell("kubectl", "rollout", "restart", word_of(kind), *names, *where)
        words = shell("homeostat", "annotate", word_of(kind), *names, *where)
        if self.operation is PAUSE:
            return f"{words} {self.name}={self.value} --overwrite"
        if self.operation is RESUME:
            return f"{words} {self.name}-"
        return f'{words} {self.name}="$(date -u +%FT%TZ)" --overwrite'


def read_change(form: Mapping[str, str], kind: Kind, trigger: Trigger | None, stamp: str) -> Change:
    """`stamp` is the time now; `InvalidOperationError`."""
    offered = {each.word: each for each in operations_of(kind, trigger)}
    operation = offered.get(form.get("operation", ""))
    if operation is None:
        known = ", ".join(offered) or "none"
        raise InvalidOperationError(
            f"{form.get('operation', '')!r} is not possible for a {kind.kind}; expected {known}."
        )
    if operation is RECONCILE and trigger is not None:
        return Change(operation, trigger.annotation, stamp, trigger.given)
    if operation in (PAUSE, RESUME) and trigger is not None:
        return Change(operation, trigger.pause, "true" if operation is PAUSE else None)
    if operation is RESTART:
        return Change(operation, _RESTARTED, stamp)
    if operation is DELETE:
        return Change(operation)
    text = form.get("label", "").strip()
    if found := _pair.fullmatch(text):
        return Change(operation, found[1], found[2])
    if found := _removal.fullmatch(text):
        return Change(operation, found[1])
    raise InvalidOperationError(f"The label is {text!r}; write it as tier=front, or as tier- to remove it.")
