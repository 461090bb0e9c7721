"""Takes the pictures of the dashboard that the documents show, from the demo as it starts.

    python -m tools.picture_demo

It runs `homeostat demo` in a temporary directory and writes docs/pictures/*.png.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from tools.fetch_browser import browser_environment, find_browser
from tools.provision import ROOT

PAGES = {"home": "/dashboard"}
_FOLDER = ROOT / "docs" / "pictures"
_SIZE = (1280, 720)
_START_WITHIN_S, _SETTLE_S = 120.0, 20.0
_link = re.compile(r"sign in +(\S+)")


def take(log: Path) -> None:
    link = _link.search(log.read_text("utf-8"))
    assert link is not None, "the plane has printed no link"
    origin = link[1].partition("/dashboard")[0]
    _FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as program:
        browser = program.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox"], env={**browser_environment()}
        )
        page = browser.new_page(viewport={"width": _SIZE[0], "height": _SIZE[1]}, ignore_https_errors=True)
        page.goto(link[1])
        page.click("main button")
        page.wait_for_url("**/dashboard")
        for name, path in PAGES.items():
            page.goto(f"{origin}{path}")
            page.screenshot(path=_FOLDER / f"{name}.png")
        browser.close()


def main() -> None:
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            command = [str(Path(sys.executable).with_name("homeostat")), "demo", "--faces-port", "0"]
            demo = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + _START_WITHIN_S
            while "five things are wrong" not in log.read_text("utf-8"):
                if demo.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"error: the demo did not start:\n{log.read_text('utf-8')}")
                time.sleep(0.2)
            time.sleep(_SETTLE_S)
            take(log)
        finally:
            demo.terminate()
            demo.wait(30)


if __name__ == "__main__":
    main()
