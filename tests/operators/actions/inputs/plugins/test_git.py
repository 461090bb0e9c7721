"""Files of a Git repository become resources; what is broken among them is told, and nothing is lost by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import SECRET
from homeostat.testing.status import check_status, condition_of
from tests.external.git_servers import HttpGit, Origin, running_sshd, serving_git
from tests.operators.actions.inputs.input_plane import InputPlane, thing


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "served" / "shop.git")


@pytest.fixture
async def server(origin: Origin) -> AsyncIterator[tuple[HttpGit, JsonObject]]:
    async with serving_git(origin.path.parent, "s3cret-token") as (server, url):
        token = {"store": "secret", "key": "forge/token"}
        yield server, {"url": f"{url}/shop.git", "ref": "main", "directory": "resources", "token": token}


def file(*names: str, text: str = "hello") -> bytes:
    return b"---\n".join(encode(thing(name, text)) + b"\n" for name in names)


async def give_token(plane: InputPlane, value: str = "s3cret-token") -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "forge"}, "stringData": {"token": value}}
    await plane.client.apply(SECRET.path("default", "forge"), secret, manager="test", force=True)


async def test_a_directory_is_followed_commit_by_commit(
    plane: InputPlane, origin: Origin, server: tuple[HttpGit, JsonObject]
) -> None:
    yaml = b"apiVersion: resources.homeostat.dev/v1\nkind: Thing\nmetadata: {name: c}\nspec: {text: yes sir}\n"
    first = origin.commit({"resources/a.json": file("a"), "resources/deep/b.yaml": yaml, "resources/README.md": "x"})
    await give_token(plane)
    await plane.declare_input("shop", "git", server[1])
    await plane.become({"a": "hello", "c": "yes sir"})
    obj = await plane.reported("shop", reason="InSync", revision=first, declared=2, applied=2)
    check_status(obj)
    assert "s3cret" not in str(obj)
    (one,) = [each for each in (await plane.client.list(plane.path()))[0] if each["metadata"]["name"] == "a"]
    assert one["metadata"]["labels"] == {"homeostat.dev/input": "shop"}
    assert one["metadata"]["annotations"]["homeostat.dev/input-source"] == "a.json"

    second = origin.commit(
        {"resources/a.json": file("a", text="bye"), "resources/d.json": file("d")}, "resources/deep/b.yaml"
    )
    await plane.become({"a": "bye", "d": "hello"})
    await plane.reported("shop", reason="InSync", revision=second, declared=2, applied=2)


async def test_a_broken_file_is_named_and_the_rest_is_applied_and_nothing_is_deleted(
    plane: InputPlane, origin: Origin, server: tuple[HttpGit, JsonObject]
) -> None:
    origin.commit({"resources/a.yaml": file("a"), "resources/b.yaml": file("b", "c"), "resources/d.yaml": file("d")})
    await give_token(plane)
    await plane.declare_input("shop", "git", server[1])
    await plane.become({"a": "hello", "b": "hello", "c": "hello", "d": "hello"})
    origin.commit({"resources/a.yaml": file("a", text="bye"), "resources/b.yaml": "{ broken: ["}, "resources/d.yaml")
    await plane.hasten("shop")
    obj = await plane.reported("shop", reason="Incomplete", failed=1, applied=1, pendingDeletions=3)
    assert await plane.things() == {"a": "bye", "b": "hello", "c": "hello", "d": "hello"}
    assert obj["status"]["errors"][0]["source"] == "b.yaml"
    assert "b.yaml" in condition_of(obj, "Ready")["message"]
    origin.commit({"resources/b.yaml": file("b", "c")})
    await plane.hasten("shop")
    await plane.become({"a": "bye", "b": "hello", "c": "hello"})


async def test_a_source_that_is_gone_deletes_nothing(
    plane: InputPlane, origin: Origin, server: tuple[HttpGit, JsonObject]
) -> None:
    origin.commit({"resources/a.yaml": file("a")})
    await give_token(plane)
    await plane.declare_input("shop", "git", server[1])
    await plane.reported("shop", reason="InSync", applied=1)
    await give_token(plane, "wr0ng-token")
    await plane.hasten("shop")
    obj = await plane.reported("shop", reason="AuthenticationFailed")
    assert condition_of(obj, "Ready")["status"] == "Unknown"
    assert "wr0ng" not in str(obj)
    await give_token(plane)
    await plane.hasten("shop")
    await plane.reported("shop", reason="InSync")
    origin.git("mv", "resources", "elsewhere")
    origin.commit({})
    await plane.hasten("shop")
    await plane.reported("shop", reason="RefMissing")
    assert await plane.things() == {"a": "hello"}


async def test_links_are_reported_and_not_followed(
    plane: InputPlane, origin: Origin, server: tuple[HttpGit, JsonObject]
) -> None:
    origin.commit({"resources/a.yaml": file("a")})
    (origin.path / "resources" / "evil.yaml").symlink_to("/etc/passwd")
    origin.commit({})
    await give_token(plane)
    await plane.declare_input("shop", "git", server[1])
    obj = await plane.reported("shop", reason="Incomplete", applied=1)
    assert obj["status"]["errors"] == [{"source": "evil.yaml", "message": "symbolic links are not followed"}]


async def test_a_key_for_ssh_and_the_known_hosts_are_secrets(plane: InputPlane, origin: Origin, tmp_path: Path) -> None:
    origin.commit({"a.yaml": file("a")})
    folder = tmp_path / "sshd"
    await asyncio.to_thread(folder.mkdir)
    with running_sshd(folder) as running:
        data = {"key": running.private_key, "hosts": running.known_hosts}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ssh"}, "stringData": data}
        await plane.client.create(SECRET.path("default"), secret)
        config = {
            "url": f"ssh://{running.user}@127.0.0.1:{running.port}{origin.path}",
            "sshKey": {"store": "secret", "key": "ssh/key"},
            "knownHosts": {"store": "secret", "key": "ssh/hosts"},
        }
        await plane.declare_input("shop", "git", config)
        await plane.become({"a": "hello"})
    obj = await plane.reported("shop", reason="RepositoryUnreachable")
    assert "PRIVATE" not in str(obj)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"url": 1}, "spec.config: Expected `str`"),
        ({"token": {"key": "X"}}, 'inputs may not read secrets of the store "env"'),
        ({"branch": "x"}, "unknown field `branch`"),
    ],
    ids=["type", "store", "field"],
)
async def test_a_configuration_that_makes_no_sense_stalls(plane: InputPlane, change: JsonObject, told: str) -> None:
    await plane.declare_input("shop", "git", {"url": "https://127.0.0.1:1/x", **change})
    obj = await plane.reported("shop", reason="InvalidConfig")
    assert told in condition_of(obj, "Ready")["message"]


async def test_files_of_the_machine_are_no_source(plane: InputPlane, origin: Origin) -> None:
    await plane.declare_input("shop", "git", {"url": origin.file_url})
    await plane.reported("shop", reason="InvalidRepository")
