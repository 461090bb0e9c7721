"""Creates a commit from a few edits, without a checkout: only the trees above the edited files are read and written.

So a change to one of a hundred thousand files costs as much as one file. Edits are checked against the tree: a path
through a link or a submodule is refused, and so is one that a later checkout would treat as Git's own file.
"""

from __future__ import annotations

import re
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

from homeostat.external.git.access import write_private
from homeostat.external.git.errors import GitAddressError, NotAFileError, SigningError, TooLargeError, readable
from homeostat.external.git.program import Git
from homeostat.external.git.snapshot import Snapshot, TreeEntry, inner_path
from homeostat.external.process import Finished, Program, run_program

SCRATCH: Final = "refs/homeostat/scratch"
_FILE: Final = "100644"
_SIGN_WITHIN_S: Final = 30.0
_ignored_by_file_systems = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_DROPPED: Final = " .,:;\"'\\"
"""Git drops these at both ends of a name."""
_QUOTED: Final = {'"': '\\"', "\\": "\\\\"}
_gpg_fingerprint = re.compile(r"^fpr:+([0-9A-F]{40,64}):", re.MULTILINE).search


@dataclass(frozen=True, slots=True)
class Identity:
    name: str
    email: str

    def __post_init__(self) -> None:
        for text in (self.name, self.email):
            if not text.strip(_DROPPED) or re.search(r"[<>\x00-\x1f]", text):
                raise GitAddressError(f"{text[:100]!r} cannot be the name or the email address of an author")


@dataclass(frozen=True, slots=True)
class SshSigning:
    private_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class GpgSigning:
    """`private_key` is the output of `gpg --export-secret-keys --armor`, without a passphrase."""

    private_key: str = field(repr=False)


