"""How another terminal finds this program: by its name, or by a setting of PATH that `export` takes."""

from __future__ import annotations

import os
import shlex
import sys

_NAME = "homeostat"


def path_setting() -> str:
    """For the end of an `export`, with a blank before it; empty if every terminal finds the program."""
    folder = _folder()
    return "" if folder is None or _is_found() else f" PATH={shlex.quote(folder)}:$PATH"


def _folder() -> str | None:
    """Of this program; None if it is not installed, as in a zipped application."""
    for path in (sys.argv[0], sys.executable):
        folder = os.path.dirname(os.path.abspath(path))
        if _is_program(folder):
            return folder
    return None


def _is_found() -> bool:
    # uvx and `uv run` put a folder in front of the PATH of this process alone, and set UV.
    own = os.path.join(sys.prefix, "bin") if "UV" in os.environ else None
    return any(_is_program(each) for each in os.get_exec_path() if each != own)


def _is_program(folder: str) -> bool:
    return os.access(os.path.join(folder, _NAME), os.X_OK)
