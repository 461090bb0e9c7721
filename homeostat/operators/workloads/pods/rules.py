"""What becomes of a Pod: an outcome and when, from its annotations or from the rules of ConfigMaps. Pure.

    metadata:
      labels: {simulation.homeostat.dev/rules: "true"}
    data:
      slow: |
        selector: app=web            # labels of the Pod
        name: "web-*"                # a pattern for its name
        image: "registry.example/*"  # a pattern for one of its images
        times: 2                     # so many Pods; later ones go on as if the rule did not exist
        outcome: crash-loop
        ready-after: 2s

A Pod's own annotations win. Then the rules of its namespace count, then those of kube-system, in the order of
the names of ConfigMaps and entries; the first that selects the Pod decides. Without either the commands and probes of
its containers do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

import msgspec
from msgspec.structs import replace

from homeostat.objects import yaml
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import EVERYTHING, LabelSelector, parse_labels
from homeostat.objects.time.duration import DurationError, parse_seconds
from homeostat.operators.workloads.api import (
    BACK_OFF,
    EXIT_CODE,
    JOB,
    OUTCOME,
    READY_AFTER,
    STOP_AFTER,
    USE,
    Pod,
    Rules,
)
from homeostat.operators.workloads.pods.commands import NEVER, Ending, ending_of
from homeostat.operators.workloads.pods.initialization import failing_init, init_endings
from homeostat.operators.workloads.pods.probes import UNPROBED, probed
from homeostat.operators.workloads.pods.state import KILLED
from homeostat.operators.workloads.sizes import integer_of

Outcome = Literal[
    "ready",
    "crash-loop",
    "image-pull-error",
    "pending",
    "oom-killed",
    "fail",
    "never-ready",
    "succeed",
    "init-fail",
    "evicted-memory",
    "evicted-storage",
]
OUTCOMES: Final = get_args(Outcome)
SHARED_NAMESPACE: Final = "kube-system"
MOST_BYTES: Final = 65_536
MOST_RULES: Final = 1000
MOST_TIMES: Final = 1000
_MOST_JOINED: Final = 1000
_LARGEST_EXIT_CODE: Final = 255
_CHOICE: Final = ("selector", "name", "image", "times")
_FIELDS: Final = (*_CHOICE, "outcome", "ready-after", "back-off", "stop-after", "use", "exit-code")


class RuleError(ValueError):
    """A rule or an annotation is invalid: says which, and what is expected."""


class Fate(msgspec.Struct, frozen=True):
    outcome: Outcome = "ready"
    after_s: float = 0.01
    back_off_s: float = 10.0
    """The first back-off of a container that fails; it doubles up to 30 times that, as kubelet's 10 s to 300 s."""
    stop_after_s: float = 0.0
    """How long the containers take to stop when the Pod is deleted, within its grace period."""
    use: str = ""
    """What the Pod uses, for autoscalers."""
    exit_code: int = 1
    """Of containers that fail by themselves."""
    run_s: float = 0.0
    """How long the containers run, ready, before they end or fail."""
    init: tuple[Ending, ...] = ()
    """How each init container ends; none if all succeed at once."""


class Rule(msgspec.Struct, frozen=True):
    selector: LabelSelector
    image: str
    outcome: Outcome | None
    after_s: float | None
    back_off_s: float | None
    stop_after_s: float | None
    use: str | None
    exit_code: int | None
    name: str = ""
    times: int | None = None
    """It is for so many Pods; the later ones go on as if it did not exist."""
    taken: set[str] = msgspec.field(default_factory=set)
    """The uids of those Pods."""

    def selects(self, pod: Pod) -> bool:
        if not self.selector.matches(pod.metadata.labels):
            return False
        if self.name and not fnmatchcase(pod.metadata.name, self.name):
            return False
        if self.image and not any(fnmatchcase(each.image, self.image) for each in pod.spec.containers):
            return False
        return self.times is None or self._takes(pod.metadata.uid, self.times)

    def _takes(self, uid: str, times: int) -> bool:
        if uid not in self.taken and len(self.taken) < times:
            self.taken.add(uid)
        return uid in self.taken