Signing = SshSigning | GpgSigning | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Author, committer (by default the author) and signing key of a commit."""

    author: Identity
    committer: Identity | None = None
    signing: Signing = None


@dataclass(frozen=True, slots=True)
class Change:
    """`files` maps paths to whole contents; None removes a file. An existing file keeps its mode."""

    files: Mapping[str, bytes | None]
    message: str


async def make_commit(git: Git, base: Snapshot, change: Change, by: Signature, at: datetime) -> str | None:
    """The id of a new commit on top of the snapshot, on no branch yet. None if the change has no effect."""
    files = await _checked(git, base, change.files)
    if not files:
        return None
    text = (change.message.replace("\0", "").rstrip("\n") + "\n").encode()
    commit, tree, before = await _import(git, base.commit, files, text, by, at)
    if tree == before:
        return None
    return await _sign(git, tree, base.commit, text, by, at) if by.signing else commit


def check_edited(path: str) -> str:
    """The path if a file may be written to it."""
    name = inner_path(path)
    # Windows treats a backslash as a slash, text after a colon as a stream, and "git~1" as ".git".
    for part in re.split(r"[/\\]", name):
        plain = _ignored_by_file_systems.sub("", part.partition(":")[0]).casefold().rstrip(". ")
        if part in ("", ".", "..") or plain in (".git", "git~1"):
            raise GitAddressError(f"{path[:300]!r} is not a path that a file may be written to")
    return name


async def _checked(git: Git, base: Snapshot, files: Mapping[str, bytes | None]) -> dict[str, tuple[str, bytes | None]]:
    """Mode and contents by path, without missing files that the change removes."""
    if len(files) > git.limits.files:
        raise TooLargeError(f"the change has {len(files)} files; the limit is {git.limits.files}")
    if (total := sum(len(each or b"") for each in files.values())) > git.limits.total_bytes:
        raise TooLargeError(f"the change has {total} bytes; the limit is {git.limits.total_bytes}")
    wanted = {check_edited(path): contents for path, contents in files.items()}
    entries = await base.entries(list(wanted))
    found: dict[str, tuple[str, bytes | None]] = {}
    for path, contents in wanted.items():
        _check_place(path, entries)
        entry = entries.get(path)
        if contents is not None or entry is not None:
            found[path] = (entry.mode if entry else _FILE, contents)
    return found


def _check_place(path: str, entries: Mapping[str, TreeEntry]) -> None:
    for parent in map(str, PurePosixPath(path).parents):
        entry = entries.get(parent)
        if entry is not None and not entry.is_directory:
            raise NotAFileError(f'"{path}" cannot be written: "{parent}" is {entry.kind}')
    entry = entries.get(path)
    if entry is not None and not entry.is_file:
        raise NotAFileError(f'"{path}" cannot be written: it is {entry.kind}')


async def _import(
    git: Git, base: str, files: Mapping[str, tuple[str, bytes | None]], text: bytes, by: Signature, at: datetime
) -> tuple[str, str, str]:
    """The ids of the commit, of its tree and of the tree of `base`, with one process. The commit stays in the pack that
    is written here: single files of it would be a process more.
    """
    ref = f"{SCRATCH}/{secrets.token_hex(8)}"
    author, committer = _person(by.author, at), _person(by.committer or by.author, at)
    head = f"commit {ref}\nmark :1\nauthor {author}\ncommitter {committer}\ndata {len(text)}\n"
    lines = [head.encode(), text, f"from {base}\n".encode()]
    for path, (mode, contents) in files.items():
        name = f'"{"".join(_QUOTED.get(each, each) for each in path)}"'
        if contents is None:
            lines.append(f"D {name}\n".encode())
        else:
            lines += [f"M {mode} inline {name}\ndata {len(contents)}\n".encode(), contents, b"\n"]
    lines.append(f'\nget-mark :1\nls :1 ""\nls {base} ""\nreset {ref}\nfrom {"0" * len(base)}\n\ndone\n'.encode())
    words = ("fast-import", "--quiet", "--done", "--date-format=raw")
    done = await git.run(*words, stdin=b"".join(lines), config={"fastimport.unpackLimit": "0"})
    if done.code:
        raise git.failure("fast-import", done)
    commit, tree, before = done.stdout.decode().splitlines()
    return commit, _tree(tree), _tree(before)


def _tree(line: str) -> str:
    """Of `040000 tree ID TAB`; empty for a root without files, which Git reports as missing."""
    return "" if line.startswith("missing") else line.split()[2]


def _person(identity: Identity, at: datetime) -> str:
    return f"{identity.name.strip(_DROPPED)} <{identity.email.strip(_DROPPED)}> {int(at.timestamp())} +0000"


async def _sign(git: Git, tree: str, parent: str, text: bytes, by: Signature, at: datetime) -> str:
    committer, when = by.committer or by.author, f"@{int(at.timestamp())} +0000"
    environment = {
        "GIT_AUTHOR_NAME": by.author.name,
        "GIT_AUTHOR_EMAIL": by.author.email,
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_NAME": committer.name,
        "GIT_COMMITTER_EMAIL": committer.email,
        "GIT_COMMITTER_DATE": when,
    }
    async with _signed(by.signing) as (words, more, config):
        command = ("commit-tree", *words, "-p", parent, "-F", "-", tree)
        done = await git.run(*command, stdin=text, environment=environment | more, config=config)
    if done.code:
        raise SigningError(str(git.failure("commit-tree", done)))
    return done.stdout.decode().strip()


@asynccontextmanager
async def _signed(signing: Signing) -> AsyncIterator[tuple[list[str], dict[str, str], dict[str, str]]]:
    """Options, environment and settings for `commit-tree`. Inside the block, the key is in a file that only its owner
    can read.
    """
    if signing is None:
        yield [], {}, {}
        return
    # Not in the cache: the sockets of gpg's agent have names of at most 108 bytes.
    with tempfile.TemporaryDirectory(prefix="sign-") as name:
        directory = Path(name)
        match signing:
            case SshSigning(private_key):
                key = write_private(directory / "key", private_key)
                yield ["-S"], {}, {"gpg.format": "ssh", "user.signingKey": str(key)}
            case GpgSigning(private_key):
                fingerprint = await _import_key(private_key, directory)
                try:
                    yield [f"-S{fingerprint}"], {"GNUPGHOME": name}, {}
                finally:
                    await _gpg(directory, "gpgconf", "--kill", "all")


async def _import_key(private_key: str, directory: Path) -> str:
    done = await _gpg(directory, "gpg", "--batch", "--import", stdin=private_key.encode())
    listed = await _gpg(directory, "gpg", "--batch", "--with-colons", "--list-secret-keys")
    found = _gpg_fingerprint(listed.stdout.decode(errors="replace"))
    if found is None:
        text = readable(done.stderr.decode(errors="replace"))
        raise SigningError(f"the OpenPGP key cannot be imported; export it with gpg --export-secret-keys: {text}")
    return found[1]


async def _gpg(directory: Path, *words: str, stdin: bytes = b"") -> Finished:
    environment = {"GNUPGHOME": str(directory)}
    return await run_program(
        Program(arguments=words, directory=directory, environment=environment, stdin=stdin, timeout_s=_SIGN_WITHIN_S)
    )
