"""`homeostat up`: start, refusals, signals, restart."""

from __future__ import annotations

import errno
import http.client
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from homeostat.cli.plane.up import _why_not_served
from homeostat.plane import Settings
from tests.cli.running import HOMEOSTAT, Cli, Up, https, running, trust

GREETER = Path(__file__).parents[1] / "greeter.py"
NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: passing}}"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n"


def test_a_start_prints_the_address_the_kubeconfig_and_how_to_use_it(up: Up) -> None:
    text = "\n".join(up.welcome)
    assert len(up.welcome) == 5
    assert up.url.startswith("https://127.0.0.1:")
    assert f"export HOMEOSTAT_DATA={up.data} KUBECONFIG={up.data}/kubeconfig" in text
    assert "kubectl get ns" in text


def test_a_start_says_how_another_terminal_finds_the_command(cli: Cli, tmp_path: Path) -> None:
    own = str(Path(HOMEOSTAT).parent)
    environments = {
        "not in PATH": ({"PATH": str(tmp_path)}, f" PATH={own}:$PATH"),
        "in PATH": ({"PATH": own}, ""),
        "in the PATH that uvx made for this process alone": ({"PATH": own, "UV": "/opt/uv"}, f" PATH={own}:$PATH"),
    }
    for name, (variables, setting) in environments.items():
        with running(Cli({**cli.environment, **variables})) as up:
            assert up.welcome[2].endswith(f"{up.data}/kubeconfig{setting}"), name


def test_only_the_owner_can_read_what_is_written(up: Up) -> None:
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (up.data, *up.data.rglob("*"))}
    secret = {path: mode for path, mode in modes.items() if not path.name.endswith(".lock")}
    assert secret == {path: 0o700 if path.is_dir() else 0o600 for path in secret}


def test_a_second_start_on_the_same_data_is_refused_with_the_reason(up: Up) -> None:
    ended = up.cli("up", "--port", "0")
    assert ended.code == 1
    assert ended.err.startswith("error: ")
    assert "is in use" in ended.err
    assert "choose another data directory with --data" in ended.err
    assert ended.err.count("\n") == 1
    assert up.cli("get", "ns").code == 0


def test_a_full_disk_is_named_as_what_prevents_a_start(tmp_path: Path) -> None:
    said = _why_not_served(OSError(errno.ENOSPC, "No space left on device"), Settings(data=tmp_path))
    assert said == f"{tmp_path} is on a full disk; free space, or choose another directory with --data"


def test_a_busy_port_is_refused_with_the_reason(up: Up, tmp_path: Path) -> None:
    ended = up.cli("up", "--data", tmp_path / "other", "--port", str(up.port))
    assert (ended.code, ended.out) == (1, "")
    assert f"127.0.0.1:{up.port} is in use" in ended.err
    assert "--port" in ended.err


def test_sigterm_ends_open_watches_and_the_process(cli: Cli) -> None:
    with running(cli) as up:
        connection = https(up)
        connection.request("GET", "/api/v1/namespaces?watch=true")
        watch = connection.getresponse()
        assert watch.status == 200
        assert b'"ADDED"' in watch.readline()
        begun = time.monotonic()
        up.process.send_signal(signal.SIGTERM)
        watch.read()  # raises IncompleteRead if the stream was cut off
        connection.close()
        code = up.process.wait(30)
        took = time.monotonic() - begun
    assert code == 0
    assert took < 15, "a stop is quick also with open watches"
    assert up.err == ["Stopping the plane ... (a second signal exits at once)\n", "Stopped the plane\n"]


def test_a_restart_keeps_objects_and_credentials(cli: Cli) -> None:
    with running(cli) as up:
        assert cli("apply", "-f", "-", stdin=CONFIG_MAP).out == "configmap/kept created\n"
        before = cli("get", "cm", "kept", "-o", "json").json
        authority = (up.data / "pki" / "ca.crt").read_bytes()
        assert up.end(signal.SIGINT)[0] == 0
    assert up.err[0] == "Stopping the plane ... (Ctrl-C again exits at once)\n"
    with running(cli) as again:
        assert cli("get", "cm", "kept", "-o", "json").json == before
        assert (again.data / "pki" / "ca.crt").read_bytes() == authority


def test_a_second_signal_ends_it_at_once(cli: Cli) -> None:
    with (
        running(cli) as up,
        socket.create_connection(("127.0.0.1", up.port)) as raw,
        trust(up).wrap_socket(raw, server_hostname="127.0.0.1") as half_sent,
    ):
        half_sent.sendall(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
        time.sleep(0.2)
        up.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert up.process.poll() is None
        code, _ = up.end(signal.SIGINT)
    assert code == 128 + signal.SIGINT


def test_an_open_plane_asks_for_no_credential(cli: Cli) -> None:
    with running(cli, "--open") as up:
        assert up.url.startswith("http://127.0.0.1:")
        connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=30)
        connection.request("GET", "/api/v1/namespaces/default")
        assert connection.getresponse().status == 200
        connection.close()
        assert cli("get", "ns", "default", "-o", "name").out == "namespace/default\n"


FROM_ELSEWHERE = (
    {"Host": "evil.example"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:3000", "Content-Type": "text/plain"},
)


def test_an_open_plane_is_closed_to_web_pages_from_elsewhere(cli: Cli) -> None:
    with running(cli, "--open", "--operators", "none") as up:
        for headers in FROM_ELSEWHERE:
            connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=30)
            connection.request("POST", "/api/v1/namespaces", b'{"metadata":{"name":"planted"}}', headers)
            assert connection.getresponse().status == 403, headers
            connection.close()


