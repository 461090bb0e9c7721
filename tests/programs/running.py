"""Programs of the Kubernetes world as processes of their own, against a plane.

Promises: a program is ended when its block is left, and by the kernel should this process die first; what it prints is
in a file, and the end of it in the error if it ended by itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from homeostat.server.access.tokens.file import Tokens
from homeostat.server.pki.kubeconfig import kubeconfig
from tests.served import RefusedError, ServedPlane
from tools.build_programs import find_program

_STOP_WITHIN_S = 20.0
_POLL_EVERY_S = 0.05


@contextmanager
def run_program(name: str, *arguments: str, kubeconfig: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """It runs in the block and must not end by itself."""
    command = [str(find_program(name)), *arguments]
    if setpriv := shutil.which("setpriv"):
        command = [setpriv, "--pdeathsig", "KILL", *command]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, env={**os.environ, "KUBECONFIG": str(kubeconfig)}, stdout=output, stderr=output
        )
    try:
        yield process
        assert process.poll() is None, f"{name} ended with {process.returncode}: {log.read_text()[-3000:]}"
    finally:
        process.terminate()
        try:
            process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def run_controllers(plane: ServedPlane, folder: Path, *options: str) -> Iterator[Path]:
    """A kube-controller-manager for this plane, as the user that Kubernetes gives it; its log."""
    pki, log = plane.data / "pki", folder / "controller-manager.log"
    identity = _kubeconfig_of(plane, "system:kube-controller-manager", folder / "controller-manager.kubeconfig")
    arguments = [
        f"--kubeconfig={identity}",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={pki / 'sa.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        # It would create the usual one in /usr.
        f"--flex-volume-plugin-dir={folder / 'volumes'}",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        *options,
    ]
    with run_program("controller-manager", *arguments, kubeconfig=identity, log=log):
        yield log


@contextmanager
def run_scheduler(plane: ServedPlane, folder: Path) -> Iterator[Path]:
    """A kube-scheduler for this plane, as the user that Kubernetes gives it; its log."""
    log = folder / "scheduler.log"
    identity = _kubeconfig_of(plane, "system:kube-scheduler", folder / "scheduler.kubeconfig")
    arguments = [
        f"--kubeconfig={identity}",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
    with run_program("scheduler", *arguments, kubeconfig=identity, log=log):
        yield log


def _kubeconfig_of(plane: ServedPlane, user: str, path: Path) -> Path:
    token = Tokens(plane.data / "tokens.json").create(user, now=time.time())
    authority = (plane.data / "pki" / "ca.crt").read_bytes()
    path.write_bytes(msgspec.json.encode(kubeconfig(plane.url, authority=authority, credential=token)))
    return path


def find(plane: ServedPlane, path: str) -> Any:
    """The object, or None if there is none."""
    try:
        return plane.ask("GET", path)
    except RefusedError as error:
        if ": 404 " in str(error):
            return None
        raise


def wait_until(holds: Callable[[], object], what: str, within_s: float = 60.0) -> Any:
    """What `holds` returned when it was first true."""
    end = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < end, f"not within {within_s:g} s: {what}"
        time.sleep(_POLL_EVERY_S)
    return found
