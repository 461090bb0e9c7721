"""Packages of Debian's archive, unpacked into a folder: nothing is installed, and nobody has to be root."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tools.provision import UnavailableError, fetch_with

_FETCHED = "fetched"
"""A file that says which packages are there."""
_PATIENCE = ("-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::https::Timeout=20")


def is_fetched(cache: Path, packages: tuple[str, ...]) -> bool:
    return (cache / _FETCHED).is_file() and (cache / _FETCHED).read_text() == "\n".join(packages)


def library_path(cache: Path) -> dict[str, str]:
    """What the environment of a program that was fetched needs, to find its libraries."""
    folders = [str(each) for place in ("lib", "usr/lib") for each in cache.glob(f"{place}/*-linux-gnu")]
    return {"LD_LIBRARY_PATH": os.pathsep.join(folders)} if folders else {}


def fetch(cache: Path, packages: tuple[str, ...]) -> None:
    """Those packages, and what they depend on that this machine lacks; nothing if they are there."""
    if is_fetched(cache, packages):
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
            # The machine has no list of packages, or an old one: fetch a list of our own, which needs no root.
            _fetch_lists(folder)
            names = _lacking(folder, packages)
        _apt(folder, "-qq", "download", *names)
        for package in sorted(folder.glob("*.deb")):
            fetch_with(["dpkg", "-x", str(package), str(folder / "root")], folder=folder, source=str(package))
        _relocate(folder / "root")
        (folder / "root" / _FETCHED).write_text("\n".join(packages))
        if cache.exists():
            cache.rename(folder / "former")
        (folder / "root").rename(cache)


def _lacking(folder: Path, packages: tuple[str, ...]) -> list[str]:
    printed = _apt(folder, "-s", "--no-install-recommends", "install", "--reinstall", *packages)
    return [line.split()[1] for line in printed.splitlines() if line.startswith("Inst ")]


def _fetch_lists(folder: Path) -> None:
    for place in ("lists/partial", "cache/archives/partial"):
        (folder / place).mkdir(parents=True)
    _apt(folder, "-qq", "--error-on=any", "update")


def _apt(folder: Path, *arguments: str) -> str:
    has_lists = (folder / "lists").exists()
    own = ("-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache") if has_lists else ()
    return fetch_with(["apt-get", *_PATIENCE, *own, *arguments], folder=folder, source="Debian's archive")


def _relocate(root: Path) -> None:
    """Erlang's start script has the path where Debian installs it. It finds itself instead, so that the checkout may
    move.
    """
    for script in root.glob("usr/lib/erlang/bin/erl"):
        own = '="$(dirname "$(dirname "$(readlink -f "$0")")")"'
        script.write_text(script.read_text().replace("=/usr/lib/erlang", own))
