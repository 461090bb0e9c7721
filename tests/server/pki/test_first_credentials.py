from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from homeostat.server.pki.authority import issue_all
from homeostat.server.pki.directory import Pki, keep_issued, prepare_pki
from tests.server.pki.test_directory import HOSTS, NOW, contents, prepared

# A process of its own: that of the tests has threads.
_PROGRAM = """
import os, signal, threading, time
from homeostat.server.pki.first_credentials import IssuedAhead, issue_ahead

large = {"ca.key": b"k" * 200_000, "ca.crt": b"c"}
ahead = IssuedAhead.begin(lambda: large)
assert ahead.read() == large
assert ahead.read() == {}
ahead.close()

assert IssuedAhead.begin(lambda: 1 / 0).read() == {}
assert IssuedAhead.begin(lambda: os.kill(os.getpid(), signal.SIGTERM)).read() == {}

began = time.monotonic()
IssuedAhead.begin(lambda: time.sleep(60)).close()
assert time.monotonic() - began < 30
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    pass
else:
    raise AssertionError("a process is left")

def refuse(*words):
    raise OSError("not here")
before = os.listdir("/proc/self/fd")
fork, os.fork = os.fork, refuse
assert IssuedAhead.begin(lambda: large) is None
os.fork = fork
listdir, os.listdir = os.listdir, refuse
assert IssuedAhead.begin(lambda: large) is None
os.listdir = listdir
assert os.listdir("/proc/self/fd") == before

class Forbidden:
    exists = refuse
assert issue_ahead(Forbidden(), bind="", address="") is None

waiting = threading.Event()
thread = threading.Thread(target=waiting.wait)
thread.start()
assert IssuedAhead.begin(lambda: large) is None
waiting.set()
thread.join()
"""


def test_a_process_sends_what_it_issued_or_nothing_and_leaves_no_process_behind() -> None:
    ended = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert "ZeroDivisionError" not in ended.stderr


def test_a_first_start_keeps_what_was_issued_ahead(tmp_path: Path) -> None:
    issued, pki = issue_all(HOSTS, now=NOW), Pki(tmp_path / "pki")
    keep_issued(pki, issued)
    prepare_pki(pki, hosts=HOSTS, now=NOW)
    assert contents(pki) == issued
    assert {path.stat().st_mode & 0o777 for path in pki.directory.iterdir()} == {0o600}
    assert pki.directory.stat().st_mode & 0o777 == 0o700


def test_credentials_that_exist_are_not_replaced(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    before = contents(pki)
    keep_issued(pki, issue_all(HOSTS, now=NOW))
    assert contents(pki) == before


def test_a_host_that_was_not_known_ahead_is_certified(tmp_path: Path) -> None:
    issued, pki = issue_all(HOSTS, now=NOW), Pki(tmp_path / "pki")
    keep_issued(pki, issued)
    prepare_pki(pki, hosts={*HOSTS, "plane.example"}, now=NOW)
    changed = {name for name, pem in contents(pki).items() if pem != issued[name]}
    assert changed == {"server.crt"}
