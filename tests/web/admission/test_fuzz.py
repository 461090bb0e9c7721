"""Whatever is sent to the webhook, it answers with a review that a server can read."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from homeostat.edge.reply import Reply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.stalled import StalledPolicy
from homeostat.operators.policy.spec import Admission, PolicySpec, Rule
from homeostat.web.admission.metrics import AdmissionMetrics
from homeostat.web.admission.webhook import Gate
from tests.web.reviewing import pod, review

EVERYTHING = PolicySpec(
    forbid_latest_tag=True,
    untagged_is_latest=True,
    require_liveness_probe=True,
    require_readiness_probe=True,
    require_resources=("cpuRequest", "memoryLimit"),
    require_run_as_non_root=True,
    forbid_privileged=True,
    forbid_host_path=True,
    allowed_registries=("registry.example.com",),
    require_image_pin="digest",
    rules=(Rule(name="own", expression="object.spec.containers.all(c, c.image.size() > 3)"),),
    admission=Admission(mode="deny"),
)
TEXT = st.one_of(st.text(max_size=8), st.sampled_from(["a:latest", "{container}", "%s", "x@sha256:1", ""]))
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT)
JSON = st.recursive(
    SCALAR, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)), max_leaves=8
)
CONTAINER = st.fixed_dictionaries(
    {"name": st.one_of(TEXT, JSON)},
    optional={"image": JSON, "securityContext": JSON, "resources": JSON, "livenessProbe": JSON, "ports": JSON},
)
CONTAINERS = st.lists(st.one_of(CONTAINER, JSON), max_size=3)
POD = st.fixed_dictionaries(
    {"kind": st.one_of(st.just("Pod"), JSON)},
    optional={
        "metadata": JSON,
        "spec": st.one_of(JSON, st.fixed_dictionaries({"containers": CONTAINERS}, optional={"volumes": JSON})),
    },
)
FIELDS = st.fixed_dictionaries({}, optional={"uid": JSON, "namespace": JSON, "operation": JSON, "oldObject": POD})


class EveryNamespace:
    """The same policy everywhere."""

    def __init__(self) -> None:
        self._policies = [Evaluator(EVERYTHING)]
        self._stalled = [StalledPolicy(EVERYTHING, Fault("InvalidRule", "spec.rules[0]", "means nothing"), name="no")]

    @property
    def is_known(self) -> bool:
        return True

    def knows(self, namespace: str) -> bool:
        return True

    def of(self, namespace: str) -> list[Evaluator]:
        return self._policies

    def stalled(self, namespace: str) -> list[StalledPolicy]:
        return self._stalled


async def _answered(gate: Gate, request: Request) -> Reply:
    reply = gate.validate(request, {})
    return reply if isinstance(reply, Reply) else await reply


def ask(body: bytes) -> Any:
    gate = Gate(EveryNamespace(), AdmissionMetrics())
    reply = asyncio.run(_answered(gate, Request("POST", "/validate", "", Headers(), body, Peer(""), {})))
    assert isinstance(reply.body, bytes)
    answered = msgspec.json.decode(reply.body)
    response = answered["response"]
    assert isinstance(response["uid"], str)
    assert response["allowed"] is ("status" not in response)
    assert reply.status == 200 or response == {"uid": "", "allowed": True}
    return response


@given(POD, FIELDS)
@example({"kind": "Pod", "spec": {"containers": [{"name": "{fact}", "image": "{0}:latest"}]}}, {})
def test_any_object_is_answered(body: Any, fields: dict[str, Any]) -> None:
    ask(review(body, **fields))


@given(st.binary(max_size=200))
@example(b'{"request":{"uid":"\\ud800","object":{"kind":"Pod","spec":{"containers":[{"name":"\\ud800"}]}}}}')
def test_any_bytes_are_answered(body: bytes) -> None:
    ask(body)


def test_ten_thousand_containers_are_answered_in_short() -> None:
    many = [{"name": f"c{number}", "image": "a:latest"} for number in range(10_000)]
    response = ask(review(pod(*many)))
    assert len(response["status"]["message"]) <= 4096
