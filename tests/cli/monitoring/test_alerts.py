"""The alerts: each fires when it should and not otherwise, for the processes that it is about, and has a runbook."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from homeostat.cli.monitoring.alerts import rule_group
from homeostat.cli.monitoring.signals import chosen_signals
from homeostat.cli.monitoring.target import one_target
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.runtime.deployment import Signals
from tests.cli.monitoring.cases import CASES, P, Series, certificate
from tests.cli.running import Cli
from tools.fetch_servers import find_program

RUNBOOKS = Path(__file__).parents[3] / "docs" / "runbooks.md"


@cache
def all_signals() -> tuple[Signals, ...]:
    return tuple(chosen_signals("all", has_plane=True))


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(find_program("promtool")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@cache
def rules() -> dict[str, JsonObject]:
    target = one_target("homeostat", namespace="ops", webhook="homeostat-policy-webhook")
    groups = [rule_group(each, target, name=each.name) for each in all_signals()]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def trial(alert: str, what: str, series: Series, *, count: int) -> JsonObject:
    """After two hours so many alerts fire."""
    check = {
        "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
        "eval_time": "2h",
        "exp_samples": [{"labels": "{}", "value": count}],
    }
    given = [{"series": name, "values": values} for name, values in series.items()]
    return {"name": f"{alert}: {what}", "interval": "1m", "input_series": given, "promql_expr_test": [check]}


def with_replica(series: Series) -> Series:
    """The same from a second process, as of two replicas."""
    return {**series, **{name.replace('instance="a"', 'instance="b"'): values for name, values in series.items()}}


def of_another(series: Series) -> Series:
    return {re.sub(r'job="[a-z-]+"', 'job="another"', name): values for name, values in series.items()}


def run_trials(folder: Path, trials: dict[str, list[JsonObject]]) -> None:
    """By alert. Each is evaluated alone: promtool evaluates all rules of a file for every trial of it."""
    for alert, several in trials.items():
        path = folder / f"{alert}-rule.yaml"
        path.write_bytes(yaml.dump({"groups": [{"name": "one", "rules": [rules()[alert]]}]}))
        tests = {"rule_files": [path.name], "evaluation_interval": "5m", "tests": several}
        (folder / f"{alert}.yaml").write_bytes(yaml.dump(tests))
    done = promtool("test", "rules", *(str(folder / f"{alert}.yaml") for alert in trials))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_fires_once_for_its_own_processes_and_for_no_other_state(tmp_path: Path) -> None:
    assert sorted(CASES) == sorted(rules())
    trials = {
        name: [
            trial(name, "fires", with_replica(case.fires), count=1),
            trial(name, "does not fire, nor for other jobs", {**case.is_silent, **of_another(case.fires)}, count=0),
        ]
        for name, case in CASES.items()
    }
    run_trials(tmp_path, trials)


def test_a_certificate_fires_when_less_than_a_week_and_less_than_a_sixth_of_its_life_is_left(tmp_path: Path) -> None:
    table = ((365, 8, 0), (365, 6, 1), (14, 4, 0), (14, 2, 1), (1, 0.3, 0), (1, 0.1, 1))
    name = "HomeostatCertificateExpires"
    trials = [
        trial(name, f"{left} of {life}", certificate("faces", P, life=life, left=left), count=count)
        for life, left, count in table
    ]
    run_trials(tmp_path, {name: trials})


def test_prometheus_accepts_the_rule_file_that_is_printed(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(cli.here("monitoring", "rules", "--job", "plane").out)
    done = promtool("check", "rules", str(path))
    assert done.returncode == 0, done.stderr
    assert f"SUCCESS: {len(rules())} rules found" in done.stdout


def test_every_alert_has_a_section_of_the_runbooks_and_a_link_to_it() -> None:
    headings = re.findall(r"^### (\w+)$", RUNBOOKS.read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(rules())
    target = one_target("homeostat")
    for each in all_signals():
        for rule in rule_group(each, target, name=each.name, runbooks="https://example.com/runbooks")["rules"]:
            assert rule["annotations"]["runbook_url"] == f"https://example.com/runbooks#{rule['alert'].lower()}"


def test_no_expression_keeps_a_placeholder_or_selects_all_jobs() -> None:
    target = one_target("homeostat", namespace="ops", webhook="hook")
    for each in all_signals():
        for expression in [alert.expression for alert in each.alerts] + [
            panel.expression for row in each.panels.values() for panel in row
        ]:
            filled = target.fill(expression)
            assert "$" not in filled, expression
            selectors = re.findall(r"\{([^}]*)\}", filled)
            assert selectors, expression
            assert all('job="' in found for found in selectors), expression
            # Names of metrics have an underscore, and so have functions.
            assert not re.findall(r"\b[a-z]+(?:_[a-z]+)+\b(?![({])", re.sub(r"\{[^}]*\}", "{}", filled)), expression
