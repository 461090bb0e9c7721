"""Fetches the browser that tests look at the dashboard with, Chromium, from Debian's archive, without installing it.

    python -m tools.fetch_browser

Into `.cache/browser`; what is there is kept. It takes some 130 MB, and needs no root. Exits with `UNAVAILABLE` where
there is no apt, or no archive that it can reach.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools import debian
from tools.provision import CACHE as ALL
from tools.provision import MissingProgramError, provide

CACHE = ALL / "browser"
PACKAGES = ("chromium", "fonts-dejavu-core")


def find_browser() -> Path:
    fetched = CACHE / "usr" / "lib" / "chromium" / "chromium"
    if fetched.exists():
        return fetched
    if found := shutil.which("chromium"):
        return Path(found)
    raise MissingProgramError("no chromium: make browser, with apt and Debian's archive")


def browser_environment() -> dict[str, str]:
    """That of this process, with what a browser that was fetched needs to find its libraries."""
    found = debian.library_path(CACHE)
    # The libraries of sound have the path where Debian installs one of their own.
    sound = [str(each) for each in CACHE.glob("usr/lib/*-linux-gnu/pulseaudio")]
    folders = os.pathsep.join([*found.values(), *sound])
    return {**os.environ, **({"LD_LIBRARY_PATH": folders} if folders else {})}


def is_here() -> bool:
    try:
        find_browser()
    except MissingProgramError:
        return False
    return True


def bring() -> Path:
    if not is_here():
        debian.fetch(CACHE, PACKAGES)
    return find_browser()


if __name__ == "__main__":
    provide(bring)
