"""Errors of Git operations. Each type has the `reason` for a condition; the text is for people.

Git reports failures as text only, so this module, and no other, parses that text. It ignores the lines that the server
sends (`remote: ...`), because a server could imitate any failure. No message holds a credential.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from homeostat.external.process import Finished

_LONGEST_TEXT: Final = 300
_LONGEST_LINE: Final = 1000
_MOST_LINES: Final = 100
_MOST_STDERR: Final = 64 << 10
_REMOTE_LINE: Final = "remote:"
_unprintable = re.compile(r"[^\x20-\x7e\u00a0-\uffff]+")


class GitError(Exception):
    reason = "GitFailed"
    advice = ""


class GitAddressError(GitError):
    """The URL, the ref, the path or the credentials cannot be used as given."""

    reason = "InvalidRepository"


class InvalidRefError(GitAddressError):
    """The text cannot be the name of a ref."""


class AuthenticationError(GitError):
    """The server refused the credentials, or requires some."""

    reason = "AuthenticationFailed"
    advice = "check the token or the key, and its permissions"


class HostKeyError(GitError):
    """The server's host key is not among the known hosts."""

    reason = "HostKeyUnknown"
    advice = "check the known hosts: they must have the key of this server for its host and port"


class MissingRepositoryError(GitError):
    """The server has no such repository, or hides it from these credentials."""

    reason = "RepositoryNotFound"
    advice = "check the URL, and whether the credentials may read the repository"


class DumbServerError(GitAddressError):
    """The server offers files over HTTP, and not Git's own protocol."""

    advice = "the server must support Git's smart HTTP protocol; use another URL, or ssh"


class MissingRefError(GitError):
    """The server has no such ref, or no such commit."""

    reason = "RefMissing"


class MissingPathError(MissingRefError):
    """The commit has no such file or directory."""


class NotAFileError(GitError):
    """A path leads to a link, a submodule or a directory where a file is expected."""

    reason = "NotAFile"


class TooLargeError(GitError):
    reason = "RepositoryTooLarge"


class UnreachableError(GitError):
    """The server does not answer, or not as a Git server does; a later attempt may succeed."""

    reason = "RepositoryUnreachable"


class GitTimeoutError(UnreachableError):
    reason = "GitTimedOut"


class CacheBusyError(GitError):
    """Another process uses the cache of this repository for longer than we wait."""

    reason = "CacheBusy"


class PushConflictError(GitError):
    """The branch moved: during each attempt, or since it was fetched."""

    reason = "PushConflict"


class PushRejectedError(GitError):
    """The server refused the commit: a hook, a protected branch, a size limit."""

    reason = "PushRejected"


class SigningError(GitError):
    reason = "SigningFailed"


_SIGNS: Final[tuple[tuple[type[GitError], re.Pattern[str]], ...]] = (
    (PushConflictError, re.compile(r"^! \[rejected\]")),
    (HostKeyError, re.compile("host key verification failed|no matching host key type", re.IGNORECASE)),
    (
        AuthenticationError,
        re.compile(
            r"authentication failed|could not read (username|password)|permission denied|permission to .* denied"
            r"|returned error: 40[13]|invalid username or|incorrect passphrase|error in libcrypto",
            re.IGNORECASE,
        ),
    ),
    (
        MissingRepositoryError,
        re.compile(r"repository '.*' not found|repository not found|not appear to be a git repository", re.IGNORECASE),
    ),
    (DumbServerError, re.compile(r"dumb http transport", re.IGNORECASE)),
    (MissingRefError, re.compile(r"couldn't find remote ref|not our ref|unadvertised object", re.IGNORECASE)),
    (
        UnreachableError,
        re.compile(
            r"could not resolve|failed to connect|couldn't connect|connection (refused|timed out|reset|closed)"
            r"|no route to host|network is unreachable|hung up|early eof|ssl|certificate|tls"
            r"|returned error: (429|5\d\d)|operation too slow|recv failure|empty reply|proxy",
            re.IGNORECASE,
        ),
    ),
)


def failure(word: str, done: Finished, secrets: Collection[str] = ()) -> GitError:
    """The narrowest error for a `git` that ended with a failure."""
    lines = [each for each in error_lines(done) if not each.startswith(_REMOTE_LINE)]
    found = next((kind for kind, sign in _SIGNS if any(map(sign.search, lines))), GitError)
    stated = next((each for each in lines if each.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
    if found is HostKeyError or (found is not GitError and "could not read from remote" in stated.lower()):
        # ssh gives the reason, and git only that something failed.
        stated = next(each for each in lines if any(sign.search(each) for kind, sign in _SIGNS if kind is found))
    if found is AuthenticationError and "terminal prompts disabled" in stated:
        # Git asks a person for a password, if the one that it was given is refused.
        stated = "the server refused the credentials, or requires some"
    text = f"git {word}: {readable(stated, secrets).rstrip('.') or f'exit code {done.code}'}"
    return found(f"{text}; {found.advice}" if found.advice else text)


def rejection(done: Finished, reason: str, secrets: Collection[str]) -> PushRejectedError:
    """The reason of the server, with the lines that it printed."""
    remote = [each.removeprefix(_REMOTE_LINE).strip() for each in error_lines(done) if each.startswith(_REMOTE_LINE)]
    text = readable(" ".join(filter(None, remote)), secrets)
    return PushRejectedError(f"the server refused the push: {readable(reason, secrets)}{text and f': {text}'}")


def error_lines(done: Finished) -> list[str]:
    """The last lines of what `git` printed, each up to a limit: servers choose a part of it, and it is searched."""
    lines = done.stderr[-_MOST_STDERR:].decode(errors="replace").splitlines()[-_MOST_LINES:]
    return [each.strip()[:_LONGEST_LINE] for each in lines if each.strip()]


def readable(text: str, secrets: Collection[str] = ()) -> str:
    """A short text without credentials and control characters."""
    for secret in secrets:
        text = text.replace(secret, "***") if secret else text
    return _unprintable.sub(" ", text)[:_LONGEST_TEXT].strip()
