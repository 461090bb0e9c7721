"""CPU and memory as people read them."""

from __future__ import annotations

import pytest

from homeostat.cli.top.top import _PODS, _print_objects
from homeostat.cli.top.usage import Usage, percent, total, usage_of
from tests.cli.running import Up


def test_amounts_are_shown_as_kubectl_shows_them() -> None:
    one, two = usage_of({"cpu": "50123456n", "memory": "65Mi"}), usage_of({"cpu": "1", "memory": "1Gi"})
    assert (one.cpu_text, one.memory_text) == ("51m", "65Mi")
    assert (two.cpu_text, two.memory_text) == ("1000m", "1024Mi")
    both = total([one, two])
    assert (both.cpu_text, both.memory_text) == ("1051m", "1089Mi")
    assert (percent(one.cpu, two.cpu), percent(one.memory, two.memory)) == ("5%", "6%")
    assert percent(one.cpu, Usage().cpu) == "<unknown>"
    assert usage_of({"memory": "much"}) == Usage()


def test_a_server_without_metrics_is_named(up: Up) -> None:
    for words in (("pods",), ("nodes",), ("pods", "web")):
        ended = up.cli.here("top", *words)
        assert ended.code == 1
        assert "the server has no metrics (metrics.k8s.io); a plane has them with --workloads simulated" in ended.err
    assert up.cli.here("top", "nodes", "--containers").code == 2
    assert up.cli.here("top", "pods", "web", "-A").code == 2


def test_programs_get_the_objects_of_the_server_the_highest_first(capfd: pytest.CaptureFixture[str]) -> None:
    small = {"metadata": {"name": "a", "namespace": "shop"}, "containers": [{"usage": {"cpu": "1m"}}]}
    large = {"metadata": {"name": "b", "namespace": "shop"}, "containers": [{"usage": {"cpu": "5m"}}] * 2}
    _print_objects(_PODS, [small, large], "cpu", "name", is_single=False)
    assert capfd.readouterr().out == "podmetrics.metrics.k8s.io/b\npodmetrics.metrics.k8s.io/a\n"
    _print_objects(_PODS, [large], None, "jsonpath={.kind} {.containers[1].usage.cpu}", is_single=True)
    assert capfd.readouterr().out == "PodMetrics 5m"
