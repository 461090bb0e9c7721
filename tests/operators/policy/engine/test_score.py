"""The conformance cases of the score: what is found, what it costs, and how it is told."""

import msgspec
import pytest

from homeostat.objects.report.report import Severity
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.engine.check import CHECKS
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.engine.score import aggregate, classify, is_healthy, score_of, summary
from homeostat.operators.policy.spec import PolicySpec, SeverityOverrides, Thresholds, Weights
from tests.operators.policy.worlds import ALL, BARE, GOOD, WORST, container, pod_json, to_pod, totals_of

LIVE_ONLY = to_pod(pod_json(container("nginx:latest", readiness=False), restarts=10, phase="Pending"))
TWO = to_pod(pod_json(*(container("img:latest", name=each, liveness=False, readiness=False) for each in "ab")))


def restarted(count: int) -> Pod:
    return to_pod(pod_json(restarts=count))


def severe(severity: Severity) -> PolicySpec:
    overrides = SeverityOverrides(**dict.fromkeys((check.type for check in CHECKS), severity))
    return msgspec.structs.replace(ALL, scoring="severity", severity_overrides=overrides)


LATEST = PolicySpec(forbid_latest_tag=True)
LATEST_POD = to_pod(pod_json(container("nginx:latest")))
SCORES = [
    pytest.param(ALL, [GOOD], 100, 0, id="clean"),
    pytest.param(ALL, [WORST], 56, 5, id="all wrong"),
    pytest.param(PolicySpec(), [WORST], 100, 0, id="empty policy"),
    pytest.param(LATEST, [WORST], 95, 1, id="only latest"),
    pytest.param(PolicySpec(forbid_latest_tag=False), [WORST], 100, 0, id="false is absent"),
    pytest.param(ALL, [BARE, GOOD, LIVE_ONLY], 83, 7, id="three pods"),
    pytest.param(ALL, [GOOD, BARE], 95, 3, id="good and bare"),
    pytest.param(
        ALL,
        [
            WORST,
            to_pod(pod_json(*[container("a:latest", liveness=False, readiness=False)], restarts=8, phase="Pending")),
        ],
        56,
        10,
        id="two of the worst",
    ),
    pytest.param(ALL, [], 100, 0, id="no pods"),
    pytest.param(ALL, [TWO], 80, 6, id="two bad containers"),
    pytest.param(PolicySpec(max_restart_count=3), [restarted(3)], 100, 0, id="restarts at the threshold"),
    pytest.param(PolicySpec(max_restart_count=3), [restarted(4)], 76, 1, id="restarts above the threshold"),
    pytest.param(PolicySpec(max_restart_count=3), [restarted(5)], 70, 1, id="five restarts"),
    pytest.param(PolicySpec(max_restart_count=10), [restarted(5)], 100, 0, id="five restarts of ten"),
    pytest.param(PolicySpec(max_restart_count=5), [restarted(6)], 70, 1, id="six restarts of five"),
    pytest.param(PolicySpec(max_restart_count=0), [restarted(1)], 94, 1, id="one restart of none"),
    pytest.param(PolicySpec(max_restart_count=0), [restarted(-9)], 100, 0, id="negative restarts"),
    pytest.param(PolicySpec(max_restart_count=0), [restarted(2**62)], 70, 1, id="huge restarts"),
]


@pytest.mark.parametrize(("spec", "pods", "score", "violations"), SCORES)
def test_a_set_of_pods_has_a_score(spec: PolicySpec, pods: list[Pod], score: int, violations: int) -> None:
    totals = totals_of(spec, *pods)
    assert (totals.score, totals.violations, totals.pods) == (score, violations, len(pods))


def test_units_are_counted_by_type() -> None:
    assert totals_of(ALL, BARE, GOOD, LIVE_ONLY).units == {
        "latest_tag": 2,
        "missing_liveness": 1,
        "missing_readiness": 2,
        "high_restarts": 5,
        "pending": 1,
    }
    assert totals_of(ALL, WORST).points == 44
    assert totals_of(ALL, BARE, GOOD, LIVE_ONLY).points == 51


