"""How to install an extra of the distribution into this installation: with pip, pipx or uv, whichever made it.

What pip installs into an environment of pipx or uv is lost when they make that environment again.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

import msgspec

Extra = Literal["amqp", "jq", "otel", "postgres"]
_NAME: Final = "homeostat-plane"


def install_command(extra: Extra) -> str:
    """For the end of a message."""
    wanted, prefix = f"'{_NAME}[{extra}]'", Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx inject {_NAME} {wanted}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install --with {wanted} {_source()}"
    # uvx runs a program in an environment of its cache.
    if "UV" in os.environ and prefix.parent.name.startswith("archive-v"):
        return f"uvx --with {wanted} --from {_source()} homeostat"
    # A virtual environment of uv has no pip.
    return f"uv pip install {wanted}" if _is_of_uv(prefix) else f"pip install {wanted}"


def _is_of_uv(prefix: Path) -> bool:
    try:
        lines = (prefix / "pyvenv.cfg").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    return any(each.partition("=")[0].strip() == "uv" for each in lines)


def _source() -> str:
    """The file that was installed; the name of the distribution where it came from an index."""
    # Every start imports this module, and an error alone needs the metadata, which take 10 ms to import.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        noted = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        noted = None
    url = urlsplit(msgspec.json.decode(noted)["url"]) if noted else None
    return shlex.quote(unquote(url.path)) if url is not None and url.scheme == "file" else _NAME
