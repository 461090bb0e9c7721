"""`homeostat run --rest`: the REST API beside a server that is somebody else's."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from homeostat.cli.operators.run import command
from tests.web.reviewing import changed, trusting, write_certificates

PROGRAM = str(Path(sys.executable).with_name("homeostat"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rest", "8000"], "--rest-port needs --faces-cert and --faces-key for TLS; or --faces-open"),
        (["--rest", "0.0.0.0:8000", "--rest-open"], "0.0.0.0 is not a loopback address"),
        (["--rest", "example.com:8000", "--rest-open"], "--rest-port takes a port, or an IP address and a port"),
        (["--rest", "80000", "--rest-open"], "--rest-port takes a port"),
        (["--rest-cert", "a"], "--faces-port needs --faces-cert and --faces-key for TLS"),
        (["--rest", "8000", "--rest-open", "--faces-renew-secret", "a/b"], "needs --faces-cert and --faces-key"),
        (["--rest-cert", "a", "--rest-key", "b", "--faces-renew-secret", "a"], "--faces-renew-secret takes NAMESPACE/"),
        (["--no-faces", "--rest", "8000", "--rest-open"], "--no-faces serves no face"),
        (["--other-port", "8000", "--faces-open"], 'no operator that is to run has a face "other"; there are: '),
        (["--health-port", "8000"], 'no operator that is to run has a face "health"'),
        (["--rest", "8000", "--rest-open", "--rest-cert", "a", "--rest-key", "b"], "--faces-open is plain HTTP"),
        (["--rest", "8000", "--rest-open", "--allow-programs"], "each of them could run programs as you"),
        (["--rest", "8000", "--rest-open", "--operators", "policy"], 'no operator that is to run has a face "rest"'),
    ],
)
def test_options_that_make_no_sense_are_refused(options: list[str], told: str) -> None:
    done = CliRunner().invoke(command, options)
    assert (done.exit_code, told in " ".join(done.output.split())) == (2, True), done.output


@contextmanager
def started(arguments: list[str], pattern: str) -> Iterator[re.Match[str]]:
    process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        lines: list[str] = []
        while (found := re.search(pattern, line := process.stdout.readline())) is None:
            lines.append(line)
            assert line, "".join(lines)
        yield found
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def test_the_api_is_served_beside_a_server(tmp_path: Path) -> None:
    data, config = tmp_path / "plane", str(tmp_path / "plane" / "kubeconfig")
    up = ["up", "--data", str(data), "--port", "0", "--operators", "housekeeping"]
    with started(up, "end it"):
        definitions = subprocess.run([PROGRAM, "crds", "--operators", "actions"], capture_output=True, check=True)
        applied = subprocess.run(
            [PROGRAM, "apply", "--kubeconfig", config, "-f", "-"], input=definitions.stdout, capture_output=True
        )
        assert applied.returncode == 0, applied.stderr
        run = ["run", "--kubeconfig", config, "--operators", "actions", "--health", "none"]
        with started([*run, "--rest", "0", "--rest-open"], r"REST API +(\S+)") as found:
            assert _ask(f"{found[1]}/cluster/health") == {"status": "ok"}
            body = {"name": "Note", "version": "v1", "schema": {}}
            assert _ask(f"{found[1]}/resource-types", body)["id"] == 1
        files = tmp_path / "tls"
        write_certificates(files, age=timedelta(hours=20))
        due = (files / "tls.crt").read_bytes()
        secured = ["--rest", "0", "--rest-cert", str(files / "tls.crt"), "--rest-key", str(files / "tls.key")]
        with started([*run, *secured], r"REST API +(https://\S+)") as found:
            context = trusting(files)
            assert _ask(f"{found[1]}/cluster/health", context=context) == {"status": "ok"}
            changed((files / "tls.crt").read_bytes, due)
            assert _ask(f"{found[1]}/cluster/health", context=context) == {"status": "ok"}


def _ask(url: str, body: object = None, *, context: ssl.SSLContext | None = None) -> dict[str, object]:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), context=context, timeout=30) as answer:
        found: dict[str, object] = json.load(answer)
        return found