def test_ten_units_of_everything_on_one_pod_score_nothing() -> None:
    assert score_of(sum(10 * check.weight for check in CHECKS[:5]), 1) == 0


SEVERE = [
    pytest.param(LATEST, [LATEST_POD], 95, id="plain"),
    pytest.param(PolicySpec(forbid_latest_tag=True, scoring="severity"), [LATEST_POD], 90, id="default is high"),
    pytest.param(severe("critical"), [LATEST_POD], 85, id="critical"),
    pytest.param(severe("low"), [LATEST_POD], 95, id="low"),
    pytest.param(severe("critical"), [BARE, GOOD], 85, id="all critical"),
    pytest.param(severe("low"), [BARE, GOOD], 95, id="all low"),
    pytest.param(severe("low"), [WORST], 56, id="all low is plain"),
    pytest.param(severe("medium"), [WORST], 56, id="all medium is plain"),
    pytest.param(msgspec.structs.replace(severe("critical"), scoring=None), [WORST], 56, id="plain unless asked"),
]


@pytest.mark.parametrize(("spec", "pods", "score"), SEVERE)
def test_severity_multiplies_where_the_policy_scores_so(spec: PolicySpec, pods: list[Pod], score: int) -> None:
    assert totals_of(spec, *pods).score == score


def test_weights_can_be_set() -> None:
    assert totals_of(PolicySpec(forbid_latest_tag=True, weights=Weights(latest_tag=40)), LATEST_POD).score == 60
    assert totals_of(PolicySpec(forbid_latest_tag=True, weights=Weights(latest_tag=0)), LATEST_POD).score == 100


def test_findings_are_counted_by_severity() -> None:
    assert totals_of(ALL, WORST).severities == {"critical": 1, "high": 1, "medium": 2, "low": 1}


CLASSES = [
    (100, "Healthy"),
    (80, "Healthy"),
    (79, "Stable"),
    (60, "Stable"),
    (59, "Degraded"),
    (40, "Degraded"),
    (39, "Critical"),
    (0, "Critical"),
]


@pytest.mark.parametrize(("score", "name"), CLASSES)
def test_a_score_has_a_class(score: int, name: str) -> None:
    assert classify(score) == name


def test_eighty_is_healthy_and_less_is_not() -> None:
    assert is_healthy(80)
    assert not is_healthy(79)


def test_thresholds_can_be_set() -> None:
    strict = Thresholds(healthy=99, stable=95, degraded=90)
    assert [classify(score, strict) for score in (99, 98, 94, 89)] == ["Healthy", "Stable", "Degraded", "Critical"]
    assert not is_healthy(98, strict)


def test_the_message_counts_violations_and_pods() -> None:
    assert summary(violations=0, pods=1, score=100) == "0 violations across 1 pods — Healthy (100)"
    assert summary(violations=3, pods=42, score=87) == "3 violations across 42 pods — Healthy (87)"


AGGREGATES = [
    pytest.param([(100, 10), (50, 10)], 75, "Stable", id="two of a size"),
    pytest.param([(90, 100), (20, 1)], 89, "Healthy", id="a small bad one"),
    pytest.param([(95, 50), (60, 20), (40, 10)], 79, "Stable", id="three"),
    pytest.param([], 100, "Healthy", id="none"),
    pytest.param([(50, 0)], 100, "Healthy", id="no pods"),
    pytest.param([(35, 4)], 35, "Critical", id="one"),
]


@pytest.mark.parametrize(("scores", "score", "name"), AGGREGATES)
def test_clusters_count_by_their_pods(scores: list[tuple[int, int]], score: int, name: str) -> None:
    assert (aggregate(scores), classify(aggregate(scores))) == (score, name)


@pytest.mark.parametrize(
    "namespace",
    [
        "kube-system",
        "kube-flannel",
        "longhorn-system",
        "cert-manager",
        "istio-system",
        "monitoring",
        "observability",
        "argocd",
    ],
)
def test_a_system_namespace_is_known(namespace: str) -> None:
    assert is_system(namespace)


@pytest.mark.parametrize("namespace", ["default", "production", "system", "my-kube"])
def test_an_ordinary_namespace_is_known(namespace: str) -> None:
    assert not is_system(namespace)
