"""Whether a Pod may be created: an AdmissionReview and the policies of its namespace in, an answer out. Pure.

Every policy has its say. A policy that enforces denies, one that audits warns, and a policy may say otherwise for
itself (`spec.admission`). Whatever cannot be judged is let in: no Pod, no spec, a system namespace, a policy that means
nothing. A Pod that does not run yet is asked only what its declaration shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject, decode
from homeostat.operators.policy.check import Finding, is_as_grave
from homeostat.operators.policy.evaluator import Evaluator
from homeostat.operators.policy.namespaces import is_system
from homeostat.operators.policy.pod import Pod
from homeostat.operators.policy.spec import Admission, AdmissionMode, PolicySpec

MOST_WARNINGS: Final = 20
LONGEST_MESSAGE: Final = 4096
_USUAL = Admission()


class Request(msgspec.Struct, frozen=True):
    """What the server asks; `pod` is None for anything that is not one."""

    uid: str
    namespace: str
    operation: str = ""
    body: JsonObject | None = None
    pod: Pod | None = None


class Verdict(msgspec.Struct, frozen=True):
    """`denials` are the findings that forbid it, `warnings` those that do not."""

    denials: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return not self.denials

    @property
    def message(self) -> str:
        return f"Denied by DevOpsPolicy: {', '.join(each.message for each in self.denials)}"[:LONGEST_MESSAGE]


ALLOWED: Final = Verdict()


def read_request(review: bytes) -> Request | None:
    """None where the bytes are no AdmissionReview at all."""
    try:
        request = decode(review)["request"]
        uid, namespace = request.get("uid") or "", request.get("namespace") or "default"
        operation, body = request.get("operation") or "", request.get("object")
    except (BadRequestError, LookupError, TypeError, AttributeError):
        return None
    if not all(isinstance(each, str) for each in (uid, namespace, operation)):
        return None
    pod = _pod(body, namespace)
    return Request(uid, namespace, operation, body if pod is not None else None, pod)


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


def judge(request: Request, policies: Sequence[Evaluator], *, now: float) -> Verdict:
    pod = request.pod
    if pod is None or pod.spec is None or is_system(request.namespace):
        return ALLOWED
    denials: dict[tuple[str, str, str], Finding] = {}
    warnings: dict[tuple[str, str, str], Finding] = {}
    for policy in policies:
        mode = mode_of(policy.spec)
        if mode == "off":
            continue
        bound = (policy.spec.admission or _USUAL).severity
        for finding in policy.declared(pod, now=now, body=request.body).findings:
            is_denied = mode == "deny" and is_as_grave(finding.check.severity, bound)
            into = denials if is_denied else warnings
            into.setdefault((finding.check.type, finding.container, finding.fact), finding)
    left = tuple(finding for key, finding in warnings.items() if key not in denials)
    return Verdict(tuple(denials.values()), left)


def mode_of(spec: PolicySpec) -> AdmissionMode:
    told = (spec.admission or _USUAL).mode
    return told or ("deny" if spec.is_enforced else "warn")


def answer(uid: str, verdict: Verdict = ALLOWED) -> JsonObject:
    """The AdmissionReview to send back."""
    response: JsonObject = {"uid": uid, "allowed": verdict.is_allowed}
    if not verdict.is_allowed:
        response["status"] = {"message": verdict.message}
    if verdict.warnings:
        response["warnings"] = _told(verdict.warnings)
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def _told(warnings: tuple[Finding, ...]) -> list[str]:
    told = [f"DevOpsPolicy: {each.message}"[:256] for each in warnings[:MOST_WARNINGS]]
    more = len(warnings) - MOST_WARNINGS
    return [*told, f"DevOpsPolicy: and {more} more"] if more > 0 else told
