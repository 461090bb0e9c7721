"""Decides whether a Pod is admitted, from an AdmissionReview and the policies of its namespace. Pure.

Every policy is evaluated, and denies, whatever its enforcement mode; this is what the original does. `spec.admission`
changes that. With `mode: auto` a policy that audits warns, and a policy that enforces warns about violations that it
will repair: enforcement finds workloads by their Pods, so it could never repair a workload whose Pods are denied. A
request that cannot be evaluated is allowed: not a Pod, no spec, a
system namespace. An invalid policy denies nothing and warns that it was not evaluated. Only the checks of a Pod's
declaration run, because the Pod does not run yet. An update is not denied for violations that the Pod had before;
otherwise nobody could label such a Pod or remove a finalizer from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final, Literal

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject, decode
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.enforcement.plan import will_be_injected
from homeostat.operators.policy.engine.check import Finding, is_at_least
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.engine.stalled import StalledPolicy
from homeostat.operators.policy.spec import Admission, PolicySpec

MOST_WARNINGS: Final = 20
MOST_NAMES: Final = 5
LONGEST_WARNING: Final = 256
LONGEST_MESSAGE: Final = 4096
_LONGEST_READ: Final = 2048
"""Characters of a message that are searched for spaces: the name of an image may have megabytes."""
_DEFAULTS = Admission()


class Request(msgspec.Struct, frozen=True):
    """A request of the API server. `pod` is None if the object is not a Pod, `old` if the request is not an update."""

    uid: str
    namespace: str
    operation: str = ""
    body: JsonObject | None = None
    pod: Pod | None = None
    old: Request | None = None

    @property
    def containers(self) -> int:
        """How many there are to check, with those from before an update."""
        own = len(self.pod.containers) if self.pod is not None else 0
        return own + (self.old.containers if self.old is not None else 0)


class Verdict(msgspec.Struct, frozen=True):
    """`denials` are the findings that deny the Pod, `warnings` all other findings.

    `denied_by` has the names of the policies behind each denial, of many the first few. `stalled` are invalid policies
    that select the Pod.
    """

    denials: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    denied_by: tuple[tuple[str, ...], ...] = ()
    stalled: tuple[StalledPolicy, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return not self.denials

    @property
    def message(self) -> str:
        by = _named_policies(dict.fromkeys(name for each in self.denied_by for name in each if name))
        text, separator = "Denied by DevOpsPolicy: ", ""
        for each in self.denials:
            text, separator = f"{text}{separator}{each.message}", ", "
            # There may be tens of thousands more.
            if len(text) > LONGEST_MESSAGE:
                break
        return f"{text[: LONGEST_MESSAGE - len(by)]}{by}"


ALLOWED: Final = Verdict()


def read_request(review: bytes, *, in_pieces: bool = False) -> Request | None:
    """None if the bytes are not an AdmissionReview. In pieces it takes longer and lets other threads run meanwhile."""
    try:
        request = decode(review, in_pieces=in_pieces)["request"]
        uid, namespace = request.get("uid") or "", request.get("namespace") or "default"
        operation, body, before = request.get("operation") or "", request.get("object"), request.get("oldObject")
    except (BadRequestError, LookupError, TypeError, AttributeError):
        return None
    if not all(isinstance(each, str) for each in (uid, namespace, operation)):
        return None
    read = _request(uid, namespace, operation, body)
    if read.pod is None or before is None:
        return read
    return msgspec.structs.replace(read, old=_request(uid, namespace, operation, before))


def _request(uid: str, namespace: str, operation: str, body: Json) -> Request:
    pod = _pod(body, namespace)
    return Request(uid, namespace, operation, body if isinstance(body, dict) and pod is not None else None, pod)


def _pod(body: Json, namespace: str) -> Pod | None:
    if not isinstance(body, dict) or body.get("kind") != "Pod":
        return None
    try:
        pod = msgspec.convert(body, Pod)
    except msgspec.ValidationError:
        # The API server itself rejects such a Pod.
        return None
    metadata = msgspec.structs.replace(pod.metadata, namespace=pod.metadata.namespace or namespace)
    return msgspec.structs.replace(pod, metadata=metadata)


def judge(
    request: Request, policies: Iterable[Evaluator], *, now: float, stalled: Iterable[StalledPolicy] = ()
) -> Verdict:
    """Iterates over `policies` a second time if the request is an update."""
    verdict = _review_change(request, policies, now)
    selecting = tuple(_stalled_policies(request, stalled))
    return msgspec.structs.replace(verdict, stalled=selecting) if selecting else verdict


def _stalled_policies(request: Request, stalled: Iterable[StalledPolicy]) -> Iterator[StalledPolicy]:
    pod = request.pod
    if pod is None or pod.spec is None:
        return
    for each in stalled:
        if mode_of(each.spec) != "off" and each.selects(pod):
            yield each


def _review_change(request: Request, policies: Iterable[Evaluator], now: float) -> Verdict:
    verdict = _judge(request, policies, now)
    if verdict.is_allowed or request.old is None:
        return verdict
    before = {_key(each) for each in _judge(request.old, policies, now).denials}
    old = tuple(each for each in verdict.denials if _key(each) in before)
    new = [pair for pair in zip(verdict.denials, verdict.denied_by, strict=True) if _key(pair[0]) not in before]
    return Verdict(tuple(each for each, _ in new), (*old, *verdict.warnings), tuple(names for _, names in new))


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.check.type, finding.container, finding.fact


def _judge(request: Request, policies: Iterable[Evaluator], now: float) -> Verdict:
    pod = request.pod
    if pod is None or pod.spec is None or is_system(request.namespace):
        return ALLOWED
    denials: dict[tuple[str, str, str], Finding] = {}
    denied_by: dict[tuple[str, str, str], tuple[str, ...]] = {}
    warnings: dict[tuple[str, str, str], Finding] = {}
    for policy in policies:
        if mode_of(policy.spec) == "off":
            continue
        for finding in policy.declared(pod, now=now, body=request.body).findings:
            key = _key(finding)
            if _denies(policy.spec, pod, finding):
                denials.setdefault(key, finding)
                if len(names := denied_by.get(key, ())) <= MOST_NAMES:
                    denied_by[key] = (*names, policy.name)
            else:
                warnings.setdefault(key, finding)
    left = tuple(finding for key, finding in warnings.items() if key not in denials)
    return Verdict(tuple(denials.values()), left, tuple(denied_by.values()))


def _denies(spec: PolicySpec, pod: Pod, finding: Finding) -> bool:
    admission = spec.admission or _DEFAULTS
    if mode_of(spec) != "deny" or not is_at_least(finding.check.severity, admission.severity):
        return False
    return admission.mode != "auto" or not will_be_injected(pod, finding, spec)


def mode_of(spec: PolicySpec) -> Literal["deny", "warn", "off"]:
    """What a violation does. Without a mode it denies, but a dry run of enforcement only warns."""
    mode = (spec.admission or _DEFAULTS).mode
    is_dry = spec.is_enforced and spec.enforcement is not None and spec.enforcement.dry_run
    if mode == "auto":
        return "deny" if spec.is_enforced and not is_dry else "warn"
    return mode or ("warn" if is_dry else "deny")


def answer(uid: str, verdict: Verdict = ALLOWED) -> JsonObject:
    """The AdmissionReview to send back."""
    response: JsonObject = {"uid": uid, "allowed": verdict.is_allowed}
    if not verdict.is_allowed:
        response["status"] = {"message": verdict.message}
    if verdict.warnings or verdict.stalled:
        texts = chain(map(str, verdict.stalled), (each.message for each in verdict.warnings))
        response["warnings"] = _header_lines(texts, len(verdict.stalled) + len(verdict.warnings))
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def _named_policies(names: Iterable[str]) -> str:
    """The names of policies at the end of a message: the first few."""
    first = list(islice(names, MOST_NAMES + 1))
    if not first:
        return ""
    listed = ", ".join(first[:MOST_NAMES])
    return f" ({'policy' if len(first) == 1 else 'policies'} {listed}{' and more' if len(first) > MOST_NAMES else ''})"


def _header_lines(warnings: Iterable[str], count: int) -> list[str]:
    """Each on one line: the API server sends them as `Warning` headers."""
    first = islice(warnings, MOST_WARNINGS)
    lines = [f"DevOpsPolicy: {' '.join(each[:_LONGEST_READ].split())}"[:LONGEST_WARNING] for each in first]
    more = count - MOST_WARNINGS
    return [*lines, f"DevOpsPolicy: and {more} more"] if more > 0 else lines