def parse_rules(source: Rules) -> tuple[list[Rule], list[str]]:
    """The rules of a ConfigMap, and what is wrong with the entries that are left out."""
    rules, faults = [], []
    for name in sorted(source.data)[:MOST_RULES]:
        try:
            rules.append(_rule(source.data[name]))
        except RuleError as error:
            faults.append(f"rule {name!r} is ignored: {error}")
    if len(source.data) > MOST_RULES:
        faults.append(f"a ConfigMap has at most {MOST_RULES} rules; {len(source.data) - MOST_RULES} are ignored")
    return rules, faults


def _rule(text: str) -> Rule:
    if len(text) > MOST_BYTES:
        raise RuleError(f"it has {len(text)} characters; the limit is {MOST_BYTES}")
    try:
        found = yaml.load(text.encode())
    except yaml.YamlError as error:
        raise RuleError(f"it is not YAML: {error}") from error
    if not isinstance(found, dict):
        raise RuleError(f"expected the fields {', '.join(_FIELDS)}")
    if unknown := sorted(map(str, found.keys() - {*_FIELDS})):
        raise RuleError(f"unknown field {unknown[0]!r}; expected one of {', '.join(_FIELDS)}")
    try:
        selector = parse_labels(str(found["selector"])) if found.get("selector") else EVERYTHING
    except BadRequestError as error:
        raise RuleError(f"invalid selector: {error}") from error
    return Rule(
        selector,
        str(found.get("image") or ""),
        None if found.get("outcome") is None else _outcome(str(found["outcome"])),
        _given(found, "ready-after"),
        _given(found, "back-off"),
        _given(found, "stop-after"),
        None if found.get("use") is None else str(found["use"]),
        None if found.get("exit-code") is None else _whole("exit-code", found["exit-code"], _LARGEST_EXIT_CODE),
        str(found.get("name") or ""),
        None if found.get("times") is None else _whole("times", found["times"], MOST_TIMES),
    )


def _given(found: JsonObject, name: str) -> float | None:
    return None if found.get(name) is None else _seconds(name, str(found[name]))


def fate_of(pod: Pod, rules: Iterable[Rule], usual: Fate) -> Fate:
    """`RuleError` for invalid annotations."""
    annotations = pod.metadata.annotations
    fate = _commanded(pod, usual)
    for rule in rules:
        if rule.selects(pod):
            fate = Fate(
                rule.outcome or fate.outcome,
                fate.after_s if rule.after_s is None else rule.after_s,
                fate.back_off_s if rule.back_off_s is None else rule.back_off_s,
                fate.stop_after_s if rule.stop_after_s is None else rule.stop_after_s,
                fate.use if rule.use is None else rule.use,
                fate.exit_code if rule.exit_code is None else rule.exit_code,
                0.0 if rule.outcome else fate.run_s,
                () if rule.outcome else fate.init,
            )
            break
    if annotations and not _SAID.isdisjoint(annotations):
        fate = _annotated(annotations, fate)
    if fate.outcome == "init-fail":
        return replace(fate, outcome="fail", init=failing_init(pod.spec, fate.exit_code, fate.after_s))
    return fate


def _commanded(pod: Pod, usual: Fate) -> Fate:
    """What its commands, images and probes say, if nobody says something else."""
    fate = _running(pod, usual)
    init = init_endings(pod.spec)
    return replace(fate, init=init) if init else fate


