"""`homeostat edit`: opens an object in an editor and sends the changes to the server.

Only the changed fields are sent, as a merge patch for the version that was shown. If the server refuses the change, the
editor opens again with the reason; if somebody else changed the object meanwhile, with both changes merged. A status
that a controller wrote meanwhile does not matter. A text that could not be sent is kept in a file.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import click

from homeostat.cli.completion.words import complete_targets
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure, one_line
from homeostat.cli.console.output import without_managed_fields
from homeostat.cli.objects.kinds import discover, with_type_meta
from homeostat.cli.objects.targets import Target, parse_targets, require_names
from homeostat.client.base import MERGE_PATCH, Client
from homeostat.objects import yaml
from homeostat.objects.edit import TRIES, InvalidTextError, check_same_object, edit_basis, read_manifest
from homeostat.objects.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    TooLargeError,
    UnauthorizedError,
)
from homeostat.objects.json import JsonObject
from homeostat.objects.patch.json import merge_patch, patch_between

_QUERY: Final = {"fieldManager": "homeostat-edit", "fieldValidation": "Strict"}
_MOST_BYTES: Final = 8 << 20
_HEADER: Final = """\
# Change the object below, save it and leave the editor. Lines that begin with # are ignored.
# An empty file, or one without changes, cancels the edit.
"""
_HOPELESS: Final = (NotFoundError, ForbiddenError, UnauthorizedError, TooLargeError)
"""Errors that no change of the text can help."""


class CancelledError(Exception):
    """The user changed nothing."""


@click.command(short_help="Change an object in an editor.")
@click.argument("words", nargs=-1, required=True, metavar="KIND NAME...", shell_complete=complete_targets)
@connected
async def command(connection: Connection, words: tuple[str, ...]) -> None:
    """Change objects in an editor: $KUBE_EDITOR, $EDITOR or vi. Several objects are opened one after another.

    \b
    Examples:
      homeostat edit cm settings
      EDITOR=nano homeostat edit deploy/web -n shop
    """
    for target in require_names(parse_targets(await discover(connection.client), words)):
        try:
            await Edit(connection.client, target, connection.namespace).run()
        except CancelledError as reason:
            click.echo(f"{_title(target)}: edit cancelled: {reason}", err=True)
        else:
            click.echo(f"{_title(target)} edited")


def _title(target: Target) -> str:
    return f"{target.kind.title}/{target.name}"


class Edit:
    """The edit of one object."""

    def __init__(self, client: Client, target: Target, namespace: str) -> None:
        self._client, self._target = client, target
        self._path = target.kind.path(namespace, target.name)

    async def run(self) -> None:
        """`CancelledError` if nothing was changed; `Failure` if a change could not be sent, which is kept in a file."""
        shown = await self._fetch()
        folder = tempfile.mkdtemp(prefix="homeostat-edit-")
        file = Path(folder, "object.yaml")
        try:
            await self._run(shown, file)
        except _UnsentError as error:
            raise Failure(f"{_title(self._target)}: {error}; your text is in {file}") from error
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)

    async def _run(self, shown: JsonObject, file: Path) -> None:
        text, reason, has_changes = yaml.dump(shown).decode(), "", False
        while True:
            written = await asyncio.to_thread(_edited, file, text, reason)
            if not written.strip():
                raise CancelledError("the file is empty")
            if written == text and not has_changes:
                if reason:
                    raise _UnsentError(f"no valid change was saved: {reason}")
                raise CancelledError("nothing was changed")
            text, has_changes = written, False
            try:
                patch = self._patch(shown, text)
                await self._send(shown, patch)
                return
            except ConflictError:
                shown = await self._fetch()
                text, has_changes = yaml.dump(merge_patch(shown, patch)).decode(), True
                reason = "the object was changed meanwhile; your changes are merged into the new version below"
            except _HOPELESS as error:
                raise _UnsentError(error.message) from error
            except ApiError as error:
                reason = error.message
            except InvalidTextError as error:
                reason = str(error)

    async def _fetch(self) -> JsonObject:
        obj = with_type_meta(self._target.kind, await self._client.get(self._path))
        return without_managed_fields(obj)

    def _patch(self, shown: JsonObject, text: str) -> JsonObject:
        edited = read_manifest(text, limit=_MOST_BYTES)
        check_same_object(edited, shown)
        patch = patch_between(shown, edited)
        if not patch:
            raise CancelledError("nothing was changed")
        return patch

    async def _send(self, shown: JsonObject, patch: JsonObject) -> None:
        """`ConflictError` if somebody else changed more than the status meanwhile."""
        metadata = shown["metadata"]
        for attempt in range(1, TRIES + 1):
            version = {"resourceVersion": metadata["resourceVersion"]}
            body = {**patch, "metadata": {**patch.get("metadata", {}), **version}}
            try:
                await self._client.request("PATCH", self._path, _QUERY, body=body, content_type=MERGE_PATCH)
                return
            except ConflictError:
                metadata = (await self._fetch())["metadata"]
                if attempt == TRIES or edit_basis(metadata) != edit_basis(shown["metadata"]):
                    raise


class _UnsentError(Exception):
    """The text of the user could not be sent."""


def _edited(file: Path, text: str, reason: str) -> str:
    """What the user made of the text."""
    header = _HEADER + (f"# error: {one_line(reason)}\n" if reason else "")
    file.write_text(f"{header}{text}")
    command = _editor()
    try:
        code = subprocess.call([*command, str(file)])  # noqa: S603 - the user's own choice
    except OSError as error:
        raise Failure(f"cannot run the editor {command[0]}: {error.strerror}; name another with EDITOR") from error
    if code:
        raise Failure(f"the editor {command[0]} ended with exit code {code}; nothing was changed")
    if file.stat().st_size > _MOST_BYTES:
        raise Failure(f"the text is larger than {_MOST_BYTES} bytes")
    lines = file.read_text(errors="replace").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("#"))


def _editor() -> list[str]:
    return shlex.split(os.environ.get("KUBE_EDITOR") or os.environ.get("EDITOR") or "vi") or ["vi"]
