"""The files of a repository at one commit, read without a checkout.

Nothing of the repository is executed, and links are reported as links and never followed. A file's contents are
downloaded at the first read. Whatever exceeds the limits is an error, and nothing of it is returned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, TypeVar

import msgspec

from homeostat.edge.threads import in_thread
from homeostat.external.git.errors import (
    GitAddressError,
    GitError,
    MissingPathError,
    NotAFileError,
    TooLargeError,
    readable,
)
from homeostat.external.git.program import Git

_LONGEST_PATH: Final = 4096
_LISTED: Final = 16 << 20
_ARGUMENTS: Final = 256 << 10
_HEADER: Final = 200
"""More than the line before each object in the output of `cat-file --batch`."""
_TOGETHER: Final = 10_000
"""Files whose contents are read by one process."""
_LARGE: Final = 1 << 16
_USER: Final = "git"

T = TypeVar("T")
Download = Callable[[Git, str, Sequence[str]], Awaitable[None]]


class TreeEntry(msgspec.Struct, frozen=True, gc=False):
    """`path` is relative to the directory that was listed."""

    path: str
    mode: str
    id: str

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")

    @property
    def is_link(self) -> bool:
        return self.mode == "120000"

    @property
    def is_directory(self) -> bool:
        return self.mode == "040000"

    @property
    def kind(self) -> str:
        kinds = {"040000": "a directory", "120000": "a link", "160000": "a submodule"}
        return kinds.get(self.mode, "a file")


class Snapshot:
    """`download` fetches the objects that the cache lacks."""

    def __init__(self, git: Git, commit: str, download: Download) -> None:
        self._git, self.commit, self._download = git, commit, download
        self._known: dict[str, TreeEntry | None] = {}
        """A commit does not change, so what was listed once is not listed again."""

    async def tree(self, directory: str = "") -> list[TreeEntry]:
        """Everything below a directory, links and submodules included; `MissingPathError` if it does not exist."""
        path, limits = inner_path(directory), self._git.limits
        name = path or "/"
        words = ("ls-tree", "-r", "-z", "--full-tree", f"{self.commit}:{path}")
        try:
            done = await self._git.run(*words, largest=max(_LISTED, limits.files * 128))
        except TooLargeError as error:
            raise TooLargeError(f'the directory "{name}" has too many files') from error
        if done.code:
            raise MissingPathError(f'the commit {self.commit[:12]} has no directory "{name}"')
        if (count := done.stdout.count(b"\0")) > limits.files:
            raise TooLargeError(f'the directory "{name}" has {count} files; the limit is {limits.files}')

        def listed() -> list[TreeEntry]:
            entries = _entries(done.stdout)
            _check_depth(entries, limits.depth)
            return entries

        return await computed(listed, len(done.stdout))

    async def children(self, directories: Sequence[str], is_wanted: Callable[[str], bool]) -> list[TreeEntry]:
        """The entries directly in these directories, as far as they exist, whose path is wanted. One that is a
        directory may be there twice.
        """
        paths = sorted({inner_path(each) for each in directories})
        found = list[TreeEntry]()
        if "" in paths:
            found += await self._listed(("-z", "--full-tree", self.commit), is_wanted)
        # With -t, also those directories whose own entries are listed.
        for some in _portions([f"{each}/" for each in paths if each]):
            found += await self._listed(("-t", "-z", "--full-tree", self.commit, "--", *some), is_wanted)
        return found

    async def below(self, paths: Sequence[str]) -> list[TreeEntry]:
        """The files, links and submodules at these paths and below them, none of which is below another."""
        found = list[TreeEntry]()
        for some in _portions(sorted({inner_path(each) for each in paths})):
            found += await self._listed(("-r", "-z", "--full-tree", self.commit, "--", *some), lambda _: True)
            if len(found) > self._git.limits.files:
                raise TooLargeError(f"more than {self._git.limits.files} files are below the directories that changed")
        return found

    async def _listed(self, words: Sequence[str], is_wanted: Callable[[str], bool]) -> list[TreeEntry]:
        limits = self._git.limits
        output = await self._git.output("ls-tree", *words, largest=max(_LISTED, limits.files * 128))
        found = await computed(lambda: _entries(output, is_wanted), len(output))
        _check_depth(found, limits.depth)
        return found

    async def entries(self, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """The entries of these paths and of the directories above them, as far as they exist."""
        wanted = {each for path in map(inner_path, paths) for each in (path, *_parents(path))}
        for some in _portions(sorted(wanted - self._known.keys())):
            words = ("ls-tree", "-t", "-z", "--full-tree", self.commit, "--", *some)
            listed = _entries(await self._git.output(*words, largest=_LISTED))
            self._known |= dict.fromkeys(some) | {each.path: each for each in listed if each.path in wanted}
        return {path: entry for path in wanted if (entry := self._known.get(path)) is not None}

    async def file(self, path: str) -> bytes:
        """The contents of a file; `MissingPathError` if it does not exist, `NotAFileError` if it is not a file."""
        name = inner_path(path)
        entry = (await self.entries([name])).get(name)
        if entry is None:
            raise MissingPathError(f'the commit {self.commit[:12]} has no file "{name}"')
        if not entry.is_file:
            raise NotAFileError(f'"{name}" is {entry.kind}, not a file')
        return (await self.read([entry]))[0]

    async def sizes(self, entries: Sequence[TreeEntry]) -> list[int]:
        """The sizes in bytes; this downloads the files."""
        weight = len(entries) * _HEADER
        ids, asked = await computed(lambda: _asked(entries), weight)
        await self._download(self._git, self.commit, ids)
        done = await self._git.run("cat-file", "--batch-check", stdin=asked, largest=_HEADER * (len(ids) + 1))
        return await computed(lambda: _sizes(done.stdout, entries), weight)

    async def read(self, entries: Sequence[TreeEntry]) -> list[bytes]:
        """The contents of these files, in this order. The contents of a link are its target."""
        if not entries:
            return []
        ids, _ = await computed(lambda: _asked(entries), len(entries) * _HEADER)
        await self._download(self._git, self.commit, ids)
        found, left = list[bytes](), self._git.limits.total_bytes
        for at in range(0, len(entries), _TOGETHER):
            found += await self._contents(entries[at : at + _TOGETHER], entries, left)
            left = self._git.limits.total_bytes - sum(map(len, found))
        self._check(entries, list(map(len, found)))
        return found

    async def _contents(self, some: Sequence[TreeEntry], entries: Sequence[TreeEntry], left: int) -> list[bytes]:
        """Of some of the entries, in so many bytes at most: the output of all of them would be held a second time."""
        weight = len(some) * _HEADER
        ids, asked = await computed(lambda: _asked(some), weight)
        try:
            done = await self._git.run("cat-file", "--batch", stdin=asked, largest=max(left, 0) + _HEADER * len(ids))
        except TooLargeError:
            self._check(entries, await self.sizes(entries))
            raise

        def contents() -> list[bytes]:
            found = _contents(done.stdout)
            if lost := next((each for each in some if each.id not in found), None):
                raise GitError(f'"{readable(lost.path)}" cannot be read from the cache')
            return [found[each.id] for each in some]

        return await computed(contents, weight)

    def _check(self, entries: Sequence[TreeEntry], sizes: Sequence[int]) -> None:
        limits = self._git.limits
        if max(sizes) > limits.file_bytes:
            entry, size = next(each for each in zip(entries, sizes, strict=True) if each[1] > limits.file_bytes)
            raise TooLargeError(f'"{readable(entry.path)}" has {size} bytes; the limit is {limits.file_bytes}')
        if sum(sizes) > limits.total_bytes:
            raise TooLargeError(f"{len(entries)} files have {sum(sizes)} bytes; the limit is {limits.total_bytes}")


async def computed(work: Callable[[], T], size: int) -> T:
    """The result of `work` on so many bytes of output. Hundreds of thousands of lines would block the event loop."""
    return await in_thread(work, user=_USER) if size > _LARGE else work()


def inner_path(path: str) -> str:
    """A path within a repository, without the slashes at its ends."""
    parts = [each for each in PurePosixPath(path).parts if each != "/"]
    if ".." in parts or any(ord(each) < 32 for each in path) or len(path) > _LONGEST_PATH:
        raise GitAddressError(f"{path[:300]!r} is not a path within a repository")
    return "/".join(parts)


def _parents(path: str) -> list[str]:
    return [str(each) for each in PurePosixPath(path).parents if str(each) != "."]


def _portions(paths: Sequence[str]) -> Iterator[list[str]]:
    """Groups of paths that fit into the arguments of a program."""
    some: list[str] = []
    length = 0
    for path in paths:
        if some and length + len(path.encode()) > _ARGUMENTS:
            yield some
            some, length = [], 0
        some.append(path)
        length += len(path.encode()) + 1
    if some:
        yield some


def _asked(entries: Sequence[TreeEntry]) -> tuple[list[str], bytes]:
    """The ids, each once, and as lines."""
    ids = list(dict.fromkeys(each.id for each in entries))
    return ids, "".join(f"{each}\n" for each in ids).encode()


def _sizes(output: bytes, entries: Sequence[TreeEntry]) -> list[int]:
    rows = (line.split() for line in output.decode().splitlines())
    found = {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[1] == "blob"}
    if lost := next((each for each in entries if each.id not in found), None):
        raise GitError(f'"{readable(lost.path)}" cannot be read from the cache')
    return [found[each.id] for each in entries]


def _check_depth(entries: Sequence[TreeEntry], depth: int) -> None:
    if deep := next((each for each in entries if each.path.count("/") >= depth), None):
        raise TooLargeError(f'"{readable(deep.path)}" is more than {depth} directories deep')


def _entries(output: bytes, is_wanted: Callable[[str], bool] | None = None) -> list[TreeEntry]:
    found, modes = list[TreeEntry](), dict[bytes, str]()
    for line in output.split(b"\0"):
        if line:
            facts, _, name = line.partition(b"\t")
            # Names that are not UTF-8 are replaced by readable ones; contents are read by id, never by name.
            path = name.decode(errors="replace")
            if is_wanted is None or is_wanted(path):
                mode, _, identity = facts.split()
                found.append(TreeEntry(path, modes.setdefault(mode, mode.decode()), identity.decode()))
    return found


def _contents(output: bytes) -> dict[str, bytes]:
    """`cat-file --batch` prints a line of id, type and size for each object, its contents, and a newline; of one that
    does not exist, the id and "missing". Output that a failure has cut off ends with what is complete.
    """
    found, at = {}, 0
    while (end := output.find(b"\n", at)) >= 0:
        row, at = output[at:end].split(), end + 1
        if len(row) == 3:
            stop = at + int(row[2])
            if row[1] == b"blob" and stop < len(output):
                found[row[0].decode()] = output[at:stop]
            at = stop + 1
    return found
