"""Builds the image of deploy/image with buildah, starts it as a container runtime would, and uses the plane in it.

    python -m tools.check_image [BASE]

The container has the image's user, environment and command, no capabilities, and a read-only root with `/tmp` and
`/data`. BASE is the base image; without it one is made of Debian's archive, once. It needs root, because it mounts.
Exits with `UNAVAILABLE`, and says what is missing, where it cannot run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from tools.provision import CACHE, ROOT, UNAVAILABLE, UnavailableError

_FOLDER: Final = CACHE / "image"
_BASE: Final = "localhost/homeostat-base"
_IMAGE: Final = "localhost/homeostat-checked"
_NEEDED: Final = ("buildah", "debootstrap", "unshare", "setpriv")
_PORT, _FACES_PORT = 27443, 28000
_BUILD_WITHIN_S: Final = 1800.0
_SERVE_WITHIN_S: Final = 60.0
_END_WITHIN_S: Final = 60.0
# The certificates of the machine: an archive may be behind a proxy that it trusts.
_CERTIFICATES: Final = "/etc/ssl/certs:/etc/ssl/certs:ro"
_START: Final = """
set -e
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$1/tmp"
mount --bind "$2" "$1/data"
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
root=$1 user=$3
shift 3
exec setpriv --no-new-privs chroot --userspec="$user" "$root" env -i "$@"
"""
"""Arguments: the root, the data directory, the user, then environment and command."""


def check(base: str) -> str:
    """What was seen; raises if the image is not built, or the plane in it does not serve or end."""
    if missing := [each for each in _NEEDED if shutil.which(each) is None]:
        raise UnavailableError(f"no {', '.join(missing)}: apt-get install buildah debootstrap util-linux")
    if os.geteuid() != 0:
        raise UnavailableError("mounting needs root: sudo make image-check")
    base = base or _debian()
    options = ["--isolation", "chroot", "--layers=false", "--format", "docker", "--volume", _CERTIFICATES]
    recipe = ["-f", "deploy/image/Dockerfile", "--build-arg", f"BASE={base}", "-t", _IMAGE]
    _buildah("bud", *options, *recipe, ".")
    settings = json.loads(_buildah("inspect", "--type", "image", _IMAGE))["Docker"]["config"]
    container = _buildah("from", _IMAGE).strip()
    try:
        return _use(Path(_buildah("mount", container).strip()), settings)
    finally:
        _buildah("rm", container)


def _debian() -> str:
    """The name of an image with Debian's Python, made the first time."""
    if _BASE in _buildah("images", "--format", "{{.Name}}"):
        return _BASE
    container = _buildah("from", "scratch").strip()
    root = Path(_buildah("mount", container).strip())
    packages = "--include=python3,python3-venv,ca-certificates"
    subprocess.run(
        ["debootstrap", "--variant=minbase", packages, "bookworm", str(root)], check=True, timeout=_BUILD_WITHIN_S
    )
    (root / "usr/bin/python").symlink_to("python3")
    _buildah("commit", "--rm", container, _BASE)
    return _BASE


def _buildah(*arguments: str) -> str:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    places = ["--root", str(_FOLDER / "store"), "--runroot", str(_FOLDER / "run"), "--storage-driver", "vfs"]
    done = subprocess.run(
        ["buildah", *places, *arguments],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_BUILD_WITHIN_S,
    )
    return done.stdout


def _use(root: Path, settings: dict[str, Any]) -> str:
    user, _, group = settings["User"].partition(":")
    with tempfile.TemporaryDirectory(dir=_FOLDER) as folder:
        data = Path(folder)
        os.chown(data, int(user), int(group))
        ports = ["--port", str(_PORT), "--faces-port", str(_FACES_PORT)]
        given = [str(root), folder, settings["User"], *settings["Env"], *settings["Cmd"], *ports]
        namespaces = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
        process = subprocess.Popen([*namespaces, "sh", "-c", _START, "sh", *given])
        try:
            _wait_until_served(process)
            asking = [sys.executable, "-m", "homeostat.cli.main", "get", "namespaces", "-o", "name", "--kubeconfig"]
            listed = subprocess.run(
                [*asking, str(data / "kubeconfig")], check=True, stdout=subprocess.PIPE, text=True
            ).stdout
            assert "namespace/kube-system" in listed, listed
            assert all(each.stat().st_uid == int(user) for each in data.rglob("*")), "files of another user"
        finally:
            ended = _end(process)
        assert ended == 0, f"the plane ended with {ended}"
    size = subprocess.run(["du", "-sm", str(root)], check=True, capture_output=True, text=True).stdout.split()[0]
    return f"built ({size} MiB with its base), served as user {user} with a read-only root, and ended"


def _end(process: subprocess.Popen[bytes]) -> int:
    """`unshare` ignores SIGTERM, so that its child decides; its own exit code is that of the child."""
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGTERM)
    return process.wait(_END_WITHIN_S)


def _wait_until_served(process: subprocess.Popen[bytes]) -> None:
    ready = [sys.executable, str(ROOT / "deploy/image/ready.py"), f"https://127.0.0.1:{_PORT}/readyz"]
    deadline = time.monotonic() + _SERVE_WITHIN_S
    while subprocess.run(ready, check=False, stderr=subprocess.DEVNULL).returncode != 0:
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("error: the plane in the image does not serve; its output is above")
        time.sleep(0.5)


if __name__ == "__main__":
    try:
        print(f"the image: {check(*sys.argv[1:2] or [''])}")
    except UnavailableError as error:
        print(f"error: {error}\nthe image was not checked", file=sys.stderr)
        sys.exit(UNAVAILABLE)
