"""Builds the documentation as a site: the pages of docs/, and a reference that is made from the code.

    python -m tools.build_site

The site is in .cache/site/site; it needs no server and nothing from the internet. A link that leads nowhere fails.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tools.provision import CACHE
from tools.site import reference, staging

_FOLDER = CACHE / "site"
_SETTINGS = Path(__file__).parent / "site" / "zensical.toml"
_WITHIN_S = 300.0


def build(folder: Path = _FOLDER) -> Path:
    """The folder of the built site."""
    shutil.rmtree(folder, ignore_errors=True)
    staging.stage(folder / "docs")
    reference.write(folder / "docs" / "reference")
    shutil.copy(_SETTINGS, folder / "zensical.toml")
    (folder / "docs" / "assets").mkdir(exist_ok=True)
    shutil.copy(_SETTINGS.with_name("iframe-worker.js"), folder / "docs" / "assets" / "iframe-worker.js")
    zensical = Path(sys.executable).parent / "zensical"
    subprocess.run([str(zensical), "build", "--strict"], cwd=folder, check=True, timeout=_WITHIN_S)
    return folder / "site"


if __name__ == "__main__":
    try:
        print(build() / "index.html")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: the site was not built: zensical ended with {error.returncode}; its output above says why")
