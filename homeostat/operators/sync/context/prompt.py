"""Credentials that a prompt asks for: `{prompt: true, persistInSession: true}` in the catalog.

What was typed is kept, if the catalog says so, in a file of the session that only its owner reads, below
`XDG_RUNTIME_DIR`. The session is named by `DECLAREST_PROMPT_AUTH_SESSION_ID`; without it nothing is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from homeostat.external.files import replace_private_file
from homeostat.operators.sync.engine.errors import ValidationError

Ask = Callable[[str, bool], str]
"""Asks a person: the text to show, and whether to hide what is typed."""


def prompted(credential: str, key: str, *, persists: bool, environment: Mapping[str, str], ask: Ask | None) -> str:
    """From the session, else from a person; `ValidationError` if there is nobody to ask."""
    path = session_file(environment) if persists else None
    kept = _read(path)
    if found := kept.get(f"{credential}/{key}"):
        return found
    if ask is None:
        name = f"DECLAREST_CONTEXT_CREDENTIAL_{variable_name(credential)}_{key.upper()}"
        raise ValidationError(f'credentials "{credential}" ask for a {key}, and there is no terminal; set {name}')
    typed = ask(f"{credential} {key}", key == "password")
    if path is not None:
        replace_private_file(path, msgspec.json.encode({**kept, f"{credential}/{key}": typed}))
    return typed


def variable_name(credential: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in credential.upper())


def session_file(environment: Mapping[str, str]) -> Path | None:
    session, base = environment.get("DECLAREST_PROMPT_AUTH_SESSION_ID"), environment.get("XDG_RUNTIME_DIR")
    if not session or not base:
        return None
    return Path(base) / "declarest/prompt-auth" / f"{hashlib.sha256(session.encode()).hexdigest()}.json"


def forget(environment: Mapping[str, str]) -> None:
    path = session_file(environment)
    if path is not None:
        path.unlink(missing_ok=True)


def _read(path: Path | None) -> dict[str, str]:
    if path is None or not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (msgspec.DecodeError, OSError):
        return {}
