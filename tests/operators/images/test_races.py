"""Many writers of one manifests repository: no commit is lost, no change is made twice, nothing is forced."""

from __future__ import annotations

import asyncio
from pathlib import Path

from homeostat.external.git.access import Remote
from homeostat.external.git.cache import GitCache
from homeostat.external.git.commit import Change, Identity, Signature
from homeostat.external.git.push import Attempts, push_change
from homeostat.external.git.snapshot import Snapshot
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, Stage

_WRITERS = 5
_BY = Signature(author=Identity("other", "other@example.org"))


async def _write(url: str, number: int, directory: Path) -> None:
    async def propose(_: Snapshot) -> Change:
        return Change({f"others/{number}.txt": b"mine\n"}, f"other {number}")

    async with GitCache(directory / str(number)).open(Remote(url)) as repository:
        await push_change(repository, "master", propose, by=_BY, attempts=Attempts(most=100))


async def test_other_writers_and_the_operator_lose_nothing(stage: Stage, tmp_path: Path) -> None:
    names = [f"web-{number}" for number in range(4)]
    app = stage.repository("app", {"main.go": "package main\n"})
    manifests = stage.repository(
        "man", {f"apps/{name}.yaml": DEPLOYMENT_FILE.format(image=f"org/app:{OLD}") for name in names}
    )
    first = manifests.head()
    places = {
        "app_repository": f"{stage.git_url}/app.git",
        "manifest_repository": f"{stage.git_url}/man.git",
    }
    for name in names:
        await stage.deploy(name, None, deployment_path=f"apps/{name}.yaml", **places)
    async with asyncio.TaskGroup() as tasks:
        for number in range(_WRITERS):
            tasks.create_task(_write(places["manifest_repository"], number, tmp_path / "caches"))
        found = await stage.reconcile()
    assert {each["action"] for each in found.values()} == {"patched"}
    for name in names:
        assert f"org/app:{app.head()}" in manifests.show(f"apps/{name}.yaml")
    subjects = manifests.log("%s")
    assert sorted(each for each in subjects if each.startswith("other")) == sorted(
        f"other {number}" for number in range(_WRITERS)
    )
    assert subjects.count("chore(refs): gitops-operator updating image tags") == 1
    assert manifests.git("rev-list", "--merges", "refs/heads/master") == ""
    assert len(manifests.git("rev-list", f"{first}..refs/heads/master").split()) == _WRITERS + 1


async def test_passes_that_are_asked_for_together_push_once(stage: Stage) -> None:
    stage.repository("app-web", {"main.go": "package main\n"})
    manifests = stage.repository("man-web", {"apps/web.yaml": DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")})
    await stage.deploy("web")
    results = await asyncio.gather(*(stage.reconcile() for _ in range(10)))
    actions = [each["web"]["action"] for each in results]
    assert set(actions) <= {"patched", "up_to_date"}
    assert "patched" in actions
    assert len(manifests.log()) == 3
