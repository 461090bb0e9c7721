"""Whether a Pod may be created: an AdmissionReview and the policies of its namespace in, an answer out. Pure.

Every policy has its say. A policy that enforces denies, one that audits warns, and a policy may say otherwise for
itself (`spec.admission`). What enforcement is going to inject only warns: what a workload lacks is seen on its Pods,
so that without them it would never get it. Whatever cannot be judged is let in: no Pod, no spec, a system namespace. A
policy that means nothing judges nobody, and warns that it does not. A Pod that does not run yet is asked only what its
declaration shows. What was wrong with a Pod before it is changed does not forbid the change: nobody could label it, or
take a finalizer from it, any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject, decode
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.enforcement.plan import is_put_right
from homeostat.operators.policy.engine.check import Finding, is_as_grave
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.engine.stalled import StalledPolicy
from homeostat.operators.policy.spec import Admission, AdmissionMode, PolicySpec

MOST_WARNINGS: Final = 20
MOST_NAMES: Final = 5
LONGEST_WARNING: Final = 256
LONGEST_MESSAGE: Final = 4096
_USUAL = Admission()


class Request(msgspec.Struct, frozen=True):
    """What the server asks; `pod` is None for anything that is not one, `old` for what is not a change of one."""

    uid: str
    namespace: str
    operation: str = ""
    body: JsonObject | None = None
    pod: Pod | None = None
    old: Request | None = None


class Verdict(msgspec.Struct, frozen=True):
    """`denials` are the findings that forbid it, `warnings` those that do not.

    `deniers` are the names of the policies behind each denial, `mute` those that are stalled and would have judged.
    """

    denials: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    deniers: tuple[tuple[str, ...], ...] = ()
    mute: tuple[StalledPolicy, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return not self.denials

    @property
    def message(self) -> str:
        by = _told_names(dict.fromkeys(name for each in self.deniers for name in each if name))
        told = f"Denied by DevOpsPolicy: {', '.join(each.message for each in self.denials)}"
        return f"{told[: LONGEST_MESSAGE - len(by)]}{by}"


ALLOWED: Final = Verdict()


def read_request(review: bytes) -> Request | None:
    """None where the bytes are no AdmissionReview at all."""
    try:
        request = decode(review)["request"]
        uid, namespace = request.get("uid") or "", request.get("namespace") or "default"
        operation, body, before = request.get("operation") or "", request.get("object"), request.get("oldObject")
    except (BadRequestError, LookupError, TypeError, AttributeError):
        return None
    if not all(isinstance(each, str) for each in (uid, namespace, operation)):
        return None
    asked = _request(uid, namespace, operation, body)
    if asked.pod is None or before is None:
        return asked
    return msgspec.structs.replace(asked, old=_request(uid, namespace, operation, before))


def _request(uid: str, namespace: str, operation: str, body: Json) -> Request:
    pod = _pod(body, namespace)
    return Request(uid, namespace, operation, body if isinstance(body, dict) and pod is not None else None, pod)


def _pod(body: Json, namespace: str) -> Pod | None:
    if not isinstance(body, dict) or body.get("kind") != "Pod":
        return None
    try:
        pod = msgspec.convert(body, Pod)
    except msgspec.ValidationError:
        # The server itself refuses it for that.
        return None
    metadata = msgspec.structs.replace(pod.metadata, namespace=pod.metadata.namespace or namespace)
    return msgspec.structs.replace(pod, metadata=metadata)


def judge(
    request: Request, policies: Iterable[Evaluator], *, now: float, stalled: Iterable[StalledPolicy] = ()
) -> Verdict:
    """`policies` may be gone through twice."""
    verdict = _judge_change(request, policies, now)
    mute = tuple(_mute(request, stalled))
    return msgspec.structs.replace(verdict, mute=mute) if mute else verdict


def _mute(request: Request, stalled: Iterable[StalledPolicy]) -> Iterator[StalledPolicy]:
    pod = request.pod
    if pod is None or pod.spec is None:
        return
    for each in stalled:
        if mode_of(each.spec) != "off" and each.concerns(pod):
            yield each


def _judge_change(request: Request, policies: Iterable[Evaluator], now: float) -> Verdict:
    verdict = _judge(request, policies, now)
    if verdict.is_allowed or request.old is None:
        return verdict
    before = {_key(each) for each in _judge(request.old, policies, now).denials}
    old = tuple(each for each in verdict.denials if _key(each) in before)
    new = [pair for pair in zip(verdict.denials, verdict.deniers, strict=True) if _key(pair[0]) not in before]
    return Verdict(tuple(each for each, _ in new), (*old, *verdict.warnings), tuple(names for _, names in new))


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.check.type, finding.container, finding.fact


def _judge(request: Request, policies: Iterable[Evaluator], now: float) -> Verdict:
    pod = request.pod
    if pod is None or pod.spec is None or is_system(request.namespace):
        return ALLOWED
    denials: dict[tuple[str, str, str], Finding] = {}
    deniers: dict[tuple[str, str, str], tuple[str, ...]] = {}
    warnings: dict[tuple[str, str, str], Finding] = {}
    for policy in policies:
        if mode_of(policy.spec) == "off":
            continue
        for finding in policy.declared(pod, now=now, body=request.body).findings:
            key = _key(finding)
            if _denies(policy.spec, pod, finding):
                denials.setdefault(key, finding)
                deniers[key] = (*deniers.get(key, ()), policy.name)
            else:
                warnings.setdefault(key, finding)
    left = tuple(finding for key, finding in warnings.items() if key not in denials)
    return Verdict(tuple(denials.values()), left, tuple(deniers.values()))


def _denies(spec: PolicySpec, pod: Pod, finding: Finding) -> bool:
    admission = spec.admission or _USUAL
    if mode_of(spec) != "deny" or not is_as_grave(finding.check.severity, admission.severity):
        return False
    return admission.mode == "deny" or not is_put_right(pod, finding, spec)


def mode_of(spec: PolicySpec) -> AdmissionMode:
    """What enforces denies, but for a dry run, which stops nobody."""
    told = (spec.admission or _USUAL).mode
    is_dry = spec.enforcement is not None and spec.enforcement.dry_run
    return told or ("deny" if spec.is_enforced and not is_dry else "warn")


def answer(uid: str, verdict: Verdict = ALLOWED) -> JsonObject:
    """The AdmissionReview to send back."""
    response: JsonObject = {"uid": uid, "allowed": verdict.is_allowed}
    if not verdict.is_allowed:
        response["status"] = {"message": verdict.message}
    if verdict.warnings or verdict.mute:
        response["warnings"] = _told([*map(str, verdict.mute), *(each.message for each in verdict.warnings)])
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def _told_names(names: Iterable[str]) -> str:
    """Of policies, at the end of a message; of as many as its reader needs to find them."""
    first = list(islice(names, MOST_NAMES + 1))
    if not first:
        return ""
    told = ", ".join(first[:MOST_NAMES])
    return f" ({'policy' if len(first) == 1 else 'policies'} {told}{' and more' if len(first) > MOST_NAMES else ''})"


def _told(warnings: Sequence[str]) -> list[str]:
    """Each on one line, as the header wants it that they are sent in."""
    told = [f"DevOpsPolicy: {' '.join(each.split())}"[:LONGEST_WARNING] for each in warnings[:MOST_WARNINGS]]
    more = len(warnings) - MOST_WARNINGS
    return [*told, f"DevOpsPolicy: and {more} more"] if more > 0 else told
