"""Fetches the servers that tests use from Debian's archive: RabbitMQ, OpenSSH, OpenLDAP, docker-registry, promtool.

    python -m tools.fetch_servers

Into `.cache/servers`, as they lie in their packages; nothing is installed, and what is there is left alone. It takes
some 80 MB, and needs no root. Exits with `UNAVAILABLE` where there is no apt, or no archive that it can reach.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "servers"
PACKAGES = ("rabbitmq-server", "openssh-server", "slapd", "prometheus", "docker-registry")
UNAVAILABLE = 69
"""EX_UNAVAILABLE of sysexits.h."""

_FETCHED = "fetched"
"""A file that says which packages are there."""
_FETCH_WITHIN_S = 600.0
_PLACES = ("usr/sbin", "usr/bin", "usr/lib/rabbitmq/bin", "usr/lib/erlang/erts-*/bin")


class UnavailableError(Exception):
    """What is missing on this machine, for people."""


class MissingProgramError(Exception):
    """Neither on PATH nor fetched."""


def find_program(name: str) -> Path:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/rabbitmq/bin"])
    if found := shutil.which(name, path=path):
        return Path(found)
    for place in _PLACES:
        for fetched in CACHE.glob(f"{place}/{name}"):
            if fetched.exists():
                return fetched
    raise MissingProgramError(f"no {name} on PATH, and none fetched by: python -m tools.fetch_servers")


def library_path(cache: Path = CACHE) -> dict[str, str]:
    """What the environment of a program that was fetched needs, to find its libraries."""
    folders = [str(each) for place in ("lib", "usr/lib") for each in cache.glob(f"{place}/*-linux-gnu")]
    return {"LD_LIBRARY_PATH": os.pathsep.join(folders)} if folders else {}


def fetch(cache: Path = CACHE, packages: tuple[str, ...] = PACKAGES) -> None:
    wanted = "\n".join(packages)
    if (cache / _FETCHED).is_file() and (cache / _FETCHED).read_text() == wanted:
        return
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise UnavailableError(f"there is no {program} on PATH")
    cache.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent, prefix=f"{cache.name}-") as scratch:
        folder = Path(scratch)
        try:
            names = _lacking(folder, packages)
        except UnavailableError:
            # The machine has no list of packages, or an old one: there is one of our own, for which nobody is root.
            _own_lists(folder)
            names = _lacking(folder, packages)
        _run(folder, "apt-get", *_options(folder), "-qq", "download", *names)
        for package in sorted(folder.glob("*.deb")):
            _run(folder, "dpkg", "-x", str(package), str(folder / "root"))
        _relocate(folder / "root")
        (folder / "root" / _FETCHED).write_text(wanted)
        if cache.exists():
            cache.rename(folder / "former")
        (folder / "root").rename(cache)


def _own_lists(folder: Path) -> None:
    for place in ("lists/partial", "cache/archives/partial"):
        (folder / place).mkdir(parents=True)
    _run(folder, "apt-get", *_options(folder), "-qq", "update")


def _options(folder: Path) -> list[str]:
    if not (folder / "lists").exists():
        return []
    return ["-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]


def _lacking(folder: Path, packages: tuple[str, ...]) -> list[str]:
    """Those packages, and what they need that this machine lacks."""
    command = ["apt-get", *_options(folder), "-s", "--no-install-recommends", "install", "--reinstall", *packages]
    return [line.split()[1] for line in _run(folder, *command).splitlines() if line.startswith("Inst ")]


def _relocate(root: Path) -> None:
    """Erlang's start script, and it alone, knows by heart where Debian would have put it."""
    for script in root.glob("usr/lib/erlang/bin/erl"):
        script.write_text(script.read_text().replace("=/usr/lib/erlang", f"={CACHE}/usr/lib/erlang"))


def _run(folder: Path, *command: str) -> str:
    try:
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_FETCH_WITHIN_S)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{command[0]}: no end within {_FETCH_WITHIN_S:g} s") from error
    except subprocess.CalledProcessError as error:
        told = f"{error.stdout}{error.stderr}".strip()[-1000:]
        raise UnavailableError(f"Debian's packages cannot be had:\n{told}") from error
    return done.stdout


def main() -> None:
    try:
        fetch()
    except UnavailableError as error:
        print(f"no servers are fetched: {error}", file=sys.stderr)
        print("the tests that want them are skipped", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    print(CACHE.relative_to(ROOT))


if __name__ == "__main__":
    main()
