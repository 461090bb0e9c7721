"""All forms of manifests at once, end to end: one repository, one pass, one commit."""

from __future__ import annotations

from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import Stage
from tests.operators.images.variants import VARIANTS


async def test_each_form_of_manifest_changes_by_its_tag_alone(stage: Stage) -> None:
    app = stage.repository("app", {"main.go": "package main\n"})
    new = app.head()
    marks = {"old": OLD, "new": new, "short": new[:7]}
    paths = {name: each.path or f"forms/{name}.yaml" for name, each in VARIANTS.items()}
    manifests = stage.repository("man", {paths[name]: each.before(marks) for name, each in VARIANTS.items()})
    places = {"app_repository": f"{stage.git_url}/app.git", "manifest_repository": f"{stage.git_url}/man.git"}
    for name, each in VARIANTS.items():
        annotations: dict[str, str | None] = {"deployment_path": paths[name], **places, **each.annotations}
        await stage.deploy(name, {"app": each.image.format(**marks)}, **annotations)
    found = await stage.reconcile()
    wrong = []
    for name, each in VARIANTS.items():
        entry = found[name]
        after = each.after(marks) if each.action == "patched" else each.before(marks)
        is_right = entry["action"] == each.action and each.says in entry["message"]
        if each.action == "patched":
            is_right &= entry.get("from_sha") == (each.from_sha and each.from_sha.format(**marks))
        written = manifests.raw(paths[name])
        if not is_right or written != after:
            wrong.append((name, entry, written if written != after else ""))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(manifests.log()) == 3
    assert len(await stage.reconcile()) == len(VARIANTS)
    assert len(manifests.log()) == 3
