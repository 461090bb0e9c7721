"""The commits that commands make, and the working tree that they make them in."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.repository.git import WorkingTree
from homeostat.operators.sync.session.remote import find, payload_of
from homeostat.operators.sync.session.save import SaveOptions, save
from homeostat.operators.sync.session.session import Session


def working_tree(session: Session) -> WorkingTree:
    if not session.is_git:
        raise ValidationError("the repository is a plain directory; this needs a git repository")
    remote = session.context["repository"]["git"].get("remote", {})
    return WorkingTree(session.files.base, remote=session.git_remote, branch=remote.get("branch", ""))


async def create_repository(session: Session) -> None:
    """Where there is none yet."""
    if session.is_git:
        await working_tree(session).init()
    else:
        session.files.base.mkdir(parents=True, exist_ok=True)


def pushes_itself(session: Session) -> bool:
    """Whether each commit is pushed: by default where there is a remote."""
    remote = session.context.get("repository", {}).get("git", {}).get("remote", {})
    return session.git_remote is not None and bool(remote.get("autoSync", True))


def check_push(session: Session, *, pushes: bool) -> None:
    """Before anything is written: `ValidationError` if there is nowhere to push to."""
    if pushes and not session.is_git:
        raise ValidationError("the repository is a plain directory; --push needs a git repository")
    if pushes and session.git_remote is None:
        raise ValidationError("the repository has no remote; set repository.git.remote.url in the context")


def commit_message(text: str, addition: str) -> str:
    return f"{text} - {addition}" if addition else text


async def commit_files(session: Session, message: str, names: Sequence[str], *, pushes: bool = False) -> None:
    """Commit these files on a git repository; on a plain directory there is nothing to do."""
    if session.is_git and names:
        tree = working_tree(session)
        await tree.init()
        is_new = await tree.commit(message, names)
        if is_new and (pushes or pushes_itself(session)):
            await tree.push()


async def refresh_files(session: Session, paths: Sequence[str]) -> None:
    """Bring what the server made of resources back into the repository, with a commit for each."""
    payloads = [(each, payload_of(await find(session, each))) for each in paths]
    changed = await save(session, payloads, SaveOptions(force=True))
    for path in paths:
        names = [each for each in changed if each.startswith(f"{path[1:]}/")]
        await commit_files(session, f"declarest: save resource {path}", names)
