"""What a sync reads of a commit: real repositories, and no more contents than needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from homeostat.external.git.access import Remote
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import GitError
from homeostat.operators.sync.engine.plan.changes import Plan, Target, full_plan, plan_changes
from homeostat.operators.sync.engine.tree.directory import Directory
from homeostat.operators.sync.policies.tree import changed_files, list_changed, list_files, payload_paths, read_tree
from tests.external.git_servers import Origin

SOURCE = "/customers"
FIRST = {
    "customers/_/metadata.yaml": "resource: {}\n",
    "customers/_/orders/_/metadata.yaml": "resource: {}\n",
    "customers/acme/resource.json": "{}",
    "customers/acme/script.sh": "true\n",
    "customers/bravo/resource.json": "{}",
    "customers/bravo/orders/_/metadata.yaml": "resource: {}\n",
    "customers/bravo/orders/1/resource.json": "{}",
    "other/x/resource.json": "{}",
    "_/metadata.yaml": "resource: {}\n",
}
ALL = Target(SOURCE, True)
ODD = os.fsdecode(b"\xff")
CASES = {
    "a payload": ({"customers/acme/resource.json": "[1]"}, (), ("incremental", [Target("/customers/acme")], [])),
    "metadata of the collection": ({"customers/_/metadata.yaml": "{}\n"}, (), ("incremental", [ALL], [])),
    "defaults of the collection": ({"customers/_/defaults.yaml": "{}\n"}, (), ("incremental", [ALL], [])),
    "defaults of a resource": (
        {"customers/acme/defaults.yaml": "{}\n"},
        (),
        ("incremental", [Target("/customers/acme")], []),
    ),
    "a sidecar": ({"customers/acme/script.sh": "false\n"}, (), ("incremental", [Target("/customers/acme")], [])),
    "a payload is removed": ({}, ("customers/bravo/resource.json",), ("incremental", [], ["/customers/bravo"])),
    "another format": (
        {"customers/acme/resource.yaml": "{}\n"},
        ("customers/acme/resource.json",),
        ("incremental", [Target("/customers/acme")], []),
    ),
    "outside of the source": ({"other/x/resource.json": "[2]", "README.md": "x"}, (), ("incremental", [], [])),
    "a file of unknown meaning": ({"customers/_/notes.txt": "x"}, (), ("full", [ALL], [])),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_a_commit_is_planned_by_the_files_that_it_changes(
    case: tuple[dict[str, str], tuple[str, ...], tuple[str, list[Target], list[str]]], tmp_path: Path
) -> None:
    files, gone, expected = case
    origin = Origin(tmp_path / "origin")
    base = origin.commit(FIRST)
    head = origin.commit(files, *gone)
    cache = GitCache(tmp_path / "cache", protocols={"file"})
    async with cache.open(Remote(origin.file_url)) as repository:
        await repository.fetch("refs/heads/main")
        entries = await list_files(repository.at(head))
        changes = await changed_files(repository, base, head)
        plan = plan_changes(SOURCE, changes, payload_paths(entries).__contains__)
        some = await list_changed(repository.at(head), SOURCE, changes)
        whole = _files(await read_tree(repository.at(head), entries, plan))
        assert (some is None) == (plan.mode == "full")
        if some is not None:
            assert plan_changes(SOURCE, changes, payload_paths(some).__contains__) == plan
            assert _files(await read_tree(repository.at(head), some, plan)) == whole
            assert len(some) == len({each.path for each in some}) <= len(entries)
    assert (plan.mode, list(plan.targets), list(plan.pruned)) == expected


@pytest.mark.parametrize(
    ("before", "files", "gone"),
    [
        ({}, {"docs/a\tb/notes.txt": "x"}, ()),
        ({}, {f"customers/{ODD}/resource.json": "{}"}, ()),
        (
            {f"customers/{ODD}/resource.json": "{}"},
            {f"customers/{ODD}/resource.yaml": "{}\n"},
            (f"customers/{ODD}/resource.json",),
        ),
        ({f"customers/*{ODD}/metadata.yaml": "{}\n"}, {"customers/acme/resource.json": "[1]"}, ()),
    ],
    ids=["control character", "not UTF-8", "not UTF-8, another format", "pattern that is not UTF-8"],
)
async def test_everything_is_listed_if_git_cannot_be_asked_for_a_directory(
    before: dict[str, str], files: dict[str, str], gone: tuple[str, ...], tmp_path: Path
) -> None:
    origin = Origin(tmp_path / "origin")
    base = origin.commit(FIRST | before)
    head = origin.commit(files, *gone)
    async with GitCache(tmp_path / "cache", protocols={"file"}).open(Remote(origin.file_url)) as repository:
        await repository.fetch("refs/heads/main")
        changes = await changed_files(repository, base, head)
        assert await list_changed(repository.at(head), SOURCE, changes) is None


async def test_contents_are_read_of_targets_and_of_metadata_on_the_way(tmp_path: Path) -> None:
    origin = Origin(tmp_path / "origin")
    head = origin.commit(FIRST)
    (origin.path / "customers/link").symlink_to("/etc/passwd")
    linked = origin.commit({})
    async with GitCache(tmp_path / "cache", protocols={"file"}).open(Remote(origin.file_url)) as repository:
        for commit in (head, linked):
            await repository.fetch(commit)
        snapshot = repository.at(head)

        async def read(plan: Plan) -> set[str]:
            return _files(await read_tree(snapshot, await list_files(snapshot), plan))

        one = await read(Plan("incremental", (Target("/customers/acme"),)))
        below = await read(Plan("incremental", (Target("/customers/bravo", True),), pruned=("/customers/acme",)))
        whole = await read(full_plan(SOURCE, ""))
        flat = await read(full_plan(SOURCE, "", is_recursive=False))
        assert "customers/link" in {each.path for each in await list_files(repository.at(linked))}
    assert one == {
        "customers/acme/resource.json",
        "customers/acme/script.sh",
        "customers/_/metadata.yaml",
        "customers/_/orders/_/metadata.yaml",
        "_/metadata.yaml",
    }
    assert below == set(FIRST) - {"other/x/resource.json"}
    assert whole == set(FIRST) - {"other/x/resource.json"}
    assert "customers/acme/resource.json" in flat
    assert "customers/bravo/orders/1/resource.json" not in flat


def _files(root: Directory) -> set[str]:
    return {f"{path}/{name}".lstrip("/") for path, each in root.walk() for name in each.files}


async def test_an_unknown_base_is_an_error_that_makes_a_sync_full(tmp_path: Path) -> None:
    origin = Origin(tmp_path / "origin")
    head = origin.commit(FIRST)
    async with GitCache(tmp_path / "cache", protocols={"file"}).open(Remote(origin.file_url)) as repository:
        await repository.fetch("refs/heads/main")
        with pytest.raises(GitError):
            await changed_files(repository, "0" * 39 + "1", head)
