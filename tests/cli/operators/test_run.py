"""`homeostat run`: operators in a process of their own, on a plane in another."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from homeostat.operators.catalog import OURS
from tests.cli.running import Cli, Ended, Up, make_cli, running

GREETER = Path(__file__).parents[1] / "greeter.py"
LEASE = "homeostat-greeter"


@dataclass(slots=True)
class Run:
    """A `homeostat run` that has said that it runs."""

    process: subprocess.Popen[str]
    err: list[str] = field(default_factory=list)

    @property
    def health(self) -> str:
        return next(line.split()[-1] for line in self.err if line.startswith("  health"))

    def probe(self, page: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.health.removeprefix("http://"), timeout=30)
        try:
            connection.request("GET", page)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(25), time.monotonic() - began


@contextmanager
def operating(cli: Cli, *arguments: str, **environment: str) -> Iterator[Run]:
    chosen = Cli({**cli.environment, **environment})
    process = chosen.start("run", "--operators", GREETER, "--health", "127.0.0.1:0", *arguments)
    assert process.stderr is not None
    run, is_welcome = Run(process), threading.Event()

    def read() -> None:
        for line in process.stderr or ():
            run.err.append(line.rstrip("\n"))
            if line.startswith("  end it"):
                is_welcome.set()
        is_welcome.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert is_welcome.wait(30)
        yield run
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join()
        process.stderr.close()
        assert process.stdout is not None
        process.stdout.close()


def until(see: Callable[[], Any], *, within_s: float = 30.0) -> Any:
    deadline = time.monotonic() + within_s
    while not (seen := see()):
        assert time.monotonic() < deadline, "it did not hold in time"
        time.sleep(0.05)
    return seen


def apply(cli: Cli, obj: dict[str, Any]) -> Ended:
    import msgspec

    ended = cli.here("apply", "-f", "-", stdin=msgspec.json.encode(obj).decode())
    assert ended.code == 0, ended.err
    return ended


def greet(cli: Cli, name: str, text: str = "hello", **spec: Any) -> None:
    spec = {"text": text, **spec}
    apply(cli, {"apiVersion": "example.test/v1", "kind": "Greeting", "metadata": {"name": name}, "spec": spec})


def status(cli: Cli, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cli.here("get", "greetings", name, "-o", "json").json.get("status") or {}
    return found


@pytest.fixture(scope="module")
def ready(up: Up) -> Cli:
    """The command on a plane that has the definitions."""
    definitions = up.cli.here("crds", "--operators", GREETER).out
    assert up.cli.here("apply", "-f", "-", stdin=definitions).code == 0
    until(lambda: up.cli.here("get", "greetings").code == 0)
    return up.cli


def test_it_works_says_where_and_ends_when_asked(ready: Cli) -> None:
    with operating(ready) as run:
        until(lambda: run.probe("/readyz") == (200, "READY"))
        greet(ready, "first")
        until(lambda: status(ready, "first").get("said") == "hello")
        assert run.probe("/healthz") == (200, "OK")
        assert 'homeostat_reconciles_total{controller="greeter",outcome="settled"}' in run.probe("/metrics")[1]
        code, seconds = run.end()
    assert run.err[0].startswith("Homeostat runs greeter on https://127.0.0.1:")
    assert [line.split()[0] for line in run.err[1:5]] == ["namespaces", "leads", "health", "end"]
    assert code == 0
    assert seconds < 15, "running work would have 20 s to end"
    assert [line for line in run.err if " WARNING " in line or " ERROR " in line] == []


def test_sigterm_lets_running_work_end(ready: Cli) -> None:
    with operating(ready) as run:
        greet(ready, "slow")
        until(lambda: status(ready, "slow").get("said") == "hello")
        greet(ready, "slow", takesS=1.5)
        until(lambda: 'homeostat_queue_working{controller="greeter"} 1' in run.probe("/metrics")[1])
        code, seconds = run.end()
    assert code == 0
    assert seconds > 0.2
    assert status(ready, "slow")["observedGeneration"] == 2
    assert ready.here("delete", "greetings", "slow").code == 0


def test_a_second_signal_ends_it_at_once(ready: Cli) -> None:
    with operating(ready) as run:
        greet(ready, "endless", takesS=250)
        until(lambda: 'homeostat_queue_working{controller="greeter"} 1' in run.probe("/metrics")[1])
        run.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert run.process.poll() is None
        code, seconds = run.end(signal.SIGINT)
    assert code == 128 + signal.SIGINT
    assert seconds < 15, "the work has 20 s to end"
    assert ready.here("delete", "greetings", "endless").code == 0


def test_one_of_two_leads_and_the_other_takes_over(ready: Cli) -> None:
    def holder() -> str:
        found = ready.here("get", "lease", LEASE, "-o", "json")
        return str(found.json["spec"].get("holderIdentity", "")) if found.code == 0 else ""

    with (
        operating(ready, "--leader-elect", GREETER="first") as first,
        operating(ready, "--leader-elect", GREETER="second") as second,
    ):
        until(lambda: second.probe("/readyz") == (200, "READY"))
        leader = until(holder)
        greet(ready, "shared", "one")
        by = until(lambda: status(ready, "shared").get("by"))
        leading, standing = (first, second) if by == "first" else (second, first)
        assert [
            f'homeostat_leading{{lease="{LEASE}"}} 1' in each.probe("/metrics")[1] for each in (leading, standing)
        ] == [
            True,
            False,
        ]
        assert leading.end()[0] == 0
        until(lambda: holder() not in {"", leader})
        greet(ready, "shared", "two")
        until(lambda: status(ready, "shared").get("said") == "two")
        assert status(ready, "shared")["by"] == ("second" if by == "first" else "first")


def test_a_mistake_of_an_operator_ends_the_process_and_is_reported(ready: Cli) -> None:
    with operating(ready, GREETER_BREAKS="yes") as run:
        assert run.process.wait(30) == 1
    assert any("ZeroDivisionError: a mistake of the operator's" in line for line in run.err)


def test_a_dry_run_says_what_would_be_done_and_does_nothing(ready: Cli) -> None:
    for each in ("first", "shared"):
        ready.here("delete", "greetings", each)
    greet(ready, "dry", "later")
    table = ready("run", "--operators", GREETER, "--dry-run")
    assert table.code == 0
    assert [row[:3] for row in table.rows] == [
        ["KIND", "NAMESPACE", "NAME"],
        ["Greeting.example.test", "default", "dry"],
    ]
    assert "Say(text='later')" in table.out
    greet(ready, "wordless", "")
    listed = ready("run", "--operators", GREETER, "--dry-run", "-o", "json")
    assert listed.code == 1
    plans = {each["name"]: each for each in listed.json}
    assert plans["dry"]["actions"] == [{"action": "Say", "with": {"text": "later"}}]
    assert plans["wordless"]["trouble"] == "NothingToSay: the text is empty"
    assert "status" not in ready.here("get", "greetings", "dry", "-o", "json").json
    for each in ("dry", "wordless"):
        ready.here("delete", "greetings", each)


def test_a_dry_run_fails_for_what_is_unreadable(ready: Cli, tmp_path: Path) -> None:
    picky = tmp_path / "picky.py"
    picky.write_text(GREETER.read_text().replace("    spec: GreetingSpec = GreetingSpec()", "    data: str"))
    greet(ready, "odd", "hello")
    ended = ready("run", "--operators", picky, "--dry-run")
    ready.here("delete", "greetings", "odd")
    assert ended.code == 1
    assert 'fail: Unreadable: greetings "default/odd" does not match Greeting' in ended.out


def test_a_missing_definition_is_reported_with_what_to_type(up: Up, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(GREETER.read_text().replace("example.test", "missing.test"))
    ended = up.cli("run", "--operators", other, "--health", "none")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "error: the server does not serve greetings.missing.test/v1, which other needs; "
        f"to install: homeostat crds --operators {other} | kubectl apply --server-side -f -\n"
    )


def test_leases_in_a_namespace_that_is_not_there_are_refused_at_the_start(ready: Cli) -> None:
    ended = ready("run", "--operators", GREETER, "--leader-elect", "--lease-namespace", "nowhere")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        'error: there is no namespace "nowhere" for the leases of --leader-elect; '
        "create it (kubectl create namespace nowhere) or choose another with --lease-namespace\n"
    )


def test_a_process_that_may_not_read_namespaces_joins_leader_election(ready: Cli, tmp_path: Path) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "narrow"}
    rules = [{"apiGroups": ["example.test"], "resources": ["*"], "verbs": ["*"]}]
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "narrow"}}
    apply(ready, {**kind, "kind": "ClusterRole", "rules": rules})
    apply(
        ready, {**kind, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [{"kind": "User", "name": "nina"}]}
    )
    config = tmp_path / "kubeconfig"
    config.write_text(ready.here("token", "create", "nina", "-o", "kubeconfig").out)
    remedy = (
        'allow get, create and update of leases.coordination.k8s.io in the namespace "nowhere", '
        "or choose another where this account may (--lease-namespace)"
    )
    with operating(ready, "--kubeconfig", str(config), "--leader-elect", "--lease-namespace", "nowhere") as run:
        until(lambda: remedy in run.probe("/readyz")[1])
        assert run.end()[0] == 0


def test_a_namespace_that_is_not_there_is_warned_of(ready: Cli) -> None:
    warning = 'warning: there is no namespace "shpo" (--namespace), so there is nothing to reconcile'
    with operating(ready, "--namespace", "shpo") as run:
        assert run.err[0].startswith(warning)
        assert run.end()[0] == 0
    dry = ready("run", "--operators", GREETER, "--namespace", "shpo", "--dry-run")
    assert (dry.code, dry.out) == (0, "nothing to reconcile\n")
    assert dry.err.startswith(warning)
    assert ready("run", "--operators", GREETER, "--namespace", "default", "--dry-run").err == ""
    former = ready("run", "--operators", GREETER, "--watch-namespace", "shpo", "--dry-run")
    assert (former.code, former.err) == (dry.code, dry.err)


@pytest.mark.parametrize("election", [(), ("--leader-elect", "--lease-namespace", "kube-system")])
def test_what_the_plane_runs_itself_is_not_run_a_second_time(up: Up, election: tuple[str, ...]) -> None:
    ended = up.cli("run", "--health", "none", *election)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"error: the server runs {', '.join(OURS)} itself, and a second process would repeat all work; "
        "leave these out of --operators, or start the plane without them: homeostat up --operators housekeeping\n"
    )


def test_what_the_plane_runs_itself_may_be_run_dry(up: Up) -> None:
    ended = up.cli("run", "--operators", "actions", "--dry-run")
    assert (ended.code, ended.err) == (0, "")


def test_a_busy_health_port_is_reported(ready: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = ready("run", "--operators", GREETER, "--health", where)
    assert (ended.code, ended.err) == (1, f"error: {where} is in use; choose another with --health\n")


def test_a_server_that_is_away_is_reported(cli: Cli, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": ""}}
    config = tmp_path / "config"
    config.write_bytes(
        repr({"clusters": [cluster], "contexts": [context], "current-context": "c"}).replace("'", '"').encode()
    )
    ended = cli("run", "--operators", GREETER, "--kubeconfig", config)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("error: ")
    assert f"127.0.0.1:{port}" in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--operators", "gardening"], 'unknown operator "gardening"', id="unknown"),
        pytest.param(["--operators", "./nowhere.py"], 'no such file: "nowhere.py"', id="no such file"),
        pytest.param(["--operators", ","], "names none", id="none"),
        pytest.param(["--operators", str(GREETER), "--health", "8081"], "ADDR:PORT", id="health without an address"),
        pytest.param(["--operators", str(GREETER), "--health", "h:99999"], "ADDR:PORT", id="health out of range"),
    ],
)
def test_what_cannot_be_run_is_refused(cli: Cli, arguments: list[str], words: str) -> None:
    ended = cli.here("run", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err


def test_up_runs_a_file_in_process_and_installs_its_definitions(tmp_path: Path) -> None:
    cli = make_cli(tmp_path / "data")
    with running(cli, "--operators", f"all,{GREETER}") as up:
        until(lambda: cli.here("get", "greetings").code == 0)
        greet(cli, "inside")
        until(lambda: status(cli, "inside").get("said") == "hello")
        namespaces = cli.here("get", "cm", "kube-root-ca.crt")
        again = cli("run", "--operators", GREETER, "--health", "none")
        code, seconds = up.end()
    assert namespaces.code == 0
    assert again.err.startswith("error: the server runs greeter itself")
    assert again.err.endswith(f"homeostat up --operators housekeeping,{','.join(OURS)}\n")
    assert (code, up.err[1:]) == (0, ["Stopped the plane\n"])
    assert seconds < 15, "running work would have 20 s to end"