def test_the_database_may_be_elsewhere(cli: Cli, tmp_path: Path) -> None:
    with running(cli, "--database", f"sqlite:///{tmp_path}/objects.db", "--operators", "none") as up:
        assert (tmp_path / "objects.db").exists()
        assert not (up.data / "homeostat.db").exists()


@pytest.mark.parametrize("named", ["policy", str(GREETER), "housekeeping"])
def test_housekeeping_runs_beside_whatever_operators_are_named(cli: Cli, named: str) -> None:
    with running(cli, "--no-rest", "--no-dashboard", "--operators", named) as up:
        own = "greeter, " if named == str(GREETER) else ""
        assert up.welcome[-1] == f"  awake       {own}housekeeping"
        assert cli.here("apply", "-f", "-", stdin=NAMESPACE).code == 0
        assert cli.here("delete", "ns", "passing", "--wait", "--timeout", "20").code == 0


def test_a_start_without_housekeeping_says_so(cli: Cli) -> None:
    with running(cli, "--operators", "none") as up:
        assert up.welcome[-1].startswith("  left out    housekeeping")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["--open", "--bind", "0.0.0.0"], 2, "not a loopback address", id="open to everyone"),
        pytest.param(["--bind", "example.com"], 2, "IP address", id="a name to bind to"),
        pytest.param(["--database", "postgresql://u@127.0.0.1:1/d"], 1, "cannot open", id="no database there"),
        pytest.param(["--address", "plane.example"], 2, "https://plane.example", id="no URL to be called by"),
        pytest.param(["--database", "mysql://h/d"], 2, "sqlite:///PATH", id="another database"),
        pytest.param(["--operators", "gardening"], 2, "housekeeping", id="unknown operator"),
        pytest.param(["--operators", ""], 2, "say none", id="no operator named"),
        pytest.param(["--data", ""], 2, "the value is empty", id="an empty directory"),
        pytest.param(["--port", "70000"], 2, "65535", id="no such port"),
        pytest.param(["--bind", "192.0.2.1"], 1, "--bind", id="not an address of this machine"),
        pytest.param(["--data", "/dev/null/data"], 1, "--data", id="not a directory"),
    ],
)
def test_what_cannot_be_served_is_refused(cli: Cli, arguments: list[str], code: int, words: str) -> None:
    ended = cli.here("up", "--port", "0", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err


def welcome_of(up: Up) -> list[str]:
    """All of it."""
    assert up.process.stdout is not None
    found = list(up.welcome)
    while not found[-1].startswith("  end it"):
        found.append(up.process.stdout.readline().rstrip("\n"))
    return found


def test_a_start_prints_a_link_that_signs_in_once(cli: Cli) -> None:
    with running(cli, "--operators", "actions") as up:
        line = next(each for each in welcome_of(up) if each.startswith("  sign in"))
        link = urlsplit(line.split()[-1])
        assert link.hostname == "127.0.0.1"
        form, headers = link.query, {"Content-Type": "application/x-www-form-urlencoded"}
        statuses = []
        for _ in range(2):
            connection = http.client.HTTPSConnection("127.0.0.1", link.port or 0, context=trust(up), timeout=60)
            connection.request("POST", link.path, form, headers)
            answer = connection.getresponse()
            cookie = answer.getheader("Set-Cookie") or ""
            statuses.append((answer.status, "; Secure" in cookie))
            connection.close()
        assert statuses == [(303, True), (403, False)]


def test_an_open_start_prints_no_link(cli: Cli) -> None:
    with running(cli, "--operators", "actions", "--open") as up:
        assert not [each for each in welcome_of(up) if each.startswith("  sign in")]


def end_as_uvx_does(process: subprocess.Popen[str]) -> int | None:
    """Its exit code after two signals; None if they came too far apart, on a busy machine, to be one request."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    time.sleep(0.02)
    process.send_signal(signal.SIGTERM)  # uvx forwards it, and the process had it already
    code = process.wait(30)
    return code if code == 0 or time.monotonic() - began < 0.5 else None


def test_an_ephemeral_plane_leaves_nothing_behind(cli: Cli, tmp_path: Path) -> None:
    assert any(leaves_nothing_behind(cli, tmp_path / str(each)) for each in range(5)), "no try was fast enough"


def leaves_nothing_behind(cli: Cli, temporary: Path) -> bool:
    """False if the machine was too busy to know."""
    temporary.mkdir()
    with running(Cli({**cli.environment, "TMPDIR": str(temporary)}), "--ephemeral") as up:
        (folder,) = temporary.iterdir()
        assert f"export HOMEOSTAT_DATA={folder} KUBECONFIG={folder}/kubeconfig" in "\n".join(up.welcome)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        connected = Cli({**cli.environment, "KUBECONFIG": str(folder / "kubeconfig")})
        assert connected("get", "namespaces", "default", "-o", "name").out == "namespace/default\n"
        code = end_as_uvx_does(up.process)
    if code is None:
        return False
    assert (code, list(temporary.iterdir())) == (0, [])
    assert not up.data.exists()
    return True


def test_an_ephemeral_plane_gets_no_advice_where_to_keep_its_data(cli: Cli, tmp_path: Path) -> None:
    refused = cli("up", "--ephemeral", "--data", tmp_path)
    assert refused.code == 2
    assert "--ephemeral keeps nothing, and --data says where to keep it; leave out one of them" in refused.err
