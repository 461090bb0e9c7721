"""Fetches the browser that tests look at the dashboard with, Chromium, from Debian's archive, without installing it.

    python -m tools.fetch_browser

Into `.cache/browser`, as it lies in its packages; what is there already is left alone. It takes some 130 MB, and needs
no root. Exits with `UNAVAILABLE` where there is no apt, or no archive that it can reach.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tools.fetch_servers import ROOT, UNAVAILABLE, MissingProgramError, UnavailableError, fetch, library_path

CACHE = ROOT / ".cache" / "browser"
PACKAGES = ("chromium", "fonts-dejavu-core")


def find_browser() -> Path:
    fetched = CACHE / "usr" / "lib" / "chromium" / "chromium"
    if fetched.exists():
        return fetched
    if found := shutil.which("chromium"):
        return Path(found)
    raise MissingProgramError("no chromium on PATH, and none fetched by: python -m tools.fetch_browser")


def browser_environment() -> dict[str, str]:
    """That of this process, with what a browser that was fetched needs to find its libraries."""
    found = library_path(CACHE)
    # The libraries of sound know by heart where Debian would have put one of their own.
    sound = [str(each) for each in CACHE.glob("usr/lib/*-linux-gnu/pulseaudio")]
    folders = os.pathsep.join([*found.values(), *sound])
    return {**os.environ, **({"LD_LIBRARY_PATH": folders} if folders else {})}


def main() -> None:
    try:
        if shutil.which("chromium") is None:
            fetch(CACHE, PACKAGES)
    except UnavailableError as error:
        print(f"no browser is fetched: {error}", file=sys.stderr)
        print("the tests that want one are skipped", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    print(find_browser())


if __name__ == "__main__":
    main()