def _running(pod: Pod, usual: Fate) -> Fate:
    """Once its init containers have ended. Pods of a Job succeed if no outcome is set for them."""
    ending, probes = ending_of(pod.spec), probed(pod.spec)
    if ending is None:
        owner = pod.metadata.controller
        if owner is not None and owner.is_of(JOB):
            return replace(usual, outcome="succeed")
        ending = NEVER
    if probes is UNPROBED and ending.is_never:
        return usual
    if probes.killed_s < ending.after_s:
        ending = Ending(KILLED, probes.killed_s)
    ready_s = min(probes.ready_s, ending.after_s)
    if math.isinf(ready_s):
        return replace(usual, outcome="never-ready")
    if ending.is_never:
        return replace(usual, after_s=usual.after_s + ready_s)
    fate = replace(usual, after_s=usual.after_s + ready_s, run_s=ending.after_s - ready_s)
    return replace(fate, outcome="fail", exit_code=ending.code) if ending.code else replace(fate, outcome="succeed")


class Rulebook:
    """The rules of all ConfigMaps."""

    def __init__(self, usual: Fate) -> None:
        self.usual = usual
        self._rules: dict[tuple[str, str], list[Rule]] = {}
        self._joined: dict[str, list[Rule]] = {}
        """The rules that count in a namespace, until a ConfigMap changes."""

    def note(self, key: tuple[str, str], source: Rules | None) -> list[str]:
        """Takes in a ConfigMap, or forgets it; returns what is wrong with it."""
        self._rules.pop(key, None)
        self._joined.clear()
        if source is None:
            return []
        self._rules[key], faults = parse_rules(source)
        return faults

    def fate(self, pod: Pod) -> Fate:
        """`RuleError` for invalid annotations."""
        return fate_of(pod, self._rules_for(pod.metadata.namespace), self.usual)

    def _rules_for(self, namespace: str) -> list[Rule]:
        if not self._rules:
            return []
        found = self._joined.get(namespace)
        if found is None:
            if len(self._joined) >= _MOST_JOINED:
                self._joined.clear()
            found = self._joined[namespace] = self._rules_of(namespace)
            if namespace != SHARED_NAMESPACE:
                found += self._rules_of(SHARED_NAMESPACE)
        return found

    def _rules_of(self, namespace: str) -> list[Rule]:
        return [rule for key in sorted(self._rules) if key[0] == namespace for rule in self._rules[key]]


_SAID: Final = frozenset({OUTCOME, READY_AFTER, BACK_OFF, STOP_AFTER, USE, EXIT_CODE})


def _annotated(annotations: Mapping[str, str], fate: Fate) -> Fate:
    return Fate(
        _outcome(annotations[OUTCOME]) if OUTCOME in annotations else fate.outcome,
        _seconds(READY_AFTER, annotations[READY_AFTER]) if READY_AFTER in annotations else fate.after_s,
        _seconds(BACK_OFF, annotations[BACK_OFF]) if BACK_OFF in annotations else fate.back_off_s,
        _seconds(STOP_AFTER, annotations[STOP_AFTER]) if STOP_AFTER in annotations else fate.stop_after_s,
        annotations.get(USE, fate.use),
        _whole("exit-code", annotations[EXIT_CODE], _LARGEST_EXIT_CODE) if EXIT_CODE in annotations else fate.exit_code,
        0.0 if OUTCOME in annotations else fate.run_s,
        () if OUTCOME in annotations else fate.init,
    )


def _outcome(text: str) -> Outcome:
    for each in OUTCOMES:
        if text == each:
            found: Outcome = each
            return found
    raise RuleError(f"outcome {text[:64]!r} is unknown; expected one of {', '.join(OUTCOMES)}")


def _whole(name: str, given: object, most: int) -> int:
    found = integer_of(str(given))
    if found is None or not 0 < found <= most:
        raise RuleError(f"{name} {str(given)[:64]!r} is invalid; expected 1 to {most}")
    return found


def _seconds(name: str, text: str) -> float:
    try:
        return parse_seconds(text)
    except DurationError as error:
        raise RuleError(f"{name}: {error}") from error
